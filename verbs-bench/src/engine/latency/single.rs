//! The one message of a latency test: posted, always signaled, and its own completions taken in the order of the posts.

use std::sync::atomic::{Ordering, fence};

use crate::{
    clock::Ticks,
    engine::{
        Halt,
        bandwidth::window::Signals,
        job::Job,
        post::{ClassicList, ExtendedList, Kind, Poster, Route},
        reap::{ClassicReaper, ExtendedReaper, Reaper},
        trouble,
        watch::Watch,
    },
};

/// Own messages whose completion may be outstanding; the ring of their post ticks. A power of two.
pub const OUTSTANDING: usize = 16;
/// The one message, signaled.
const ALWAYS: Signals = Signals { first: 0, count: 1 };
/// Empty polls between two looks at the clock where there is nothing else to do.
const POLLS_PER_LOOK: u32 = 64;

/// The message and its completions.
pub(super) struct Single<P, R> {
    poster: P,
    reaper: R,
    posted_at: [u64; OUTSTANDING],
    posted: u64,
    reaped: u64,
}

impl Single<(), ()> {
    /// Through `ibv_post_send` and `ibv_poll_cq`.
    ///
    /// # Safety
    /// As [`Job`] says; the QP is in RTS.
    pub(super) unsafe fn classic<K: Kind>(job: &Job<'_>) -> Single<ClassicList<K>, ClassicReaper> {
        let qp = &job.qps[0];
        // SAFETY: as the caller's.
        unsafe {
            Single::of(
                ClassicList::new(qp.qp, &Route::new(job, 0, qp), 1, 1),
                ClassicReaper::new(job.send_cq.cq, 1),
            )
        }
    }

    /// Through `ibv_wr_*` and `ibv_start_poll`.
    ///
    /// # Safety
    /// As [`Job`] says; the QP is in RTS; QP and send queue are extended.
    pub(super) unsafe fn extended(job: &Job<'_>) -> Single<ExtendedList, ExtendedReaper<false>> {
        let qp = &job.qps[0];
        // SAFETY: as the caller's.
        unsafe {
            Single::of(
                ExtendedList::new(qp.qp_ex, &Route::new(job, 0, qp), 1, 1),
                ExtendedReaper::new(job.send_cq.cq, 1),
            )
        }
    }
}

impl<P, R> Single<P, R> {
    fn of(poster: P, reaper: R) -> Self {
        Single { poster, reaper, posted_at: [0; OUTSTANDING], posted: 0, reaped: 0 }
    }

    /// Messages posted so far.
    pub(super) fn posted(&self) -> u64 {
        self.posted
    }
}

impl<P: Poster, R: Reaper> Single<P, R> {
    /// Whether a completion is still to come.
    #[inline(always)]
    pub(super) fn owes(&self) -> bool {
        self.reaped < self.posted
    }

    /// Whether the ring has room for another post.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.posted - self.reaped < OUTSTANDING as u64
    }

    /// Posts the message; `now` is the tick its completion is counted from.
    #[inline(always)]
    pub(super) fn post(&mut self, now: u64, watch: &Watch<'_>) -> Result<(), Halt> {
        self.posted_at[self.posted as usize & (OUTSTANDING - 1)] = now;
        // What was stored into the message must be there before the device is told of it.
        fence(Ordering::Release);
        let errno = self.poster.post(ALWAYS);
        self.posted += 1;
        if errno == 0 { Ok(()) } else { Err(trouble::post(errno, watch)) }
    }

    /// Takes at most one own completion: the tick it is counted from.
    #[inline(always)]
    pub(super) fn reap(&mut self, watch: &Watch<'_>) -> Result<Option<u64>, Halt> {
        let polled = self.reaper.poll();
        if polled == 0 {
            return Ok(None);
        }
        if polled < 0 {
            return Err(trouble::poll(polled, watch));
        }
        if self.reaper.done(0).is_none() || !self.owes() {
            return Err(trouble::completion(self.reaper.completion(0), watch));
        }
        let posted = self.posted_at[self.reaped as usize & (OUTSTANDING - 1)];
        self.reaped += 1;
        Ok(Some(posted))
    }

    /// Waits for every own completion, with the deadline; `note` is handed how long each took.
    #[inline(never)]
    pub(super) fn settle<T: Ticks>(
        &mut self,
        clock: T,
        mut note: impl FnMut(u64),
        watch: &mut Watch<'_>,
    ) -> Result<(), Halt> {
        let since = clock.now();
        let mut polls = 0;
        while self.owes() {
            if let Some(posted) = self.reap(watch)? {
                note(clock.now() - posted);
                continue;
            }
            polls += 1;
            if polls == POLLS_PER_LOOK {
                polls = 0;
                watch.idle(clock.now(), since, "completion of a message")?;
            }
        }
        Ok(())
    }
}
