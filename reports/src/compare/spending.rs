//! What each look at a campaign may spend of its false-alarm rate: a group-sequential rule.
//!
//! Looking several times at one level finds what is not there more often than that level says. So alpha is spent bit by bit
//! (Lan and DeMets 1983), up to look k as much as alpha times the square of the share of the blocks that are there (the power
//! family of Kim and DeMets 1987, rho 2). From what is spent follows, look by look, how far out the estimate must lie (the
//! recursive integration of Armitage, McPherson and Rowe 1969), and from that the level at which the p of that look is tested
//! (the significance-level approach of Jennison and Turnbull 2000). `docs/adr/0010` says why this family.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Points over which a density is integrated, at least; odd, for Simpson's rule.
const FEWEST_POINTS: usize = 201;
/// Points in a standard deviation of a step, where that takes more.
const POINTS_PER_SD: f64 = 8.0;
/// Standard deviations beyond which nothing is integrated.
const REACH: f64 = 9.0;

/// One look: the share of the most blocks there is, and how much of alpha is spent once it is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spend {
    /// Blocks at this look by the most blocks; grows from look to look.
    pub(super) share: f64,
    /// Two-sided error spent up to and with this look; never falls.
    pub(super) spent: f64,
}

/// What may be spent at a share of the blocks.
pub(super) fn spent(alpha: f64, share: f64) -> f64 {
    alpha * share.min(1.0).powi(2)
}

/// The two-sided level that p is tested at, for each look.
pub(super) fn levels(looks: &[Spend]) -> Vec<f64> {
    let normal = Normal::standard();
    let mut before: Option<Density> = None;
    let mut levels = Vec::new();
    let mut last = Spend { share: 0.0, spent: 0.0 };
    for (number, look) in looks.iter().enumerate() {
        let increment = (look.spent - last.spent).max(0.0);
        let sd = (look.share - last.share).max(f64::EPSILON).sqrt();
        let beyond = |c: f64| match &before {
            None => 2.0 * normal.sf(c / sd),
            Some(density) => 2.0 * density.beyond(c, sd),
        };
        let at = |s: f64| match &before {
            None => normal.pdf(s / sd) / sd,
            Some(density) => density.spread_to(s, sd),
        };
        let bound = root(beyond, at, increment, REACH * look.share.sqrt());
        levels.push(2.0 * normal.sf(bound / look.share.sqrt()));
        if let Some(next) = looks.get(number + 1) {
            let finest = sd.min((next.share - look.share).max(f64::EPSILON).sqrt());
            before = Some(Density::new(bound, finest, at));
        }
        last = *look;
    }
    levels
}

/// Where a tail beyond both bounds has a value, by Newton's method within a bracket; the end of the range where it stays above it.
fn root(tail: impl Fn(f64) -> f64, density: impl Fn(f64) -> f64, value: f64, end: f64) -> f64 {
    if tail(end) >= value {
        return end;
    }
    let (mut low, mut high) = (0.0, end);
    let mut at = end / 2.0;
    for _ in 0..100 {
        let above = tail(at) - value;
        if above > 0.0 {
            low = at
        } else {
            high = at
        }
        let newton = at + above / (2.0 * density(at));
        let next = if newton > low && newton < high { newton } else { (low + high) / 2.0 };
        if (next - at).abs() < 1e-12 {
            break;
        }
        at = next;
    }
    at
}

/// The density of the sum of what was seen so far, of the campaigns that went on.
struct Density {
    from: f64,
    step: f64,
    weighted: Vec<f64>,
}

impl Density {
    /// Between both bounds, as fine as a step of this size needs.
    fn new(bound: f64, sd: f64, at: impl Fn(f64) -> f64) -> Self {
        let fine = (2.0 * bound / sd * POINTS_PER_SD).ceil() as usize | 1;
        let points = FEWEST_POINTS.max(fine);
        let step = 2.0 * bound / (points - 1) as f64;
        let weight = |i: usize| match i {
            0 => 1.0,
            _ if i == points - 1 => 1.0,
            _ if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let weighted = (0..points).map(|i| weight(i) * step / 3.0 * at(-bound + step * i as f64)).collect();
        Density { from: -bound, step, weighted }
    }

    /// The points between two values, with their weights.
    fn between(&self, low: f64, high: f64) -> impl Iterator<Item = (f64, f64)> {
        let index = |value: f64| ((value - self.from) / self.step).clamp(0.0, self.weighted.len() as f64);
        let (first, end) = (index(low).floor() as usize, index(high).ceil() as usize);
        let points = self.weighted[first..end].iter().zip(first..);
        points.map(|(weighted, i)| (self.from + self.step * i as f64, *weighted))
    }

    /// The probability that a step of this size ends beyond `c`.
    fn beyond(&self, c: f64, sd: f64) -> f64 {
        let normal = Normal::standard();
        self.between(c - REACH * sd, f64::INFINITY)
            .map(|(u, weighted)| weighted * normal.sf((c - u) / sd))
            .sum()
    }

    /// The density at `s` after a step of this size.
    fn spread_to(&self, s: f64, sd: f64) -> f64 {
        let normal = Normal::standard();
        let near = self.between(s - REACH * sd, s + REACH * sd);
        near.map(|(u, weighted)| weighted * normal.pdf((s - u) / sd)).sum::<f64>() / sd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn even(looks: u32, spent: impl Fn(f64) -> f64) -> Vec<Spend> {
        let share = |k: u32| f64::from(k) / f64::from(looks);
        (1..=looks).map(|k| Spend { share: share(k), spent: spent(share(k)) }).collect()
    }

    fn z(levels: &[f64]) -> Vec<f64> {
        levels.iter().map(|level| Normal::standard().inverse_cdf(1.0 - level / 2.0)).collect()
    }

    #[test]
    fn the_bounds_of_lan_and_demets_come_out() {
        // Five even looks at 0.05, spent as O'Brien and Fleming's rule does: 4(1 - Phi(z / sqrt t)), z of 0.05 / 4.
        let normal = Normal::standard();
        let quarter = normal.inverse_cdf(1.0 - 0.05 / 4.0);
        let looks = even(5, |t| 4.0 * normal.sf(quarter / t.sqrt()));
        for (got, published) in z(&levels(&looks)).iter().zip([4.877, 3.357, 2.680, 2.290, 2.031]) {
            assert!((got - published).abs() < 2e-3, "{got} {published}");
        }
        // The same, spent as Pocock's rule does: 0.05 ln(1 + (e - 1) t).
        let looks = even(5, |t| 0.05 * (1.0 + (std::f64::consts::E - 1.0) * t).ln());
        for (got, published) in z(&levels(&looks)).iter().zip([2.438, 2.427, 2.410, 2.397, 2.386]) {
            assert!((got - published).abs() < 2e-3, "{got} {published}");
        }
    }

    #[test]
    fn one_look_has_all_of_alpha() {
        let one = levels(&even(1, |t| spent(0.05, t)));
        assert!((one[0] - 0.05).abs() < 1e-9, "{one:?}");
    }

    #[test]
    fn as_many_looks_as_blocks_still_leave_something_to_each() {
        let many = levels(&even(60, |t| spent(0.05, t)));
        assert!(many.iter().all(|level| *level > 0.0) && many.is_sorted(), "{many:?}");
    }

    #[test]
    fn two_hundred_looks_are_as_exact_as_two() {
        // The chance to cross any bound is what is spent, however finely it is shared out: the last level falls towards a limit.
        let last = |looks| *levels(&even(looks, |t| spent(0.05, t))).last().expect("a look");
        let [five, fifty, many] = [5, 50, 200].map(last);
        assert!(five > fifty && fifty > many && many > 0.02, "{five} {fifty} {many}");
    }

    proptest! {
        #[test]
        fn no_look_has_more_than_is_spent_up_to_it_or_less_than_its_own_part(
            shares in proptest::collection::btree_set(1u32..=40, 1..8), alpha in 0.001f64..0.2,
        ) {
            let most = f64::from(*shares.last().unwrap());
            let looks: Vec<Spend> = shares
                .iter()
                .map(|n| f64::from(*n) / most)
                .map(|share| Spend { share, spent: spent(alpha, share) })
                .collect();
            let mut before = 0.0;
            for (look, level) in looks.iter().zip(levels(&looks)) {
                prop_assert!(level <= look.spent + 1e-6, "{} {}", level, look.spent);
                prop_assert!(level >= look.spent - before - 1e-6, "{} {}", level, look.spent - before);
                before = look.spent;
            }
        }
    }
}
