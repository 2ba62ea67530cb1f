//! How long a run took to begin, and what of it was the device's and the peer's.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use schema::{Nanos, record::StartUp};

static MAIN: OnceLock<Instant> = OnceLock::new();

/// Notes that the program begins. What is never noted begins at its first question.
pub fn program_begins() {
    MAIN.get_or_init(Instant::now);
}

/// CLOCK_MONOTONIC of this host, ns.
pub(super) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The times of one run, as they pass.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    device: Duration,
    peer: Duration,
    first_post: Option<Instant>,
    /// How long it stood ready, and the first post after that.
    held: Option<(Duration, Option<Instant>)>,
}

impl Beginning {
    /// Counts a piece of work as the device's.
    pub(super) fn device<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (since, done) = (Instant::now(), work());
        self.device_took(since);
        done
    }

    /// Counts the time since then as the device's.
    pub(super) fn device_took(&mut self, since: Instant) {
        self.device += since.elapsed();
    }

    /// Counts a wait as the peer's; waits after the first post, or after a hold, are not part of the beginning.
    pub(super) fn waited_for_peer(&mut self, since: Instant) {
        if self.first_post.is_none() && self.held.is_none() {
            self.peer += since.elapsed();
        }
    }

    /// It stands ready, for so long as it knows by now.
    pub(super) fn held(&mut self, time: Duration) {
        self.held = Some((time, None));
    }

    /// Work requests were posted, the first one now.
    pub(super) fn first_post(&mut self, at: Instant) {
        self.first_post.get_or_insert(at);
        if let Some((_, first_after)) = &mut self.held {
            first_after.get_or_insert(at);
        }
    }

    /// For the record; none before the first post, and the first one after a hold.
    pub(super) fn record(&self) -> Option<StartUp> {
        let first_post = self.first_post?;
        let (held, told) = match self.held {
            None => (None, first_post),
            Some((held, first_after)) => (Some(held), first_after?),
        };
        // A run whose first post came before the hold, to check the data, was not delayed by it.
        let delay = held.filter(|_| told == first_post).unwrap_or_default();
        let main = *MAIN.get_or_init(Instant::now);
        let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        Some(StartUp {
            main_to_first_post_ns: nanos(first_post.saturating_duration_since(main).saturating_sub(delay)),
            device_ns: nanos(self.device),
            peer_ns: nanos(self.peer),
            first_post_monotonic_ns: monotonic_ns().saturating_sub(nanos(told.elapsed()).get()),
            held_ns: held.map(nanos),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_post_ends_the_beginning() {
        program_begins();
        let mut beginning = Beginning::default();
        assert_eq!(beginning.record(), None);
        let since = Instant::now();
        beginning.device(|| std::thread::sleep(Duration::from_millis(2)));
        beginning.waited_for_peer(since);
        let first = Instant::now();
        beginning.first_post(first);
        beginning.first_post(first + Duration::from_secs(9));
        let before = beginning.record().unwrap();
        assert!(before.device_ns >= Nanos(2_000_000) && before.peer_ns >= before.device_ns);
        assert!(before.main_to_first_post_ns < Nanos(9_000_000_000));
        beginning.waited_for_peer(since);
        assert_eq!(beginning.record().unwrap().peer_ns, before.peer_ns);
    }

    #[test]
    fn a_hold_is_told_beside_the_beginning_and_moves_the_first_post() {
        program_begins();
        let hold = Duration::from_secs(3_600);
        let (began, after) = (Instant::now(), Instant::now() + hold);
        let mut checked = Beginning::default();
        checked.first_post(began);
        let alone = checked.record().unwrap();
        checked.held(hold);
        assert_eq!(checked.record(), None, "nothing was posted since");
        checked.first_post(after);
        checked.first_post(after + hold);
        let mut unchecked = Beginning::default();
        unchecked.held(hold);
        unchecked.first_post(after);
        for held in [checked.record().unwrap(), unchecked.record().unwrap()] {
            assert_eq!(held.held_ns, Some(Nanos(hold.as_nanos() as u64)));
            assert!(held.main_to_first_post_ns < Nanos(hold.as_nanos() as u64), "{held:?}");
        }
        assert_eq!(checked.record().unwrap().main_to_first_post_ns, alone.main_to_first_post_ns);
        assert_eq!(alone.held_ns, None);
    }
}
