//! The jitter of each message, drawn before the run so that the data path only indexes.
//!
//! The same seed gives the same sequence on both sides: the i-th ping and the i-th pong of a latency test are equally
//! late, so half the round trip has the distribution that was put in.

use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp, Normal};
use schema::Jitter;

use crate::clock::Scale;

/// Draws kept, then repeated. A decimal number, so that a bimodal share of up to five decimals is exact in each round.
const DRAWS: usize = 100_000;

/// An endless sequence of jitters in ticks.
pub(super) struct Jitters {
    /// Never empty.
    ticks: Box<[u64]>,
    at: usize,
}

impl Jitters {
    pub(super) fn new(jitter: Jitter, seed: u64, scale: Scale) -> Jitters {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let ns: Vec<u64> = match jitter {
            Jitter::None => vec![0],
            Jitter::Uniform { max_ns } => (0..DRAWS).map(|_| rng.random_range(0..=max_ns.get())).collect(),
            Jitter::Normal { sd_ns } => draw(Normal::new(0.0, sd_ns.get() as f64).ok(), &mut rng),
            Jitter::Exponential { mean_ns } => draw(Exp::new(1.0 / mean_ns.get() as f64).ok(), &mut rng),
            Jitter::Bimodal { share, extra_ns } => bimodal(share, extra_ns.get(), &mut rng),
        };
        Jitters { ticks: ns.into_iter().map(|ns| scale.ticks(ns)).collect(), at: 0 }
    }

    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        let ticks = self.ticks[self.at];
        self.at += 1;
        if self.at == self.ticks.len() {
            self.at = 0;
        }
        ticks
    }
}

/// Absolute values in whole ns. A distribution that does not exist (a mean of 0) is no jitter.
fn draw(distribution: Option<impl Distribution<f64>>, rng: &mut ChaCha8Rng) -> Vec<u64> {
    match distribution {
        Some(distribution) => (0..DRAWS).map(|_| distribution.sample(rng).abs().round() as u64).collect(),
        None => vec![0],
    }
}

fn bimodal(share: f64, extra_ns: u64, rng: &mut ChaCha8Rng) -> Vec<u64> {
    let slow = ((share * DRAWS as f64).round() as usize).min(DRAWS);
    let mut draws = vec![0; DRAWS];
    draws[..slow].fill(extra_ns);
    draws.shuffle(rng);
    draws
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::Nanos;

    fn draws(jitter: Jitter, seed: u64) -> Vec<u64> {
        let mut jitters = Jitters::new(jitter, seed, Scale::NANOSECONDS);
        (0..DRAWS).map(|_| jitters.next()).collect()
    }

    fn mean(draws: &[u64]) -> f64 {
        draws.iter().sum::<u64>() as f64 / draws.len() as f64
    }

    #[test]
    fn the_bimodal_share_is_exact_and_repeats() {
        let jitter = Jitter::Bimodal { share: 0.01, extra_ns: Nanos(50_000) };
        let mut jitters = Jitters::new(jitter, 7, Scale::NANOSECONDS);
        for _ in 0..2 {
            let slow = (0..DRAWS).filter(|_| jitters.next() == 50_000).count();
            assert_eq!(slow, DRAWS / 100);
        }
    }

    #[test]
    fn the_seed_decides() {
        let jitter = Jitter::Uniform { max_ns: Nanos(1_000) };
        assert_eq!(draws(jitter, 1), draws(jitter, 1));
        assert_ne!(draws(jitter, 1), draws(jitter, 2));
    }

    #[test]
    fn shapes_have_their_means() {
        let uniform = draws(Jitter::Uniform { max_ns: Nanos(1_000) }, 3);
        assert!((mean(&uniform) - 500.0).abs() < 5.0);
        assert_eq!(uniform.iter().max(), Some(&1_000));
        let exponential = draws(Jitter::Exponential { mean_ns: Nanos(1_000) }, 3);
        assert!((mean(&exponential) - 1_000.0).abs() < 20.0);
        // The mean of the absolute value of a normal deviate is sd * sqrt(2 / pi).
        let normal = draws(Jitter::Normal { sd_ns: Nanos(1_000) }, 3);
        assert!((mean(&normal) - 797.9).abs() < 15.0);
    }

    #[test]
    fn none_and_zero_are_nothing() {
        for jitter in
            [Jitter::None, Jitter::Exponential { mean_ns: Nanos(0) }, Jitter::Uniform { max_ns: Nanos(0) }]
        {
            assert!(draws(jitter, 1).iter().all(|ns| *ns == 0));
        }
    }
}
