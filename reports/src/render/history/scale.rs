//! Where a value stands between the ends of a picture, the same in the terminal and on the page.

/// From what to what a picture reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Scale {
    /// Over the values, and at least the margin either way of their middle, so that noise that does not matter looks flat.
    pub(super) fn of(values: impl Iterator<Item = f64>, margin: f64) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return Scale { low: 0.0, high: 0.0 };
        }
        let middle = low + (high - low) / 2.0;
        let room = (middle * margin).abs();
        Scale { low: low.min(middle - room), high: high.max(middle + room) }
    }

    /// From 0 at the lower end to 1 at the upper; in the middle where the ends are the same.
    pub(super) fn share(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 }
    }

    /// The nearest of these many steps, 0 at the lower end.
    pub(super) fn step(&self, value: f64, steps: usize) -> usize {
        (self.share(value) * (steps.saturating_sub(1)) as f64).round() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn noise_within_the_margin_does_not_fill_the_picture() {
        let scale = Scale::of([99.5, 100.5].into_iter(), 0.02);
        assert_eq!((scale.low, scale.high), (98.0, 102.0));
        assert_eq!((scale.share(98.0), scale.share(100.0), scale.share(102.0)), (0.0, 0.5, 1.0));
        let wide = Scale::of([50.0, 100.0].into_iter(), 0.02);
        assert_eq!((wide.low, wide.high), (50.0, 100.0));
    }

    #[test]
    fn nothing_and_nothing_but_zeros_stand_in_the_middle() {
        assert_eq!(Scale::of([].into_iter(), 0.02).share(1.0), 0.5);
        assert_eq!(Scale::of([0.0, 0.0].into_iter(), 0.02).share(0.0), 0.5);
    }

    proptest! {
        #[test]
        fn every_value_has_a_step_of_the_picture(values in proptest::collection::vec(-1e12f64..1e12, 1..50), steps in 1usize..200) {
            let scale = Scale::of(values.iter().copied(), 0.02);
            for value in values {
                prop_assert!(scale.step(value, steps) < steps);
            }
        }
    }
}
