//! When the next message is due: whenever there is room, or by a schedule kept in ticks.
//!
//! A schedule is a table of gaps that repeats, made before the loop: one gap for fixed arrivals, many for Poisson ones. Time
//! is kept with 16 bits of fraction, so that a rate whose gap is no whole number of ticks does not drift.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::Exp1;
use schema::Arrivals;

use crate::clock::Scale;

/// Fraction bits of a tick.
const FRACTION: u32 = 16;
/// Gaps of a Poisson schedule before it repeats; a power of two.
const GAPS: usize = 1 << 16;

/// When messages are due.
pub trait Pace {
    /// Whether the loop must ask at all.
    const SCHEDULED: bool;

    /// When the next message is due, in ticks.
    fn due(&self) -> u64;

    /// The message that was due is posted.
    fn advance(&mut self);
}

/// Whenever the window has room.
pub struct Closed;

impl Pace for Closed {
    const SCHEDULED: bool = false;

    #[inline(always)]
    fn due(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn advance(&mut self) {}
}

/// By a schedule.
pub struct Schedule {
    gaps: Box<[u64]>,
    next: usize,
    start: u64,
    /// Since `start`, with fraction.
    elapsed: u64,
}

impl Schedule {
    /// A schedule of this rate, which begins when [`Schedule::start`] says so.
    pub fn new(messages_per_sec: f64, arrivals: Arrivals, seed: u64, scale: Scale) -> Self {
        let gap = scale.ticks_per_sec() / messages_per_sec * f64::from(1u32 << FRACTION);
        let gaps = match arrivals {
            Arrivals::Fixed => vec![gap.round() as u64],
            Arrivals::Poisson => exponential_gaps(gap, seed),
        };
        Schedule { gaps: gaps.into_boxed_slice(), next: 0, start: 0, elapsed: 0 }
    }

    /// The first message is due one gap after `tick`.
    pub fn start(&mut self, tick: u64) {
        (self.start, self.elapsed) = (tick, 0);
        self.advance();
    }
}

/// Exponential gaps whose mean is exactly `mean`.
fn exponential_gaps(mean: f64, seed: u64) -> Vec<u64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let drawn: Vec<f64> = (0..GAPS).map(|_| random.sample(Exp1)).collect();
    let factor = mean * GAPS as f64 / drawn.iter().sum::<f64>();
    drawn.into_iter().map(|gap| (gap * factor).round() as u64).collect()
}

impl Pace for Schedule {
    const SCHEDULED: bool = true;

    #[inline(always)]
    fn due(&self) -> u64 {
        self.start + (self.elapsed >> FRACTION)
    }

    #[inline(always)]
    fn advance(&mut self) {
        self.elapsed += self.gaps[self.next];
        self.next = (self.next + 1) & (self.gaps.len() - 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn times(rate: f64, arrivals: Arrivals, count: usize) -> Vec<u64> {
        let mut schedule = Schedule::new(rate, arrivals, 7, Scale::NANOSECONDS);
        schedule.start(1_000);
        (0..count)
            .map(|_| {
                let due = schedule.due();
                schedule.advance();
                due
            })
            .collect()
    }

    #[test]
    fn a_fixed_schedule_does_not_drift() {
        // 3 million a second: 333.33 ns.
        let times = times(3e6, Arrivals::Fixed, 3_000_001);
        assert_eq!(times[0], 1_333);
        let last = times[3_000_000] - 1_000;
        assert!(last.abs_diff(1_000_000_333) < 30_000, "{last}");
    }

    #[test]
    fn poisson_gaps_have_their_mean_their_spread_and_their_seed() {
        let times = times(1e6, Arrivals::Poisson, GAPS + 1);
        assert!((times[GAPS] - times[0]).abs_diff(GAPS as u64 * 1_000) < 100);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let variance = gaps.iter().map(|gap| (gap - 1_000.0).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / 1_000.0 - 1.0).abs() < 0.03, "{variance}");
        assert_ne!(exponential_gaps(1e6, 1)[..8], exponential_gaps(1e6, 2)[..8]);
    }

    proptest! {
        #[test]
        fn due_times_never_go_back(rate in 1.0f64..5e7, poisson: bool) {
            let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Fixed };
            let times = times(rate, arrivals, 200);
            prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
