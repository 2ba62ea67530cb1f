//! Order statistics: between which of the sorted values a quantile of what they were drawn from lies. It holds for any
//! distribution, because how many values fall below the quantile is binomial.

use statrs::distribution::{Binomial, DiscreteCDF};

/// Ranks, from 1, of the two of `n` sorted values between which the quantile lies but for `tail` at each end; none with too few values.
pub(in crate::compare) fn ranks(n: u64, quantile: f64, tail: f64) -> Option<(u64, u64)> {
    let below = Binomial::new(quantile, n).ok()?;
    let low = below.inverse_cdf(tail);
    let high = below.inverse_cdf(1.0 - tail) + 1;
    (low >= 1 && high <= n).then_some((low, high))
}

/// The interval of the median of some sorted values that leaves out at most `tail` at each end; none with too few.
pub(in crate::compare) fn median_interval(sorted: &[f64], tail: f64) -> Option<(f64, f64)> {
    let (low, high) = ranks(sorted.len() as u64, 0.5, tail)?;
    Some((sorted[low as usize - 1], sorted[high as usize - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_values_are_the_fewest_with_an_interval_of_their_median() {
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.025), None);
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.025), Some((1.0, 6.0)));
    }

    #[test]
    fn a_quantile_beyond_the_samples_has_no_upper_end() {
        assert_eq!(ranks(299, 0.99, 0.025), None);
        assert_eq!(ranks(1_000, 0.99, 0.025), Some((983, 997)));
    }
}
