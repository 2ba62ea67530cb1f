//! The interval of a share: Wilson's (1927), which stays within 0 and 1 and holds near them, where the textbook one does not.

use statrs::distribution::{ContinuousCDF, Normal};

/// The interval of a share of `n` that leaves out `tail` at each end. A tie that counts half is no whole success, which Wilson's
/// formula does not mind.
pub(in crate::compare) fn wilson(share: f64, n: u32, tail: f64) -> (f64, f64) {
    let n = f64::from(n);
    let z = Normal::standard().inverse_cdf(1.0 - tail);
    let squared = z * z / n;
    let centre = share + squared / 2.0;
    let reach = z * (share * (1.0 - share) / n + squared / (4.0 * n)).sqrt();
    // At 0 and 1 an end is the share itself, but for the last bit.
    let end = |at: f64| (at / (1.0 + squared)).clamp(0.0, 1.0);
    (end(centre - reach).min(share), end(centre + reach).max(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_holds_its_share_and_mirrors(wins in 0u32..=40, more in 0u32..40, tail in 0.001f64..0.4) {
            let n = wins + more.max(1);
            let share = f64::from(wins) / f64::from(n);
            let (low, high) = wilson(share, n, tail);
            prop_assert!(0.0 <= low && low <= share && share <= high && high <= 1.0);
            let (other_low, other_high) = wilson(1.0 - share, n, tail);
            prop_assert!((low + other_high - 1.0).abs() < 1e-9 && (high + other_low - 1.0).abs() < 1e-9);
        }
    }
}
