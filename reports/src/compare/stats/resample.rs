//! What all bootstraps share: seeded draws, how many of them, and quantiles of what was drawn.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Resamples of a few hundred values.
const RESAMPLES: u32 = 10_000;
/// Fewer leave the ends of a 95 % interval to chance.
const FEWEST_RESAMPLES: u32 = 1_000;
/// Values drawn in all: a comparison's time must not grow with values times resamples.
const DRAWS: u32 = 5_000_000;

/// How often to draw so many values anew.
pub(super) fn resamples(values: usize) -> u32 {
    (DRAWS / values.max(1) as u32).clamp(FEWEST_RESAMPLES, RESAMPLES)
}

/// Draws of positions from a seed.
pub(super) struct Draws(ChaCha8Rng);

impl Draws {
    /// The same seed gives the same draws.
    pub(super) fn of(seed: u64) -> Self {
        Draws(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A position below `n`, which is far below 2^32: the bias of the product is n / 2^32.
    pub(super) fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.0.next_u32()) * n as u64) >> 32) as usize
    }
}

/// The quantile of sorted values, of which there is at least one, interpolated between neighbours as NumPy does by default.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

/// An estimate with the draws of its error: the interval leaves out `tail` at each end, p is two-sided, and both sides of a margin
/// are tested. The draws are centred on nothing, and sorted.
#[derive(Debug, Clone)]
pub(in crate::compare) struct Drawn {
    estimate: f64,
    errors: Vec<f64>,
}

impl Drawn {
    /// Centres and sorts the draws, and stretches them by a factor for what few draws can't show.
    ///
    /// A bootstrap of blocks or of groups has its own mean, which isn't the estimate where the ends of the series are drawn less often;
    /// errors are counted from that mean.
    pub(super) fn of(estimate: f64, mut draws: Vec<f64>, stretch: f64) -> Self {
        let centre = draws.iter().sum::<f64>() / draws.len() as f64;
        for draw in &mut draws {
            *draw = (*draw - centre) * stretch;
        }
        draws.sort_by(f64::total_cmp);
        Drawn { estimate, errors: draws }
    }

    /// Times drawn.
    pub(in crate::compare) fn resamples(&self) -> u32 {
        self.errors.len() as u32
    }

    /// The interval that leaves out `tail` at each end.
    pub(in crate::compare) fn interval(&self, tail: f64) -> (f64, f64) {
        (self.estimate - quantile(&self.errors, 1.0 - tail), self.estimate - quantile(&self.errors, tail))
    }

    /// Two-sided p that the estimate is nothing; what was really seen counts as one of the draws.
    pub(in crate::compare) fn p(&self) -> f64 {
        // Two sums of the same numbers in another order differ in their last bits; they must still count as equal.
        let seen = self.estimate.abs() * (1.0 - 1e-9);
        self.share(|error| error.abs() >= seen)
    }

    /// The larger of the one-sided p-values against an estimate as low as `low` and one as high as `high`.
    pub(in crate::compare) fn p_within(&self, low: f64, high: f64) -> f64 {
        let above = self.share(|error| error >= self.estimate - low);
        let below = self.share(|error| error <= self.estimate - high);
        above.max(below)
    }

    fn share(&self, extreme: impl Fn(f64) -> bool) -> f64 {
        let count = self.errors.iter().filter(|error| extreme(**error)).count();
        (count as f64 + 1.0) / (self.errors.len() as f64 + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        // numpy.quantile([1, 2, 4, 8], [0, 0.1, 0.5, 0.9, 1])
        let of = |share| quantile(&[1.0, 2.0, 4.0, 8.0], share);
        assert_eq!([of(0.0), of(0.5), of(1.0)], [1.0, 3.0, 8.0]);
        assert!((of(0.1) - 1.3).abs() < 1e-12 && (of(0.9) - 6.8).abs() < 1e-12);
    }

    #[test]
    fn every_position_is_drawn_about_as_often() {
        let mut draws = Draws::of(1);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[draws.below(7)] += 1);
        // 10,000 each; five standard deviations are 463.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 463), "{counts:?}");
    }

    #[test]
    fn the_cost_of_many_values_is_bounded() {
        assert_eq!((resamples(20), resamples(500), resamples(1_000)), (10_000, 10_000, 5_000));
        assert_eq!(resamples(100_000), 1_000);
    }

    #[test]
    fn the_interval_and_the_tests_agree() {
        let errors: Vec<f64> = (0..9_999).map(|i| f64::from(i) / 4_999.0 - 1.0).collect();
        let drawn = Drawn::of(0.5, errors, 1.0);
        let (low, high) = drawn.interval(0.025);
        assert!((low + 0.45).abs() < 1e-3 && (high - 1.45).abs() < 1e-3, "{low} {high}");
        assert!((drawn.p() - 0.5).abs() < 1e-3);
        assert!((drawn.p_within(-1.0, 1.0) - 0.25).abs() < 1e-3, "{}", drawn.p_within(-1.0, 1.0));
    }
}
