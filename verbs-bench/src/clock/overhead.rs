//! What one reading of a clock costs, and the smallest step it shows.

use super::tsc::Ticks;

/// Readings a batch averages over: enough that the reading of its ends does not count.
const BATCH: u32 = 64;
/// Batches the median is taken of: an interrupt spoils a few, not half.
const BATCHES: usize = 201;
/// Pairs of readings looked at for the smallest step.
const STEPS: u32 = 20_000;

/// Median cost of one reading, in ticks of the clock itself.
pub(super) fn overhead_ticks<T: Ticks>(clock: T) -> f64 {
    let mut batches: Vec<u64> = (0..BATCHES).map(|_| batch_ticks(clock)).collect();
    batches.sort_unstable();
    batches[BATCHES / 2] as f64 / f64::from(BATCH)
}

fn batch_ticks<T: Ticks>(clock: T) -> u64 {
    let first = clock.now();
    for _ in 1..BATCH {
        std::hint::black_box(clock.now());
    }
    clock.now().saturating_sub(first)
}

/// The smallest step above zero between two readings, in ticks; none if the clock stood still throughout.
pub(super) fn resolution_ticks<T: Ticks>(clock: T) -> Option<u64> {
    let mut last = clock.now();
    let mut smallest = None;
    for _ in 0..STEPS {
        let now = clock.now();
        let step = now.saturating_sub(last);
        if step > 0 && smallest.is_none_or(|least| step < least) {
            smallest = Some(step);
        }
        last = now;
    }
    smallest
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A clock that moves `step` ticks at each reading.
    #[derive(Clone, Copy)]
    struct Stepping<'a>(&'a Cell<u64>, u64);

    impl Ticks for Stepping<'_> {
        fn now(&self) -> u64 {
            self.0.set(self.0.get() + self.1);
            self.0.get()
        }
    }

    #[test]
    fn a_clock_of_known_step_is_measured_exactly() {
        let ticks = Cell::new(0);
        assert_eq!(overhead_ticks(Stepping(&ticks, 25)), 25.0);
        assert_eq!(resolution_ticks(Stepping(&ticks, 25)), Some(25));
    }

    #[test]
    fn a_clock_that_stands_still_has_no_resolution() {
        assert_eq!(resolution_ticks(Stepping(&Cell::new(0), 0)), None);
    }
}
