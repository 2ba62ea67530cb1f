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

/// The times of one run, as they pass.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    device: Duration,
    peer: Duration,
    first_post: Option<Instant>,
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

    /// Counts a wait as the peer's; waits after the first post are not part of the beginning.
    pub(super) fn waited_for_peer(&mut self, since: Instant) {
        if self.first_post.is_none() {
            self.peer += since.elapsed();
        }
    }

    /// The first work request was posted.
    pub(super) fn first_post(&mut self, at: Instant) {
        self.first_post.get_or_insert(at);
    }

    /// For the record; none before the first post.
    pub(super) fn record(&self) -> Option<StartUp> {
        let first_post = self.first_post?;
        let main = *MAIN.get_or_init(Instant::now);
        let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        Some(StartUp {
            main_to_first_post_ns: nanos(first_post.saturating_duration_since(main)),
            device_ns: nanos(self.device),
            peer_ns: nanos(self.peer),
            first_post_monotonic_ns: now_ns.saturating_sub(nanos(first_post.elapsed()).get()),
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
}
