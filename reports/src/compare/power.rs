//! How many pairs it takes: the power of the paired t-test and of the equivalence test.
//!
//! Both are integrals over the distribution of the estimated standard deviation, done by Simpson's rule. Checked against
//! the simulated table in the tests.

use statrs::{
    distribution::{ContinuousCDF, Normal},
    function::gamma::ln_gamma,
};

use super::stats::student::t_quantile;

/// Chance to find an effect that is there which a number of pairs must give.
pub(super) const POWER: f64 = 0.8;
/// Above this many pairs no number is named: it would not be run.
pub(super) const MOST_PAIRS: u32 = 10_000;

/// Pairs with which a two-sided paired t-test at `alpha` finds an effect of `effect_in_sd` standard deviations of the
/// paired log-ratio with probability `power`.
pub(super) fn pairs_to_detect(effect_in_sd: f64, alpha: f64, power: f64) -> Option<u32> {
    fewest(|n| finds(n, effect_in_sd, alpha) >= power)
}

/// The same where the signs decide, whose p comes in steps of 2 / 2^n: the t-test at the largest level they can reach. Checked against
/// simulated campaigns by the calibration.
pub(super) fn pairs_for_signs_to_detect(effect_in_sd: f64, alpha: f64, power: f64) -> Option<u32> {
    /// Of more pairs the steps are finer than a level is written.
    const STEPS_MATTER: i32 = 52;
    let reached = |n: u32| {
        let combinations = 2f64.powi((n as i32 - 1).min(STEPS_MATTER));
        (alpha * combinations).floor() / combinations
    };
    let enough = |n: &u32| reached(*n) > 0.0 && finds(*n, effect_in_sd, reached(*n)) >= power;
    (pairs_to_detect(effect_in_sd, alpha, power)?..=MOST_PAIRS).find(enough)
}

/// Chance that a two-sided paired t-test of n pairs finds the effect.
fn finds(pairs: u32, effect_in_sd: f64, alpha: f64) -> f64 {
    let t = t_quantile(pairs, alpha / 2.0);
    let shift = effect_in_sd * f64::from(pairs).sqrt();
    over_estimated_sd(pairs, |s| phi(shift - t * s) + phi(-shift - t * s))
}

/// Pairs with which two one-sided tests at `alpha` show a true effect of nothing to lie within `margin_in_sd`.
pub(super) fn pairs_to_show_equivalence(margin_in_sd: f64, alpha: f64, power: f64) -> Option<u32> {
    fewest(|n| {
        let t = t_quantile(n, alpha);
        let margin = margin_in_sd * f64::from(n).sqrt();
        over_estimated_sd(n, |s| (2.0 * phi(margin - t * s) - 1.0).max(0.0)) >= power
    })
}

/// The smallest n in 2..=MOST_PAIRS that is enough; power grows with n, so halving finds it.
fn fewest(enough: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut low, mut high) = (2, MOST_PAIRS);
    if !enough(high) {
        return None;
    }
    while low < high {
        let middle = (low + high) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

/// Expectation of `f(s)`, s being the estimated over the true standard deviation of n values.
fn over_estimated_sd(pairs: u32, f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 400;
    let freedom = f64::from(pairs - 1);
    let half = freedom / 2.0;
    let ln_scale = std::f64::consts::LN_2 + half * half.ln() - ln_gamma(half);
    let density = |s: f64| (ln_scale + (freedom - 1.0) * s.ln() - half * s * s).exp();
    let reach = 8.0 / (2.0 * freedom).sqrt();
    let (from, to) = ((1.0 - reach).max(1e-9), 1.0 + reach);
    let step = (to - from) / f64::from(STEPS);
    let sum: f64 = (0..=STEPS)
        .map(|i| {
            let weight = match i {
                0 | STEPS => 1.0,
                odd if odd % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let s = from + step * f64::from(i);
            weight * density(s) * f(s)
        })
        .sum();
    sum * step / 3.0
}

fn phi(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_to_detect_agree_with_the_simulated_table() {
        for (effect, at_80, at_90) in [(0.5, 34, 44), (0.75, 16, 21), (1.0, 10, 13), (1.5, 6, 7), (2.0, 5, 5)]
        {
            assert_eq!(pairs_to_detect(effect, 0.05, 0.8), Some(at_80), "{effect}");
            assert_eq!(pairs_to_detect(effect, 0.05, 0.9), Some(at_90), "{effect}");
        }
    }

    #[test]
    fn signs_take_more_where_pairs_are_few() {
        let needed = |effect| pairs_for_signs_to_detect(effect, 0.05, POWER);
        assert_eq!([0.5, 0.75, 1.0, 1.5, 2.0].map(needed), [34, 16, 11, 7, 6].map(Some));
        assert_eq!(needed(0.05), pairs_to_detect(0.05, 0.05, POWER), "thousands of pairs have no steps");
        assert!(needed(0.05).is_some_and(|pairs| pairs > 2_000));
        assert_eq!(
            pairs_for_signs_to_detect(100.0, 0.05 / 8.0, POWER),
            Some(9),
            "the fewest that can say it at all"
        );
    }

    #[test]
    fn pairs_to_show_equivalence_agree_with_the_simulated_table() {
        for (margin, at_80, at_90) in [(0.5, 36, 45), (0.75, 17, 21), (1.0, 11, 13), (1.5, 6, 7), (2.0, 4, 5)]
        {
            assert_eq!(pairs_to_show_equivalence(margin, 0.05, 0.8), Some(at_80), "{margin}");
            assert_eq!(pairs_to_show_equivalence(margin, 0.05, 0.9), Some(at_90), "{margin}");
        }
    }

    #[test]
    fn what_would_never_be_run_has_no_number() {
        assert_eq!(pairs_to_detect(0.001, 0.05, POWER), None);
    }
}
