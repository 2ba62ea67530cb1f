//! The noise floor of a core: how much time is taken from a loop that wants nothing else.

use schema::{Nanos, record::NoiseFloor};

use crate::clock::{Scale, Ticks};

/// A step this much longer than the loop's own is time taken away, and is counted.
const GAP_NS: u64 = 1_000;
/// Readings that show the loop's own step.
const OWN_STEP_READINGS: u32 = 1_000;

/// Reads the clock without pause for `watch` on the calling thread, and counts what was taken away from it.
///
/// A gap is what a step lasts beyond the loop's own step, so a slow clock is not taken for a noisy core.
pub fn noise_floor<T: Ticks>(clock: T, scale: Scale, watch: Nanos) -> NoiseFloor {
    let own = own_step(clock);
    let threshold = scale.ticks(GAP_NS);
    let length = scale.ticks(watch.get());
    let (mut longest, mut stolen, mut gaps) = (0u64, 0u64, 0u64);
    let start = clock.now();
    let mut last = start;
    while last.saturating_sub(start) < length {
        let now = clock.now();
        let gap = now.saturating_sub(last).saturating_sub(own);
        longest = longest.max(gap);
        if gap > threshold {
            gaps += 1;
            stolen += gap;
        }
        last = now;
    }
    let watched = last.saturating_sub(start);
    NoiseFloor {
        watched_ns: Nanos(scale.ns(watched)),
        max_gap_ns: Nanos(scale.ns(longest)),
        gaps_over_1us: gaps,
        stolen_share: if watched == 0 { 0.0 } else { stolen as f64 / watched as f64 },
    }
}

/// The shortest step between two readings.
fn own_step<T: Ticks>(clock: T) -> u64 {
    let mut last = clock.now();
    let mut shortest = u64::MAX;
    for _ in 0..OWN_STEP_READINGS {
        let now = clock.now();
        shortest = shortest.min(now.saturating_sub(last));
        last = now;
    }
    shortest
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::clock::MonotonicRaw;

    /// Steps of 25 ns, but every `every`th step lasts `gap` ns longer.
    #[derive(Clone, Copy)]
    struct Interrupted<'a> {
        state: &'a Cell<(u64, u64)>,
        every: u64,
        gap: u64,
    }

    impl Ticks for Interrupted<'_> {
        fn now(&self) -> u64 {
            let (reading, mut ns) = self.state.get();
            ns += 25;
            if reading % self.every == self.every - 1 {
                ns += self.gap;
            }
            self.state.set((reading + 1, ns));
            ns
        }
    }

    fn watch(every: u64, gap: u64) -> NoiseFloor {
        let state = Cell::new((0, 0));
        noise_floor(Interrupted { state: &state, every, gap }, Scale::NANOSECONDS, Nanos(10_000_000))
    }

    #[test]
    fn interruptions_of_known_length_are_found() {
        let noise = watch(4_000, 10_000);
        assert_eq!(noise.max_gap_ns, Nanos(10_000));
        let expected = 10_000.0 / (4_000.0 * 25.0 + 10_000.0);
        assert!((noise.stolen_share - expected).abs() < 0.01, "{noise:?}");
        assert!((89..=92).contains(&noise.gaps_over_1us), "{noise:?}");
    }

    #[test]
    fn gaps_of_a_microsecond_or_less_are_seen_but_not_counted() {
        let noise = watch(100, 1_000);
        assert_eq!((noise.max_gap_ns, noise.gaps_over_1us), (Nanos(1_000), 0));
        assert_eq!(noise.stolen_share, 0.0);
    }

    #[test]
    fn a_real_core_is_watched_as_long_as_asked() {
        let noise = noise_floor(MonotonicRaw, Scale::NANOSECONDS, Nanos(2_000_000));
        assert!(noise.watched_ns >= Nanos(2_000_000));
        assert!(
            noise.max_gap_ns <= noise.watched_ns && (0.0..=1.0).contains(&noise.stolen_share),
            "{noise:?}"
        );
    }

    #[test]
    fn no_time_to_watch_is_no_noise() {
        assert_eq!(noise_floor(MonotonicRaw, Scale::NANOSECONDS, Nanos(0)).stolen_share, 0.0);
    }
}
