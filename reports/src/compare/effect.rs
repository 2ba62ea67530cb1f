//! From paired log-ratios to an effect: what each method of `stats` says of them.

use schema::Direction;

use super::{
    cross_check,
    levels::Levels,
    model::{Effect, Estimate, Flag, Method, Pair, Range, Spread},
    signflip,
    stats::{order, share, student::Student, walsh},
};

/// What an effect is asked of some pairs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    /// Which way is better.
    pub(super) direction: Direction,
    /// Changes below this share do not matter.
    pub(super) margin: f64,
    /// Levels of the intervals.
    pub(super) levels: Levels,
    /// Whether the bootstrap over pairs is worth its time: where a verdict is made.
    pub(super) decides: bool,
    /// Seed of whatever is drawn.
    pub(super) seed: u64,
}

/// The effect of some pairs, of which `node_pairs` says between which nodes each was measured (empty: all between the same); none with
/// fewer than two, which have no spread. `p_adjusted` starts as `p`.
pub(super) fn of(pairs: &[Pair], node_pairs: &[u32], ask: Ask) -> Option<Effect> {
    if pairs.len() < 2 {
        return None;
    }
    let d: Vec<f64> = pairs.iter().map(|pair| pair.ln_ratio).collect();
    let n = d.len() as u32;
    let tail = ask.levels.difference / 2.0;
    let student = Student::of(&d);
    let wide = student.interval(tail);
    let narrow = student.interval(ask.levels.equivalence);
    let p = signflip::p_value(&d, ask.seed);
    let better_share = better_share(&d, ask.direction);
    let (better_low, better_high) = share::wilson(better_share, n, tail);
    let effect = Effect {
        pairs: n,
        change: student.mean.exp_m1(),
        low: wide.0.exp_m1(),
        high: wide.1.exp_m1(),
        equivalence_low: narrow.0.exp_m1(),
        equivalence_high: narrow.1.exp_m1(),
        sd_ln: student.sd,
        p,
        p_adjusted: p,
        p_t: Some(student.p()),
        p_equivalence: Some(student.p_within((-ask.margin).ln_1p(), ask.margin.ln_1p())),
        hodges_lehmann: walsh::interval(&d, tail).map(|(low, high)| Estimate {
            change: walsh::estimate(&d).exp_m1(),
            low: low.exp_m1(),
            high: high.exp_m1(),
        }),
        better_share,
        better_interval: Some(Range { low: better_low, high: better_high }),
        cross_check: None,
    };
    Some(cross_check::apply(effect, &d, node_pairs, ask))
}

/// The methods whose interval does not say what the effect's own says of whether there is a change.
pub(super) fn disagreements(effect: &Effect) -> impl Iterator<Item = Flag> {
    let robust = effect.hodges_lehmann.map(|by| (Method::HodgesLehmann, by.low, by.high));
    let drawn = effect.cross_check.map(|by| (by.method, by.low, by.high));
    let changed = |low: f64, high: f64| low > 0.0 || high < 0.0;
    let says = changed(effect.low, effect.high);
    robust
        .into_iter()
        .chain(drawn)
        .filter(move |(_, low, high)| changed(*low, *high) != says)
        .map(|(method, low, high)| Flag::MethodsDisagree { method, low, high })
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
        median_interval: order::median_interval(&sorted, 0.025).map(|(low, high)| Range { low, high }),
    })
}

/// The median: the middle value; of an even number of them, the mean of the two in the middle; none of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| median_of_sorted(&sorted))
}

/// The median of sorted values, of which there is at least one.
fn median_of_sorted(sorted: &[f64]) -> f64 {
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

    fn ask() -> Ask {
        let levels = Levels::of_one_look(0.05);
        Ask { direction: Direction::HigherIsBetter, margin: 0.02, levels, decides: true, seed: 1 }
    }

    fn effect(numbers: &[(f64, f64)]) -> Effect {
        of(&pairs(numbers), &[], ask()).unwrap()
    }

    #[test]
    fn one_pair_has_no_effect() {
        assert_eq!(of(&pairs(&[(1.0, 2.0)]), &[], ask()), None);
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
        fn units_do_not_matter_nor_does_the_order_of_pairs_that_do_not_depend_on_it(
            numbers in proptest::collection::vec((1.0f64..100.0, 1.0f64..100.0), 2..10),
            unit in 1e-3f64..1e9,
        ) {
            let plain = effect(&numbers);
            let mut scaled: Vec<_> = numbers.iter().map(|(b, c)| (b * unit, c * unit)).collect();
            // Where they depend on their predecessors, blocks of them are drawn, and which ones these are hangs on the order.
            if plain.cross_check.is_none() {
                scaled.reverse();
            }
            let scaled = effect(&scaled);
            prop_assert_eq!(plain.p, scaled.p);
            for (a, b) in [(plain.change, scaled.change), (plain.low, scaled.low), (plain.high, scaled.high)] {
                prop_assert!((a - b).abs() <= 1e-6 * (1.0 + a.abs()), "{} {}", a, b);
            }
        }

        #[test]
        fn every_number_is_one_and_every_interval_holds_its_estimate(
            numbers in proptest::collection::vec((1.0f64..100.0, 1.0f64..100.0), 2..40),
        ) {
            let effect = effect(&numbers);
            let p = [Some(effect.p), Some(effect.p_adjusted), effect.p_t, effect.p_equivalence];
            prop_assert!(p.into_iter().flatten().all(|p| (0.0..=1.0).contains(&p)), "{:?}", effect);
            prop_assert!(effect.low <= effect.equivalence_low && effect.equivalence_low <= effect.change);
            prop_assert!(effect.change <= effect.equivalence_high && effect.equivalence_high <= effect.high);
            let share = effect.better_interval.unwrap();
            prop_assert!(share.low <= effect.better_share && effect.better_share <= share.high);
            if let Some(robust) = effect.hodges_lehmann {
                prop_assert!(robust.low <= robust.change && robust.change <= robust.high);
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
