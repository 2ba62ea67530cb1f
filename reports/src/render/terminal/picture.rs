//! Pictures of a gate in characters: its interval beside the margin, and its pairs in time order.

use crate::compare::{Cell, Effect};

/// Characters from no change to the margin, and from there to the end of the scale at twice the margin.
const TO_MARGIN: usize = 5;
/// Characters of an interval.
pub(super) const WIDTH: usize = 4 * TO_MARGIN + 1;
/// Most characters of a row of pairs; of more pairs, some share one.
const MOST_PAIRS: usize = 24;
/// Levels of a pair, from much less to much more; the middle is no change.
const LEVELS: [char; 7] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];

/// How to read the intervals.
pub(super) const INTERVAL_KEY: &str = "interval beside margin: ● the change, ├ ┤ its ends, │ no change, ┊ the margin, ◀ ▶ beyond twice the margin";
/// How to read the pairs.
pub(super) const PAIRS_KEY: &str =
    "pair by pair, in time order: ▄ no change, higher more, lower less; · a block without a usable pair";

/// An interval on a scale of the margin, the same for all gates whatever their margins: `┊  ├●┤│    ┊`.
pub(super) fn interval(effect: &Effect, margin: f64) -> String {
    let mut drawn = [' '; WIDTH];
    let middle = 2 * TO_MARGIN;
    (drawn[middle - TO_MARGIN], drawn[middle], drawn[middle + TO_MARGIN]) = ('┊', '│', '┊');
    // On the logarithm, on which less and more by the same factor are equally far from nothing.
    let place =
        |share: f64| share.max(-0.999_999).ln_1p() / margin.ln_1p() * TO_MARGIN as f64 + middle as f64;
    let on = |place: f64| place.round().clamp(0.0, (WIDTH - 1) as f64) as usize;
    let (low, change, high) = (place(effect.low), place(effect.change), place(effect.high));
    for mark in &mut drawn[on(low)..=on(high)] {
        *mark = if *mark == ' ' { '─' } else { '┼' };
    }
    let end = (WIDTH - 1) as f64;
    let cap = |place: f64, inside: char| match place {
        place if place < -0.5 => '◀',
        place if place >= end + 0.5 => '▶',
        _ => inside,
    };
    drawn[on(low)] = cap(low, '├');
    drawn[on(high)] = cap(high, '┤');
    drawn[on(change)] = cap(change, '●');
    drawn.iter().collect()
}

/// The pairs of a gate, one character a block, or a few blocks; no change is in the middle, and the largest change, or the
/// margin where all are smaller, at the end of the scale.
pub(super) fn pairs(cell: &Cell) -> String {
    let blocks = cell.pairs.iter().map(|pair| pair.block).chain(cell.dropped.iter().map(|pair| pair.block));
    let blocks = blocks.max().map_or(0, |last| last as usize + 1);
    let share = blocks.div_ceil(MOST_PAIRS).max(1);
    let mut groups: Vec<Vec<f64>> = vec![Vec::new(); blocks.div_ceil(share)];
    for pair in &cell.pairs {
        groups[pair.block as usize / share].push(pair.ln_ratio);
    }
    let mean = |group: &Vec<f64>| (!group.is_empty()).then(|| group.iter().sum::<f64>() / group.len() as f64);
    let means: Vec<Option<f64>> = groups.iter().map(mean).collect();
    let largest = means.iter().flatten().map(|d| d.abs()).fold(cell.margin.ln_1p(), f64::max);
    let half = (LEVELS.len() / 2) as f64;
    let level = |d: f64| LEVELS[(d / largest * half + half).round().clamp(0.0, 2.0 * half) as usize];
    means.into_iter().map(|mean| mean.map_or('·', level)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        CompareOptions, compare,
        testing::{self, Sample},
    };
    use proptest::prelude::*;

    fn gate(sample: &Sample) -> Cell {
        compare(&sample.campaign(), &CompareOptions::default()).gates().next().unwrap().clone()
    }

    fn drawn(low: f64, change: f64, high: f64) -> String {
        interval(&Effect { low, change, high, ..testing::effect() }, 0.02)
    }

    #[test]
    fn an_interval_stands_where_it_is_beside_the_margin() {
        assert_eq!(drawn(-0.004, 0.0, 0.004), "     ┊   ├●┤   ┊     ");
        assert_eq!(drawn(0.024, 0.028, 0.032), "     ┊    │    ┊├●┤  ");
        assert_eq!(drawn(0.012, 0.02, 0.028), "     ┊    │  ├─●─┤   ");
        assert_eq!(drawn(-0.03, -0.01, 0.012), "  ├──┼─●──┼──┤ ┊     ");
    }

    #[test]
    fn what_lies_beyond_the_scale_has_an_arrow() {
        assert_eq!(drawn(0.49, 0.5, 0.51), "     ┊    │    ┊    ▶");
        assert_eq!(drawn(-0.9, 0.0, f64::INFINITY), "◀────┼────●────┼────▶");
    }

    #[test]
    fn pairs_are_in_time_order_around_no_change() {
        let cell = gate(&Sample { latencies: 0, ..Sample::default() });
        assert_eq!(pairs(&cell), "▇".repeat(10));
        let mut drifting = cell.clone();
        for pair in &mut drifting.pairs {
            pair.ln_ratio = (f64::from(pair.block) - 4.5) / 4.5;
        }
        assert_eq!(pairs(&drifting), "▁▂▂▃▄▄▅▆▆▇");
        let lost = drifting.pairs.remove(3);
        drifting.dropped.push(crate::compare::DroppedPair { block: lost.block, reason: "it failed".into() });
        assert_eq!(pairs(&drifting), "▁▂▂·▄▄▅▆▆▇");
    }

    #[test]
    fn many_blocks_share_a_character() {
        let cell = gate(&Sample { latencies: 0, blocks: 50, ..Sample::default() });
        assert_eq!(pairs(&cell).chars().count(), 17);
    }

    proptest! {
        #[test]
        fn every_interval_is_as_wide_as_the_others(
            a in -0.9999f64..50.0, b in -0.9999f64..50.0, c in -0.9999f64..50.0, margin in 1e-4f64..0.5,
        ) {
            let mut ends = [a, b, c];
            ends.sort_by(f64::total_cmp);
            let some = Effect { low: ends[0], change: ends[1], high: ends[2], ..testing::effect() };
            let drawn = interval(&some, margin);
            prop_assert_eq!(drawn.chars().count(), WIDTH);
            prop_assert!(drawn.contains(['●', '◀', '▶']), "{}", drawn);
        }
    }
}
