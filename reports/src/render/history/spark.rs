//! The last nights of a series as one row of characters: a character a night, with a mark where the configuration or the level
//! changed. Higher is more, whether more is better or not.

use super::scale::Scale;
use crate::history::{PointReport, Rules, SeriesReport};

/// Levels of a value, from the least to the most.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The configuration changed before the night that follows.
const CONFIGURATION: char = '╎';
/// The level changed with the night that follows.
const LEVEL: char = '┃';
/// A night without a value.
const NONE: char = '·';

/// How to read it.
pub(super) const KEY: &str = "nights: a character each, the last at the right, scaled over what is shown and at least the margin either way; ┃ the level changed, ╎ the configuration changed, · no value";

/// As many of the last nights as `width` characters show, marks included; padded at the left.
pub(super) fn line(series: &SeriesReport, rules: &Rules, width: usize) -> String {
    let mut taken = 0;
    let mut marks = 0;
    for point in series.points.iter().rev() {
        let more = usize::from(mark(series, point).is_some());
        if taken + marks + more + 1 > width {
            break;
        }
        taken += 1;
        marks += more;
    }
    let shown = &series.points[series.points.len() - taken..];
    let scale = Scale::of(shown.iter().filter_map(|point| point.value), rules.margin(series.key.metric));
    let level = |value| LEVELS[scale.step(value, LEVELS.len())];
    let mut text: String = shown
        .iter()
        .flat_map(|point| [mark(series, point), Some(point.value.map_or(NONE, level))])
        .flatten()
        .collect();
    text.insert_str(0, &" ".repeat(width - taken - marks));
    text
}

fn mark(series: &SeriesReport, point: &PointReport) -> Option<char> {
    if series.change_points.iter().any(|change| change.night == point.night) {
        return Some(LEVEL);
    }
    series.epochs.iter().skip(1).any(|epoch| epoch.from == point.night).then_some(CONFIGURATION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        history::{Change, ChangePoint, Epoch},
        testing,
    };
    use pretty_assertions::assert_eq;
    use schema::{Certainty, Trend};

    fn series(values: &[f64]) -> SeriesReport {
        let mut series = testing::night_report().series.swap_remove(0);
        let point = series.points[0].clone();
        let at =
            |(n, value): (usize, &f64)| PointReport { night: n as i64, value: Some(*value), ..point.clone() };
        series.points = values.iter().enumerate().map(at).collect();
        (series.epochs, series.change_points) = (Vec::new(), Vec::new());
        series
    }

    #[test]
    fn a_fall_a_gap_and_a_new_configuration_are_seen_where_they_are() {
        let mut fallen = series(&[100.0, 100.0, 99.9, 90.0, 90.0]);
        fallen.points[1].value = None;
        let change = Change { before: 100.0, after: 90.0, change: -0.1, low: None, high: None };
        fallen.change_points = vec![ChangePoint {
            night: 3,
            certainty: Certainty::Confirmed,
            trend: Trend::Regressed,
            change,
            p: 1e-6,
            acknowledged: None,
        }];
        let epoch =
            |from, to| Epoch { from, to, nights: 2, changes: Vec::new(), against_the_one_before: None };
        fallen.epochs = vec![epoch(0, 1), epoch(2, 4)];
        assert_eq!(line(&fallen, &Rules::default(), 9), "  █·╎█┃▁▁");
        assert_eq!(line(&fallen, &Rules::default(), 3), "┃▅▅");
        assert_eq!(line(&fallen, &Rules::default(), 2), " ▅", "a mark has no room without its night");
    }

    #[test]
    fn noise_below_the_margin_is_flat() {
        let drawn = line(&series(&[100.0, 100.2, 99.9, 100.1]), &Rules::default(), 4);
        assert!(drawn.chars().all(|c| c == '▄' || c == '▅'), "{drawn}");
    }

    #[test]
    fn a_row_is_as_wide_as_it_is_told_to_be() {
        for series in testing::night_report().series {
            for width in 1..40 {
                assert_eq!(line(&series, &Rules::default(), width).chars().count(), width);
            }
        }
    }
}
