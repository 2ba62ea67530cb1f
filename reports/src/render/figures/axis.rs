//! Axes with ticks where people expect them.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// An axis in the coordinate that is drawn, with the places and texts of its ticks.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) ticks: Vec<(f64, String)>,
    pub(super) title: String,
}

/// Names that fit beside each other on a horizontal axis.
const MOST_NAMES: usize = 11;
/// With fewer, one cannot read a value between them.
const FEWEST_TICKS: usize = 3;

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (value - self.from) / (self.to - self.from);
        first + (f64::from(last - first) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, at: &f64) -> String {
        self.label(*at)
    }
}

impl Axis {
    /// The text of a tick.
    fn label(&self, at: f64) -> String {
        let near = (self.to - self.from).abs() * 1e-6;
        self.ticks
            .iter()
            .find(|(tick, _)| (tick - at).abs() <= near)
            .map_or_else(String::new, |(_, text)| text.clone())
    }

    /// A linear axis over the values, with a little air.
    pub(super) fn linear(
        values: impl Iterator<Item = f64>,
        title: String,
        text: impl Fn(f64) -> String,
    ) -> Self {
        let (low, high) = range(values);
        let air = if high > low { (high - low) * 0.08 } else { high.abs().max(1.0) * 0.05 };
        let (from, to) = (low - air, high + air);
        let step = nice_step((to - from) / 5.0);
        let mut ticks: Vec<_> = steps(from, to, step).map(|tick| (tick, text(tick))).collect();
        // Closer than the digits that are shown: the same text twice would say that nothing lies between.
        ticks.dedup_by(|next, kept| next.1 == kept.1);
        Axis { from, to, ticks, title }
    }

    /// Logarithmic or linear.
    pub(super) fn of(
        log: bool,
        values: impl Iterator<Item = f64>,
        title: String,
        text: impl Fn(f64) -> String,
    ) -> Self {
        match log {
            true => Axis::log(values, format!("{title}, logarithmic"), text),
            false => Axis::linear(values, title, text),
        }
    }

    /// A logarithmic axis (base 10) over positive values; ticks at 1, 2 and 5 of each decade, or at 1 only where that is many.
    pub(super) fn log(
        values: impl Iterator<Item = f64>,
        title: String,
        text: impl Fn(f64) -> String,
    ) -> Self {
        let (low, high) = range(values.map(f64::log10));
        let (from, to) = (low - 0.05, (high + 0.05).max(low + 0.25));
        let digits: &[f64] = match to - from {
            decades if decades > 4.0 => &[1.0],
            decades if decades > 0.9 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        };
        let round = (from.floor() as i32..=to.ceil() as i32)
            .flat_map(|decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)))
            .filter(|value| (from..=to).contains(&value.log10()));
        let mut round: Vec<f64> = round.collect();
        if round.len() < FEWEST_TICKS {
            let (low, high) = (10f64.powf(from), 10f64.powf(to));
            round = steps(low, high, nice_step((high - low) / 5.0)).collect();
        }
        let ticks = round.into_iter().map(|value| (value.log10(), text(value))).collect();
        Axis { from, to, ticks, title }
    }

    /// Equally spaced places with a name each.
    pub(super) fn places(names: Vec<String>, title: String) -> Self {
        let to = names.len() as f64 - 0.5;
        // Names that would run into each other: every second one, every third.
        let every = names.len().div_ceil(MOST_NAMES).max(1);
        let ticks = names.into_iter().enumerate().step_by(every).map(|(i, name)| (i as f64, name)).collect();
        Axis { from: -0.5, to, ticks, title }
    }
}

/// Smallest and largest; 0 and 1 of nothing.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

/// 1, 2 or 5 times a power of ten, not below the raw step.
pub(super) fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= raw * 0.999).unwrap_or(10.0);
    digit * power
}

/// Multiples of the step from one end to the other.
pub(super) fn steps(from: f64, to: f64, step: f64) -> impl Iterator<Item = f64> {
    let first = (from / step).ceil() as i64;
    let last = (to / step).floor() as i64;
    (first..=last).map(move |i| i as f64 * step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(nice_step(0.013), 0.02);
        assert_eq!(nice_step(3.0), 5.0);
        assert_eq!(nice_step(70.0), 100.0);
    }

    proptest! {
        #[test]
        fn every_value_is_on_the_axis_and_ticks_are_few(
            values in proptest::collection::vec(1.0f64..1e9, 1..20),
        ) {
            for axis in [
                Axis::linear(values.iter().copied(), String::new(), |v| v.to_string()),
                Axis::log(values.iter().copied(), String::new(), |v| v.to_string()),
            ] {
                prop_assert!(axis.from < axis.to);
                prop_assert!(axis.ticks.len() <= 16, "{:?}", axis);
                prop_assert!(axis.ticks.iter().all(|(at, text)| axis.label(*at) == *text));
            }
            let log = Axis::log(values.iter().copied(), String::new(), |v| v.to_string());
            prop_assert!(values.iter().all(|v| (log.from..=log.to).contains(&v.log10())));
        }
    }
}
