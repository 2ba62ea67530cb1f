//! What makes the nights of a synthetic series differ from their level.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// How nights vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wander {
    /// Independent and normal.
    Normal,
    /// AR(1) with phi 0.5 from night to night: a bad night is often followed by one.
    Autocorrelated,
    /// Independent and normal, with one night in twenty eight standard deviations off, to either side.
    Outliers,
    /// Independent and log-normal with sigma 0.5: a long tail to one side.
    LogNormal,
}

/// Weight of the night before.
const PHI: f64 = 0.5;
/// Share of the nights that are outliers, and how far they are, in standard deviations.
const OUTLIERS: (f64, f64) = (0.05, 8.0);
/// Sigma of the log-normal noise.
const SIGMA: f64 = 0.5;

impl Wander {
    /// All of them.
    pub const ALL: [Wander; 4] =
        [Wander::Normal, Wander::Autocorrelated, Wander::Outliers, Wander::LogNormal];

    /// As tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Wander::Normal => "normal",
            Wander::Autocorrelated => "AR(1), phi 0.5",
            Wander::Outliers => "5 % outliers of 8 sd",
            Wander::LogNormal => "log-normal, sigma 0.5",
        }
    }
}

/// The noise of one series, night by night.
#[derive(Debug)]
pub struct Night {
    wander: Wander,
    sd: f64,
    before: Option<f64>,
}

impl Night {
    /// Noise of this standard deviation (outliers come on top).
    pub fn new(wander: Wander, sd: f64) -> Self {
        Night { wander, sd, before: None }
    }

    /// The next night's, around 0.
    pub fn next(&mut self, random: &mut ChaCha8Rng) -> f64 {
        let normal: f64 = StandardNormal.sample(random);
        let standard = match self.wander {
            Wander::Normal => normal,
            Wander::Autocorrelated => match self.before {
                Some(before) => PHI * before + (1.0 - PHI * PHI).sqrt() * normal,
                None => normal,
            },
            Wander::Outliers => match random.random::<f64>() / OUTLIERS.0 {
                chance if chance < 0.5 => normal + OUTLIERS.1,
                chance if chance < 1.0 => normal - OUTLIERS.1,
                _ => normal,
            },
            Wander::LogNormal => {
                let variance = SIGMA * SIGMA;
                let (mean, sd) = ((variance / 2.0).exp(), (variance.exp_m1() * variance.exp()).sqrt());
                ((SIGMA * normal).exp() - mean) / sd
            }
        };
        self.before = Some(standard);
        self.sd * standard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn noise_has_the_mean_the_spread_and_the_memory_it_says() {
        for wander in Wander::ALL {
            let mut random = ChaCha8Rng::seed_from_u64(1);
            let mut noise = Night::new(wander, 0.01);
            let drawn: Vec<f64> = (0..100_000).map(|_| noise.next(&mut random)).collect();
            let n = drawn.len() as f64;
            let mean = drawn.iter().sum::<f64>() / n;
            let variance = drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
            let beside: f64 = drawn.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum::<f64>() / n;
            // Outliers of 8 sd in 5 % of the nights add 3.2 variances.
            let expected = if wander == Wander::Outliers { (1.0 + 0.05 * 64.0) * 1e-4 } else { 1e-4 };
            let memory = if wander == Wander::Autocorrelated { 0.5 } else { 0.0 };
            assert!(mean.abs() < 3e-4, "{wander:?}: {mean}");
            assert!((variance / expected - 1.0).abs() < 0.05, "{wander:?}: {variance}");
            assert!((beside / variance - memory).abs() < 0.02, "{wander:?}: {}", beside / variance);
        }
    }
}
