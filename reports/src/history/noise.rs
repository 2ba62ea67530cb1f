//! How nights vary around their levels, and how much a night is like the one before.

use super::level::{mad, mean};
use crate::compare::median;

/// A standard deviation in median absolute deviations, for normal noise.
const SD_IN_MADS: f64 = 1.482_602_218_505_602;

/// What is left of a series around its levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Noise {
    /// Coefficient of variation; robust, so that single odd nights do not raise it.
    pub(super) cv: f64,
    /// How much of a night's deviation the next night shares, from 0 (independent): the autocorrelation at one night, a
    /// standard error above its estimate. A history is short, and to take wandering nights for independent ones finds changes
    /// that are none.
    pub(super) memory: f64,
}

impl Noise {
    /// Of a series with levels that begin at these splits.
    pub(super) fn around(values: &[f64], splits: &[usize]) -> Noise {
        let left = residuals(values, splits);
        let n = left.len() as f64;
        let levels = splits.len() as f64 + 1.0;
        let cv = SD_IN_MADS * mad(&left).unwrap_or(0.0) * (n / (n - levels).max(1.0)).sqrt();
        Noise { cv, memory: memory(&left) }
    }
}

/// Every value's share above the level it belongs to. A level of three nights or more is their median.
fn residuals(values: &[f64], splits: &[usize]) -> Vec<f64> {
    let ends: Vec<usize> =
        std::iter::once(0).chain(splits.iter().copied()).chain(std::iter::once(values.len())).collect();
    let of = |part: &[f64]| {
        let level = if part.len() < 3 { mean(part) } else { median(part).unwrap_or(0.0) };
        let share = move |value: &f64| if level == 0.0 { 0.0 } else { (value - level) / level.abs() };
        part.iter().map(share).collect::<Vec<f64>>()
    };
    ends.windows(2).flat_map(|part| of(&values[part[0]..part[1]])).collect()
}

fn memory(left: &[f64]) -> f64 {
    let n = left.len() as f64;
    let squares: f64 = left.iter().map(|value| value * value).sum();
    if squares == 0.0 {
        return 0.0;
    }
    let estimate = left.windows(2).map(|two| two[0] * two[1]).sum::<f64>() / squares;
    // Kendall (1954): around a mean of its own, a series of n looks less alike by (1 + 3 phi) / n.
    let unbiased = estimate + (1.0 + 3.0 * estimate) / n;
    (unbiased + 1.0 / n.sqrt()).clamp(0.0, 0.9)
}

/// By how much the mean of so many nights with a memory varies more than if they were independent.
pub(super) fn inflation(nights: usize, memory: f64) -> f64 {
    let mut alike = 1.0;
    let mut inflation = 1.0;
    for apart in 1..nights {
        alike *= memory;
        // What is left adds less than a thousandth.
        if alike < 1e-5 {
            break;
        }
        inflation += 2.0 * (1.0 - apart as f64 / nights as f64) * alike;
    }
    inflation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::nights::{NightNoise, Wander};
    use rand::SeedableRng;

    fn drawn(wander: Wander) -> Vec<f64> {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let mut noise = NightNoise::new(wander, 0.01);
        (0..2_000).map(|_| 100.0 * (1.0 + noise.next(&mut random))).collect()
    }

    #[test]
    fn spread_and_memory_are_what_was_put_in() {
        let plain = Noise::around(&drawn(Wander::Normal), &[]);
        assert!((plain.cv - 0.01).abs() < 5e-4, "{plain:?}");
        assert!(plain.memory < 0.07, "{plain:?}");
        let alike = Noise::around(&drawn(Wander::Autocorrelated), &[]);
        assert!((0.45..0.6).contains(&alike.memory), "{alike:?}");
        let odd = Noise::around(&drawn(Wander::Outliers), &[]);
        assert!((odd.cv - 0.01).abs() < 1e-3, "{odd:?}");
    }

    #[test]
    fn a_step_is_no_noise() {
        let stepped: Vec<f64> = drawn(Wander::Normal)
            .iter()
            .enumerate()
            .map(|(at, v)| if at < 900 { *v } else { 0.9 * v })
            .collect();
        let noise = Noise::around(&stepped, &[900]);
        assert!((noise.cv - 0.01).abs() < 5e-4 && noise.memory < 0.07, "{noise:?}");
    }

    #[test]
    fn a_mean_of_alike_nights_varies_more() {
        assert_eq!((inflation(1, 0.5), inflation(10, 0.0)), (1.0, 1.0));
        assert_eq!(inflation(2, 0.5), 1.5);
        // (1 + phi) / (1 - phi) for many nights.
        assert!((inflation(100_000, 0.5) - 3.0).abs() < 1e-3);
    }
}
