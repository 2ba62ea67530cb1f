//! The sign-flip test: if nothing differs, each pair's difference is as likely to have the other sign.
//!
//! Exact (every combination of signs) up to [`EXACT_PAIRS`]; above, random draws from a recorded seed, and above
//! [`DRAWN_PAIRS`] the closed approximation of `saddlepoint.rs`. It assumes no shape of the distribution, which a t-test on
//! ten pairs does.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::saddlepoint;

/// Pairs up to which all 2^n sign combinations are tried.
pub(super) const EXACT_PAIRS: usize = 14;
/// Draws above that.
pub(super) const DRAWS: u32 = 100_000;
/// Pairs up to which signs are drawn: the cost of draws grows with the pairs, and what they leave to chance does not shrink.
pub(super) const DRAWN_PAIRS: usize = 128;
/// Differences whose signed sums are looked up together.
const GROUP: usize = 8;

/// Two-sided p: the share of sign combinations whose sum is at least as far from zero as the one seen.
pub(super) fn p_value(differences: &[f64], seed: u64) -> f64 {
    let seen = differences.iter().sum::<f64>().abs();
    // Two sums of the same numbers in another order differ in their last bits; they must still count as equal.
    let slack = 1e-9 * differences.iter().map(|d| d.abs()).sum::<f64>();
    if differences.len() <= EXACT_PAIRS {
        exact(differences, seen - slack)
    } else if differences.len() <= DRAWN_PAIRS {
        drawn(differences, seen - slack, seed)
    } else {
        saddlepoint::p_value(differences, seen - slack)
    }
}

fn exact(differences: &[f64], at_least: f64) -> f64 {
    let mut sums = vec![0.0];
    for d in differences {
        sums = sums.iter().flat_map(|sum| [sum + d, sum - d]).collect();
    }
    sums.iter().filter(|sum: &&f64| sum.abs() >= at_least).count() as f64 / sums.len() as f64
}

/// The draw that was really made counts as one, so that p is never zero.
fn drawn(differences: &[f64], at_least: f64, seed: u64) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let sums: Vec<_> = differences.chunks(GROUP).map(signed_sums).collect();
    let as_extreme = (0..DRAWS).filter(|_| flipped_sum(&sums, &mut random).abs() >= at_least).count();
    (as_extreme as f64 + 1.0) / (f64::from(DRAWS) + 1.0)
}

/// The sum of a few differences under every combination of their signs; a bit that is set keeps the sign.
fn signed_sums(differences: &[f64]) -> [f64; 1 << GROUP] {
    std::array::from_fn(|signs| {
        let signed = |(bit, d): (usize, &f64)| if signs >> bit & 1 == 1 { *d } else { -d };
        differences.iter().enumerate().map(signed).sum()
    })
}

fn flipped_sum(sums: &[[f64; 1 << GROUP]], random: &mut ChaCha8Rng) -> f64 {
    let mut sum = 0.0;
    for word in sums.chunks(size_of::<u64>()) {
        let signs = random.next_u64().to_le_bytes();
        sum += word.iter().zip(signs).map(|(sums, signs)| sums[usize::from(signs)]).sum::<f64>();
    }
    sum
}

/// The smallest number of pairs with which the test can reach `alpha` at all: below it, even pairs that all agree don't.
pub(super) fn fewest_pairs(alpha: f64) -> u32 {
    (1 - alpha.log2().floor() as i32).max(1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_scipy() {
        // scipy.stats.permutation_test((d,), numpy.mean, permutation_type='samples', n_resamples=numpy.inf).pvalue
        let d = [0.021, -0.004, 0.013, 0.030, 0.008, -0.011, 0.017, 0.025, 0.002, 0.019];
        assert_eq!(p_value(&d, 0), 0.025390625);
    }

    #[test]
    fn pairs_that_all_agree_reach_the_floor() {
        for (n, p) in [(5, 0.0625), (6, 0.03125), (8, 0.0078125), (10, 0.001953125)] {
            assert_eq!(p_value(&vec![0.5; n], 0), p);
        }
    }

    #[test]
    fn five_pairs_never_reach_five_percent() {
        assert_eq!(fewest_pairs(0.05), 6);
        assert_eq!(fewest_pairs(0.05 / 2.0), 7);
        assert_eq!(fewest_pairs(0.05 / 8.0), 9);
    }

    #[test]
    fn draws_come_close_to_the_exact_answer() {
        let d: Vec<f64> = (0..14).map(|i| f64::from(i) * 0.37 % 1.0 - 0.35).collect();
        let seen = d.iter().sum::<f64>().abs();
        let difference = exact(&d, seen - 1e-9) - drawn(&d, seen - 1e-9, 7);
        assert!(difference.abs() < 0.006, "{difference}");
    }

    #[test]
    fn draws_and_the_closed_form_agree_where_they_meet() {
        for (n, shift) in [(60, 0.03), (128, 0.0), (128, 0.02), (128, 0.05)] {
            // Heavy tails: the cube of an even spread.
            let d: Vec<f64> =
                (0..n).map(|i| (f64::from(i * 37 % n) / f64::from(n) - 0.5).powi(3) * 2.0 + shift).collect();
            let seen = d.iter().sum::<f64>().abs();
            let (drawn, closed) = (drawn(&d, seen, 7), saddlepoint::p_value(&d, seen));
            // Four standard errors of the draws, and 2 % for the approximation.
            let tolerance = 4.0 * (drawn * (1.0 - drawn) / f64::from(DRAWS)).sqrt() + 0.02 * drawn;
            assert!((drawn - closed).abs() <= tolerance, "n {n}, shift {shift}: {drawn} and {closed}");
        }
    }

    proptest! {
        #[test]
        fn neither_sign_nor_scale_nor_order_matters(
            d in proptest::collection::vec(-1.0f64..1.0, 1..12),
            scale in 0.01f64..100.0,
        ) {
            let p = p_value(&d, 0);
            let mut other: Vec<f64> = d.iter().map(|d| -d * scale).collect();
            other.reverse();
            prop_assert_eq!(p, p_value(&other, 0));
            prop_assert!(p > 0.0 && p <= 1.0);
        }
    }
}
