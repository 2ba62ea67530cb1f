//! From paired log-ratios to an effect: mean, Student's interval, sign-flip p.

use schema::Direction;

use super::{
    model::{Effect, Pair, Spread},
    power::t_quantile,
    signflip,
};

/// The effect of some pairs; none with fewer than two, which have no spread. `p_adjusted` starts as `p`.
pub(super) fn of(pairs: &[Pair], direction: Direction, alpha: f64, seed: u64) -> Option<Effect> {
    if pairs.len() < 2 {
        return None;
    }
    let d: Vec<f64> = pairs.iter().map(|pair| pair.ln_ratio).collect();
    let n = d.len() as u32;
    let (mean, sd) = mean_and_sd(&d);
    let error = sd / f64::from(n).sqrt();
    let at = |t: f64| (mean + t * error).exp_m1();
    let (wide, narrow) = (t_quantile(n, alpha / 2.0), t_quantile(n, alpha));
    let p = signflip::p_value(&d, seed);
    Some(Effect {
        pairs: n,
        change: mean.exp_m1(),
        low: at(-wide),
        high: at(wide),
        equivalence_low: at(-narrow),
        equivalence_high: at(narrow),
        sd_ln: sd,
        p,
        p_adjusted: p,
        better_share: better_share(&d, direction),
    })
}

/// Mean and sample standard deviation.
pub(super) fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

fn better_share(d: &[f64], direction: Direction) -> f64 {
    let score = |d: &f64| match (*d == 0.0, direction) {
        (true, _) => 0.5,
        (false, Direction::HigherIsBetter) => f64::from(*d > 0.0),
        (false, Direction::LowerIsBetter) => f64::from(*d < 0.0),
    };
    d.iter().map(score).sum::<f64>() / d.len() as f64
}

/// Smallest, median and largest; none of nothing.
pub fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    Some(Spread {
        runs: sorted.len() as u32,
        min: *sorted.first()?,
        median: median_of_sorted(&sorted),
        max: *sorted.last()?,
    })
}

/// The median of sorted values, of which there is at least one.
pub(super) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(numbers: &[(f64, f64)]) -> Vec<Pair> {
        let pair = |(block, (baseline, candidate)): (usize, &(f64, f64))| {
            let ln_ratio = (candidate / baseline).ln();
            Pair { block: block as u32, baseline: *baseline, candidate: *candidate, ln_ratio }
        };
        numbers.iter().enumerate().map(pair).collect()
    }

    fn effect(numbers: &[(f64, f64)]) -> Effect {
        of(&pairs(numbers), Direction::HigherIsBetter, 0.05, 1).unwrap()
    }

    #[test]
    fn one_pair_has_no_effect() {
        assert_eq!(of(&pairs(&[(1.0, 2.0)]), Direction::HigherIsBetter, 0.05, 1), None);
    }

    #[test]
    fn agrees_with_scipy() {
        // d = numpy.array([...]); r = scipy.stats.ttest_1samp(d, 0).confidence_interval(0.95)
        // numpy.expm1(d.mean()), numpy.expm1(r.low), numpy.expm1(r.high), d.std(ddof=1); then the same at 0.90
        let d: [f64; 10] = [0.021, -0.004, 0.013, 0.030, 0.008, -0.011, 0.017, 0.025, 0.002, 0.019];
        let effect = effect(&d.map(|d| (1.0, d.exp())));
        for (got, scipy) in [
            (effect.change, 0.012072288866077755),
            (effect.low, 0.0026155380497512866),
            (effect.high, 0.02161823652068188),
            (effect.equivalence_low, 0.004402304475497233),
            (effect.equivalence_high, 0.01980084407065344),
            (effect.sd_ln, 0.013123346456686351),
        ] {
            assert!((got - scipy).abs() < 1e-12, "{got} {scipy}");
        }
        assert_eq!(effect.better_share, 0.8);
    }

    proptest! {
        #[test]
        fn units_and_order_of_pairs_do_not_matter(
            numbers in proptest::collection::vec((1.0f64..100.0, 1.0f64..100.0), 2..10),
            unit in 1e-3f64..1e9,
        ) {
            let plain = effect(&numbers);
            let mut scaled: Vec<_> = numbers.iter().map(|(b, c)| (b * unit, c * unit)).collect();
            scaled.reverse();
            let scaled = effect(&scaled);
            prop_assert_eq!(plain.p, scaled.p);
            for (a, b) in [(plain.change, scaled.change), (plain.low, scaled.low), (plain.high, scaled.high)] {
                prop_assert!((a - b).abs() <= 1e-6 * (1.0 + a.abs()), "{} {}", a, b);
            }
        }

        #[test]
        fn swapping_the_sides_inverts_the_ratio(
            numbers in proptest::collection::vec((1.0f64..100.0, 1.0f64..100.0), 3..10),
        ) {
            let there = effect(&numbers);
            let back = effect(&numbers.iter().map(|(b, c)| (*c, *b)).collect::<Vec<_>>());
            prop_assert_eq!(there.p, back.p);
            prop_assert!(((1.0 + there.change) * (1.0 + back.change) - 1.0).abs() < 1e-9);
            prop_assert!((there.low.ln_1p() + back.high.ln_1p()).abs() < 1e-6);
            prop_assert!((there.better_share + back.better_share - 1.0).abs() < 1e-9);
        }

        #[test]
        fn the_median_lies_between(values in proptest::collection::vec(-1e6f64..1e6, 1..20)) {
            let spread = spread(values.iter().copied()).unwrap();
            prop_assert!(spread.min <= spread.median && spread.median <= spread.max);
        }
    }
}
