//! The moving-block bootstrap (Kuensch 1989): successive values are drawn together, so that what each owes to the one before it
//! stays in the draws. For pairs that depend on their predecessors, where Student's interval is too narrow.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{
    resample::{Drawn, Draws, resamples},
    student::{mean_and_sd, t_quantile},
};

/// Lag-1 autocorrelation; none of values that do not differ, or of fewer than three.
pub(in crate::compare) fn autocorrelation(values: &[f64]) -> Option<f64> {
    let (mean, sd) = mean_and_sd(values);
    if values.len() < 3 || sd == 0.0 {
        return None;
    }
    let products: f64 = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    Some(products / (sd * sd * (values.len() - 1) as f64))
}

/// The lag-1 autocorrelation where it is larger than chance allows, 2 / sqrt(n).
pub(in crate::compare) fn depends(values: &[f64]) -> Option<f64> {
    autocorrelation(values).filter(|r| r.abs() > 2.0 / (values.len() as f64).sqrt())
}

/// Values that are drawn together: the smallest whole number whose cube is no smaller than n.
pub(in crate::compare) fn length(n: usize) -> usize {
    (1..).find(|length: &usize| length.pow(3) >= n).unwrap_or(n)
}

/// The mean of six values or more, in their order, with the draws of its error.
///
/// Draws of few blocks are too close together, as those of few values are: they are stretched by sqrt(m / (m - 1)) for m blocks, and
/// by what Student's quantile of m blocks is beyond the normal one at `tail`.
pub(in crate::compare) fn of(values: &[f64], tail: f64, seed: u64) -> Drawn {
    let n = values.len();
    let length = length(n);
    let blocks = n.div_ceil(length);
    let mean = values.iter().sum::<f64>() / n as f64;
    let sums: Vec<f64> = values.windows(length).map(|block| block.iter().sum()).collect();
    // The last block is cut so that each draw has n values.
    let rest = n - (blocks - 1) * length;
    let rests: Vec<f64> = values.windows(rest).map(|block| block.iter().sum()).collect();
    let mut draws = Draws::of(seed);
    let drawn = (0..resamples(blocks))
        .map(|_| {
            let whole: f64 = (1..blocks).map(|_| sums[draws.below(sums.len())]).sum();
            (whole + rests[draws.below(rests.len())]) / n as f64
        })
        .collect();
    let m = blocks as f64;
    let normal = Normal::standard().inverse_cdf(1.0 - tail);
    let stretch = (m / (m - 1.0)).sqrt() * t_quantile(blocks as u32, tail) / normal;
    Drawn::of(mean, drawn, stretch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::stats::student::Student;

    #[test]
    fn blocks_grow_with_the_cube_root() {
        assert_eq!([6, 8, 9, 20, 27, 28, 1_000, 1_001].map(length), [2, 2, 3, 3, 3, 4, 10, 11]);
    }

    #[test]
    fn a_trend_is_autocorrelated_and_noise_is_not() {
        let trend: Vec<f64> = (0..10).map(f64::from).collect();
        assert!((depends(&trend).unwrap() - 0.7).abs() < 1e-12);
        assert_eq!(depends(&[0.1, -0.2, 0.15, 0.05, -0.1, 0.0, 0.2, -0.05, -0.1, 0.1]), None);
        assert_eq!(autocorrelation(&[1.0; 10]), None);
    }

    /// Values each of which owes half of itself to the one before it, from a congruential generator.
    fn dependent(n: usize) -> Vec<f64> {
        let mut state = 12_345u64;
        let mut value = 0.0;
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                value = 0.5 * value + (state >> 40) as f64 / f64::from(1 << 24) - 0.5;
                value
            })
            .collect()
    }

    #[test]
    fn values_that_depend_on_each_other_get_a_wider_interval() {
        let values = dependent(200);
        let (low, high) = Student::of(&values).interval(0.025);
        let (wide_low, wide_high) = of(&values, 0.025, 1).interval(0.025);
        // Of half and independent shocks, the error of the mean is sqrt(3) = 1.73 times Student's in the long run; blocks of six show
        // most of it.
        let ratio = (wide_high - wide_low) / (high - low);
        assert!((1.3..1.9).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_draws_have_the_spread_of_the_block_sums() {
        // 27 values, 9 blocks of 3: the variance of a draw is that of a block sum, nine of them, over 27 squared.
        let values = dependent(27);
        let sums: Vec<f64> = values.windows(3).map(|block| block.iter().sum()).collect();
        let (mean, sd) = mean_and_sd(&sums);
        let variance = sd * sd * (sums.len() - 1) as f64 / sums.len() as f64;
        let exact = (9.0 * variance).sqrt() / 27.0;
        let drawn = of(&values, 0.025, 1);
        let stretch = (9.0f64 / 8.0).sqrt() * t_quantile(9, 0.025) / Normal::standard().inverse_cdf(0.975);
        let (low, high) = drawn.interval(0.158_655);
        // One standard deviation to each side; 10,000 draws leave 1.5 % of it to chance, the shape of 9 blocks some more.
        assert!(((high - low) / 2.0 / (exact * stretch) - 1.0).abs() < 0.06, "{low} {high} {mean} {exact}");
    }
}
