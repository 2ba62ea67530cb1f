//! The bootstrap over pairs, twice over from the same resamples: corrected for bias and acceleration (BCa; Efron 1987), and
//! studentised (Davison & Hinkley 1997, 5.2). Both are a check on Student's interval where the pairs are skewed; with few pairs they
//! promise more than they hold.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{
    resample::{Draws, quantile, resamples},
    student::Student,
};

/// Fewer pairs say too little of their own distribution.
pub(in crate::compare) const FEWEST: usize = 20;
/// With more, Student's interval has nothing left to check: the mean of so many is as good as normal.
pub(in crate::compare) const MOST: usize = 500;

/// Both intervals of a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compare) struct Bootstrap {
    /// Corrected for bias and acceleration.
    pub(in crate::compare) bca: (f64, f64),
    /// From the mean in units of its own error.
    pub(in crate::compare) studentised: (f64, f64),
    /// Times drawn.
    pub(in crate::compare) resamples: u32,
}

/// The intervals that leave out `tail` at each end; none for too few or too many values, or ones that do not differ.
pub(in crate::compare) fn of(values: &[f64], tail: f64, seed: u64) -> Option<Bootstrap> {
    let whole = Student::of(values);
    if !(FEWEST..=MOST).contains(&values.len()) || whole.sd == 0.0 {
        return None;
    }
    let resamples = resamples(values.len());
    let mut draws = Draws::of(seed);
    let n = values.len() as f64;
    let (mut means, mut ts) =
        (Vec::with_capacity(resamples as usize), Vec::with_capacity(resamples as usize));
    for _ in 0..resamples {
        // Sums of what is left of the mean do not lose digits to it.
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..values.len() {
            let off = values[draws.below(values.len())] - whole.mean;
            sum += off;
            squares += off * off;
        }
        let off = sum / n;
        let sd = ((squares - n * off * off).max(0.0) / (n - 1.0)).sqrt();
        means.push(off);
        if sd > 0.0 {
            ts.push(off / (sd / n.sqrt()));
        }
    }
    means.sort_by(f64::total_cmp);
    ts.sort_by(f64::total_cmp);
    let (bias, acceleration) = (bias(&means), acceleration(values, whole.mean));
    let bca = |z: f64| whole.mean + quantile(&means, corrected(z, bias, acceleration));
    let error = whole.sd / n.sqrt();
    let z = Normal::standard().inverse_cdf(1.0 - tail);
    Some(Bootstrap {
        bca: (bca(-z), bca(z)),
        studentised: (
            whole.mean - quantile(&ts, 1.0 - tail) * error,
            whole.mean - quantile(&ts, tail) * error,
        ),
        resamples,
    })
}

/// How far the middle of the draws, which are counted from the estimate, lies from it, in normal quantiles. A draw that equals the
/// estimate counts half.
fn bias(sorted: &[f64]) -> f64 {
    let below = sorted.partition_point(|draw| *draw < 0.0);
    let not_above = sorted.partition_point(|draw| *draw <= 0.0);
    Normal::standard().inverse_cdf((below + not_above) as f64 / (2.0 * sorted.len() as f64))
}

/// How fast the error of the mean grows with the mean: the skewness by the jackknife, which of a mean is in closed form.
pub(super) fn acceleration(values: &[f64], mean: f64) -> f64 {
    let power = |n| values.iter().map(|value| (value - mean).powi(n)).sum::<f64>();
    power(3) / (6.0 * power(2).powf(1.5))
}

/// The share of draws below the end of the interval which a normal quantile would have at `z`.
pub(super) fn corrected(z: f64, bias: f64, acceleration: f64) -> f64 {
    let shifted = bias + z;
    Normal::standard().cdf(bias + shifted / (1.0 - acceleration * shifted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn few_many_and_equal_values_have_none() {
        let values = |n: usize| -> Vec<f64> { (0..n).map(|i| (i as f64 * 0.7).sin()).collect() };
        assert_eq!(of(&values(FEWEST - 1), 0.025, 1), None);
        assert_eq!(of(&values(MOST + 1), 0.025, 1), None);
        assert_eq!(of(&[0.5; 30], 0.025, 1), None);
        assert!(of(&values(FEWEST), 0.025, 1).is_some());
    }

    #[test]
    fn a_long_tail_pulls_both_intervals_to_its_side() {
        let values: Vec<f64> = (1..=40).map(|i| -(f64::from(i) / 41.0).ln()).collect();
        let student = Student::of(&values);
        let (low, high) = student.interval(0.025);
        let drawn = of(&values, 0.025, 1).unwrap();
        for (other_low, other_high) in [drawn.bca, drawn.studentised] {
            assert!(other_low > low && other_high > high, "{other_low} to {other_high}, {low} to {high}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn both_hold_the_mean_and_move_with_it(
            values in proptest::collection::vec(-1.0f64..1.0, 20..60),
            shift in -3.0f64..3.0,
            scale in 0.1f64..10.0,
        ) {
            let mean = Student::of(&values).mean;
            let plain = of(&values, 0.025, 7).unwrap();
            let moved: Vec<f64> = values.iter().map(|value| value * scale + shift).collect();
            let moved = of(&moved, 0.025, 7).unwrap();
            for (plain, moved) in [(plain.bca, moved.bca), (plain.studentised, moved.studentised)] {
                prop_assert!(plain.0 <= mean && mean <= plain.1);
                prop_assert!((plain.0 * scale + shift - moved.0).abs() < 1e-6);
                prop_assert!((plain.1 * scale + shift - moved.1).abs() < 1e-6);
            }
        }
    }
}
