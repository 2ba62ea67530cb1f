//! The second method: which one an effect is checked by, and when it takes the place of Student's interval.

use super::{
    effect::Ask,
    model::{CrossCheck, Effect, Method},
    stats::{
        bootstrap::{self, Bootstrap},
        hierarchical, moving_block,
        resample::Drawn,
    },
};

/// Fewer pairs make too few blocks to draw from.
const FEWEST_FOR_BLOCKS: usize = 6;

/// Checks an effect by the method that fits its pairs, of which `d` are the log-ratios in block order.
///
/// Pairs from several node pairs, or that depend on their predecessors, are not what Student's t and the sign flips assume. There the
/// method that minds it widens the interval and raises p; it never narrows or lowers them. Elsewhere the bootstrap over pairs is shown
/// beside, and changes nothing.
pub(super) fn apply(effect: Effect, d: &[f64], node_pairs: &[u32], ask: Ask) -> Effect {
    let tail = ask.levels.difference / 2.0;
    if let Some((drawn, groups)) = hierarchical::of(d, node_pairs, ask.seed) {
        return widened(effect, &drawn, Method::Hierarchical, (1, groups), ask);
    }
    if d.len() >= FEWEST_FOR_BLOCKS && moving_block::depends(d).is_some() {
        let drawn = moving_block::of(d, tail, ask.seed);
        return widened(effect, &drawn, Method::MovingBlock, (moving_block::length(d.len()) as u32, 1), ask);
    }
    let drawn = ask.decides.then(|| bootstrap::of(d, tail, ask.seed)).flatten();
    Effect { cross_check: drawn.map(|drawn| further(&effect, drawn)), ..effect }
}

fn widened(
    effect: Effect,
    drawn: &Drawn,
    method: Method,
    (block, node_pairs): (u32, u32),
    ask: Ask,
) -> Effect {
    let ends = |tail| {
        let (low, high) = drawn.interval(tail);
        (low.exp_m1(), high.exp_m1())
    };
    let (low, high) = ends(ask.levels.difference / 2.0);
    let (equivalence_low, equivalence_high) = ends(ask.levels.equivalence);
    let p = effect.p.max(drawn.p());
    let p_within = drawn.p_within((-ask.margin).ln_1p(), ask.margin.ln_1p());
    Effect {
        low: effect.low.min(low),
        high: effect.high.max(high),
        equivalence_low: effect.equivalence_low.min(equivalence_low),
        equivalence_high: effect.equivalence_high.max(equivalence_high),
        p,
        p_adjusted: p,
        p_equivalence: effect.p_equivalence.map(|p| p.max(p_within)),
        cross_check: Some(CrossCheck {
            method,
            low,
            high,
            resamples: drawn.resamples(),
            block,
            node_pairs,
            widened: true,
        }),
        ..effect
    }
}

/// Of the two intervals from the same draws, the one that strays further from Student's: a check should be hard to pass.
fn further(effect: &Effect, drawn: Bootstrap) -> CrossCheck {
    let check = |method, (low, high): (f64, f64)| CrossCheck {
        method,
        low: low.exp_m1(),
        high: high.exp_m1(),
        resamples: drawn.resamples,
        block: 1,
        node_pairs: 1,
        widened: false,
    };
    let bca = check(Method::Bca, drawn.bca);
    let studentised = check(Method::Studentised, drawn.studentised);
    let strays = |check: &CrossCheck| (check.low - effect.low).abs().max((check.high - effect.high).abs());
    if strays(&studentised) > strays(&bca) { studentised } else { bca }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{effect, levels::Levels, model::Pair};
    use schema::Direction;

    fn effect_of(d: &[f64], node_pairs: &[u32], decides: bool) -> Effect {
        let pair = |(block, d): (usize, &f64)| Pair {
            block: block as u32,
            baseline: 1.0,
            candidate: d.exp(),
            ln_ratio: *d,
        };
        let pairs: Vec<Pair> = d.iter().enumerate().map(pair).collect();
        let levels = Levels::of_one_look(0.05);
        let ask = Ask { direction: Direction::HigherIsBetter, margin: 0.02, levels, decides, seed: 1 };
        effect::of(&pairs, node_pairs, ask).unwrap()
    }

    /// Without order or trend.
    fn noise(n: u32) -> Vec<f64> {
        (0..n).map(|i| 0.004 + 0.01 * (f64::from(i * i) * 1.7).sin()).collect()
    }

    #[test]
    fn twenty_sound_pairs_are_checked_and_keep_their_interval() {
        let plain = effect_of(&noise(20), &[], false);
        let checked = effect_of(&noise(20), &[], true);
        assert_eq!(plain.cross_check, None);
        let check = checked.cross_check.unwrap();
        assert!(matches!(check.method, Method::Bca | Method::Studentised) && !check.widened);
        assert_eq!(Effect { cross_check: None, ..checked }, plain);
        assert_eq!(effect_of(&noise(19), &[], true).cross_check, None);
    }

    #[test]
    fn pairs_that_depend_on_each_other_are_judged_with_more_care() {
        let trend: Vec<f64> = (0..12).map(|i| 0.002 * (f64::from(i) - 2.0)).collect();
        let mut shuffled = trend.clone();
        for (a, b) in [(0, 7), (3, 10), (1, 5), (8, 2), (4, 11)] {
            shuffled.swap(a, b);
        }
        let (sound, dependent) = (effect_of(&shuffled, &[], false), effect_of(&trend, &[], false));
        assert_eq!(sound.cross_check, None);
        let check = dependent.cross_check.unwrap();
        assert_eq!((check.method, check.block, check.widened), (Method::MovingBlock, 3, true));
        assert!(dependent.low < sound.low && dependent.high > sound.high);
        assert!(dependent.p > sound.p && dependent.p_equivalence > sound.p_equivalence);
        assert_eq!(dependent.change, sound.change);
    }

    #[test]
    fn several_node_pairs_are_a_level_of_their_own() {
        let d: Vec<f64> = noise(12).iter().enumerate().map(|(i, d)| d + 0.03 * (i % 3) as f64).collect();
        let groups: Vec<u32> = (0..12).map(|i| i % 3).collect();
        let (one, three) = (effect_of(&d, &[0; 12], false), effect_of(&d, &groups, false));
        let check = three.cross_check.unwrap();
        assert_eq!((check.method, check.node_pairs, check.widened), (Method::Hierarchical, 3, true));
        assert!(three.low < one.low && three.high > one.high);
    }
}
