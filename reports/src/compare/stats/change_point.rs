//! Whether a series moved to another level on its way: the split whose two parts differ most, by Student's t of two samples with a common
//! spread, its p multiplied by the number of splits that were tried (Bonferroni).
//!
//! A permutation test would need no bell curve, and with six blocks could never be sure of anything: a step half way has 72 of 720
//! orders on its side.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Values on either side of a split.
const FEWEST: usize = 3;

/// A step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compare) struct Step {
    /// Values before it.
    pub(in crate::compare) before: u32,
    /// Mean after it minus mean before it.
    pub(in crate::compare) change: f64,
    /// p, corrected for the splits that were tried.
    pub(in crate::compare) p: f64,
}

/// The likeliest step; none with too few values for two parts.
pub(in crate::compare) fn of(values: &[f64]) -> Option<Step> {
    let n = values.len();
    if n < 2 * FEWEST {
        return None;
    }
    let splits = n + 1 - 2 * FEWEST;
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // Values that are all the same but for their last bits have no levels.
    let largest = values.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    if (squares / n as f64).sqrt() <= 1e-12 * largest {
        return None;
    }
    let mut head: f64 = values[..FEWEST - 1].iter().map(|value| value - mean).sum();
    let mut best: Option<(f64, usize, f64)> = None;
    for before in FEWEST..=n - FEWEST {
        head += values[before - 1] - mean;
        let (first, second) = (before as f64, (n - before) as f64);
        let change = -head / second - head / first;
        // What is left of the squares around two levels instead of one.
        let weight = first * second / n as f64;
        let left = (squares - change * change * weight).max(0.0);
        let t = change.abs() / (left / ((n - 2) as f64 * weight)).sqrt();
        if !t.is_nan() && best.is_none_or(|(largest, ..)| t > largest) {
            best = Some((t, before, change));
        }
    }
    let (t, before, change) = best?;
    let freedom = StudentsT::new(0.0, 1.0, (n - 2) as f64).ok()?;
    // Two levels without any noise leave no doubt.
    let p = if t.is_infinite() { 0.0 } else { (2.0 * freedom.sf(t) * splits as f64).min(1.0) };
    Some(Step { before: before as u32, change, p })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_step_is_found_where_it_is() {
        let step = of(&[1.0, 1.1, 0.9, 1.0, 1.05, 2.0, 2.1, 1.9, 2.0, 2.05]).unwrap();
        assert_eq!(step.before, 5);
        assert!((step.change - 1.0).abs() < 1e-12);
        assert!(step.p < 1e-5, "{step:?}");
    }

    #[test]
    fn five_values_have_no_two_parts_and_equal_ones_no_step() {
        assert_eq!(of(&[1.0, 1.0, 1.0, 2.0, 2.0]), None);
        assert_eq!(of(&[1.0; 8]), None);
        assert_eq!(of(&[0.1 + 0.2, 0.3, 0.3, 0.3, 0.3, 0.3]), None);
        assert_eq!(of(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), Some(Step { before: 3, change: 1.0, p: 0.0 }));
    }

    proptest! {
        #[test]
        fn units_do_not_matter_and_p_is_one(
            values in proptest::collection::vec(-1.0f64..1.0, 6..40),
            scale in 0.01f64..100.0,
            shift in -10.0f64..10.0,
        ) {
            let plain = of(&values).unwrap();
            let moved: Vec<f64> = values.iter().map(|value| value * scale + shift).collect();
            let moved = of(&moved).unwrap();
            prop_assert!((0.0..=1.0).contains(&plain.p));
            prop_assert!((plain.p - moved.p).abs() < 1e-6);
        }
    }
}
