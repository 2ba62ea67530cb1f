//! What makes the runs of a simulated campaign differ: noise of its own in each run, and what the machine does meanwhile.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// How the runs of a campaign vary, in the order in which they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Independent and normal.
    Normal,
    /// Independent, Student's t with 3 degrees of freedom.
    HeavyTailed,
    /// Independent and normal, with one run in ten five times as noisy.
    Contaminated,
    /// Normal, on a machine that gets slower from run to run, by ten margins in all.
    LinearDrift,
    /// Normal, on a machine that is ten margins slower from the middle of the middle block on.
    Step,
    /// Normal, on a machine whose first run of a block is a margin slower than its last, and the others between.
    WarmUp,
    /// Normal, with a load from the middle on: five margins slower, and four times as noisy.
    Load,
    /// AR(1) with phi 0.5 from run to run, whatever block they are of.
    Autocorrelated,
}

/// Weight of the run before.
const PHI: f64 = 0.5;

impl Noise {
    /// All of them.
    pub const ALL: [Noise; 8] = [
        Noise::Normal,
        Noise::HeavyTailed,
        Noise::Contaminated,
        Noise::LinearDrift,
        Noise::Step,
        Noise::WarmUp,
        Noise::Load,
        Noise::Autocorrelated,
    ];

    /// As the table calls it.
    pub fn name(self) -> &'static str {
        match self {
            Noise::Normal => "normal",
            Noise::HeavyTailed => "heavy-tailed (t, 3 df)",
            Noise::Contaminated => "contaminated (10 % at 5 sd)",
            Noise::LinearDrift => "drift, 10 margins",
            Noise::Step => "step of 10 margins",
            Noise::WarmUp => "warm-up in each block",
            Noise::Load => "load from half-way on",
            Noise::Autocorrelated => "AR(1), phi 0.5",
        }
    }

    /// Whether all pairs vary alike. Where one pair straddles a jump of the machine, or half of them are far noisier, the interval is wider
    /// than it must be and holds the truth more often than it says.
    pub fn is_steady(self) -> bool {
        !matches!(self, Noise::Step | Noise::Load)
    }

    /// ln of each of `blocks * per_block` runs over what it would be without noise. Every kind of noise has the standard deviation
    /// `sd`; what the machine does comes on top, in units of `margin`.
    pub(super) fn of_runs(
        self,
        (blocks, per_block): (usize, usize),
        (sd, margin): (f64, f64),
        random: &mut impl Rng,
    ) -> Vec<f64> {
        let runs = blocks * per_block;
        let middle = (blocks / 2) * per_block + per_block / 2;
        let mut before: f64 = StandardNormal.sample(random);
        let mut noise = |run: usize| match self {
            Noise::HeavyTailed => heavy_tailed(random),
            Noise::Contaminated => contaminated(random),
            Noise::Load if run >= middle => 4.0 * normal(random),
            Noise::Autocorrelated => {
                let now = before;
                before = PHI * before + (1.0 - PHI * PHI).sqrt() * normal(random);
                now
            }
            _ => normal(random),
        };
        let machine = |run: usize| match self {
            Noise::LinearDrift => -10.0 * run as f64 / (runs - 1) as f64,
            Noise::Step if run >= middle => -10.0,
            Noise::WarmUp => (run % per_block) as f64 / (per_block - 1) as f64,
            Noise::Load if run >= middle => -5.0,
            _ => 0.0,
        };
        (0..runs).map(|run| sd * noise(run) + margin * machine(run)).collect()
    }
}

fn normal(random: &mut impl Rng) -> f64 {
    StandardNormal.sample(random)
}

fn heavy_tailed(random: &mut impl Rng) -> f64 {
    // t with 3 degrees of freedom has variance 3: a normal value over the root of the mean of three squared ones, scaled.
    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    normal(random) / squares.sqrt()
}

fn contaminated(random: &mut impl Rng) -> f64 {
    const SHARE: f64 = 0.1;
    const TIMES: f64 = 5.0;
    let variance = 1.0 - SHARE + SHARE * TIMES * TIMES;
    let wild = random.random_bool(SHARE);
    normal(random) * if wild { TIMES } else { 1.0 } / variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn runs(noise: Noise, blocks: usize, sd: f64, margin: f64) -> Vec<f64> {
        noise.of_runs((blocks, 3), (sd, margin), &mut ChaCha8Rng::seed_from_u64(3))
    }

    #[test]
    fn every_noise_has_the_spread_that_is_asked() {
        for noise in [Noise::Normal, Noise::HeavyTailed, Noise::Contaminated, Noise::Autocorrelated] {
            let runs = runs(noise, 100_000, 0.01, 0.0);
            let mean = runs.iter().sum::<f64>() / runs.len() as f64;
            let variance = runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / runs.len() as f64;
            // The tails of t with 3 degrees of freedom make its variance the slowest to settle.
            assert!(mean.abs() < 2e-4 && (variance.sqrt() / 0.01 - 1.0).abs() < 0.05, "{noise:?} {variance}");
        }
    }

    #[test]
    fn successive_runs_depend_on_each_other_only_where_they_should() {
        let lag1 = |noise| {
            let runs = runs(noise, 100_000, 1.0, 0.0);
            runs.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / runs.iter().map(|run| run * run).sum::<f64>()
        };
        assert!((lag1(Noise::Autocorrelated) - PHI).abs() < 0.01);
        assert!(lag1(Noise::Normal).abs() < 0.01);
    }

    #[test]
    fn what_the_machine_does_is_counted_in_margins() {
        let drift = runs(Noise::LinearDrift, 10, 0.0, 0.02);
        assert!((drift[29] + 0.2).abs() < 1e-12 && drift[0] == 0.0);
        let step = runs(Noise::Step, 10, 0.0, 0.02);
        assert_eq!((step[15], step[16]), (0.0, -0.2), "within the block in the middle");
        assert_eq!(runs(Noise::WarmUp, 2, 0.0, 0.02), [0.0, 0.01, 0.02, 0.0, 0.01, 0.02]);
        let load = runs(Noise::Load, 10_000, 0.01, 0.02);
        let spread = |runs: &[f64], middle: f64| {
            (runs.iter().map(|run| (run - middle).powi(2)).sum::<f64>() / runs.len() as f64).sqrt()
        };
        assert!((spread(&load[..15_000], 0.0) - 0.01).abs() < 5e-4);
        assert!((spread(&load[15_001..], -0.1) - 0.04).abs() < 2e-3);
    }
}
