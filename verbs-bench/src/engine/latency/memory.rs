//! The ping-pong of writes: each side polls the last byte of its own target, so relaxed ordering must be off.
//!
//! Every message bears the number of its exchange there. The responder answers whatever number is new with the same.

use std::marker::PhantomData;

use super::{
    LOST_AFTER,
    exchange::{Exchange, Manner},
    single::Single,
    stamp::Stamp,
};
use crate::{
    clock::{Scale, Ticks},
    engine::{Halt, job::Job, post::Poster, reap::Reaper, recorder::Recorder, watch::Watch},
};

/// Loads of the polled byte between two polls of the completion queue. On the software NIC the poll also moves the link.
const SPINS_PER_POLL: u32 = 16;
/// Completion polls between two looks at the clock.
const POLLS_PER_LOOK: u32 = 64;

/// One end of the ping-pong.
pub(super) struct Memory<P, R, M> {
    single: Single<P, R>,
    stamp: Stamp,
    /// The number of the exchange: the requester's own, the one the responder saw last.
    turn: u8,
    /// When the peer was last heard of.
    heard: u64,
    patience_ticks: u64,
    manner: PhantomData<M>,
}

impl<P: Poster, R: Reaper, M: Manner> Memory<P, R, M> {
    /// One end over the message of `single`.
    ///
    /// # Safety
    /// The job's memory outlives this.
    pub(super) unsafe fn new(job: &Job<'_>, scale: Scale, single: Single<P, R>) -> Self {
        Memory {
            single,
            // SAFETY: as the caller's.
            stamp: unsafe { Stamp::new(job) },
            turn: 0,
            heard: 0,
            patience_ticks: scale.ticks(LOST_AFTER.get()),
            manner: PhantomData,
        }
    }

    /// Spins until `landed` says so, taking own completions meanwhile; false where that took longer than the patience.
    #[inline(always)]
    fn spin<T: Ticks>(
        &mut self,
        clock: T,
        since: u64,
        impatient: bool,
        landed: impl Fn(u8) -> bool,
        mut note: impl FnMut(u64),
        (watch, awaited): (&mut Watch<'_>, &str),
    ) -> Result<bool, Halt> {
        let (mut spins, mut polls) = (0u32, 0u32);
        while !landed(self.stamp.read()) {
            spins += 1;
            if spins < SPINS_PER_POLL {
                continue;
            }
            spins = 0;
            if let Some(posted) = self.single.reap(watch)? {
                note(clock.now() - posted);
            }
            polls += 1;
            if polls == POLLS_PER_LOOK {
                polls = 0;
                let now = clock.now();
                watch.idle(now, if impatient { self.heard } else { since }, awaited)?;
                if impatient && now - since >= self.patience_ticks {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

impl<P: Poster, R: Reaper, M: Manner> Exchange for Memory<P, R, M> {
    const PERFTEST: bool = M::PERFTEST;
    const SHIFT: u32 = 1;

    #[inline(always)]
    fn ask<T: Ticks>(
        &mut self,
        clock: T,
        completion: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt> {
        if !self.single.has_room() {
            self.settle(clock, |ticks| completion.add(ticks), watch)?;
        }
        self.turn = self.turn.wrapping_add(1);
        self.stamp.write(self.turn);
        let now = clock.now();
        self.single.post(now, watch)?;
        if M::PERFTEST {
            self.settle(clock, |ticks| completion.add(ticks), watch)?;
        }
        Ok(now)
    }

    #[inline(always)]
    fn hear<T: Ticks>(
        &mut self,
        clock: T,
        asked: u64,
        completion: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<Option<u64>, Halt> {
        let turn = self.turn;
        if M::LOSSY && self.heard == 0 {
            self.heard = asked;
        }
        let landed = self.spin(
            clock,
            asked,
            M::LOSSY,
            |seen| seen == turn,
            |ticks| completion.add(ticks),
            (watch, "answer to a ping"),
        )?;
        if !landed {
            return Ok(None);
        }
        let now = clock.now();
        self.heard = now;
        Ok(Some(now))
    }

    #[inline(always)]
    fn reply<T: Ticks>(&mut self, clock: T, watch: &mut Watch<'_>) -> Result<(), Halt> {
        let since = clock.now();
        let before = self.turn;
        self.spin(clock, since, false, |seen| seen != before, |_| {}, (watch, "ping"))?;
        self.turn = self.stamp.read();
        self.stamp.write(self.turn);
        self.single.post(since, watch)?;
        if M::PERFTEST || !self.single.has_room() {
            self.settle(clock, |_| {}, watch)?;
        }
        Ok(())
    }

    fn settle<T: Ticks>(
        &mut self,
        clock: T,
        note: impl FnMut(u64),
        watch: &mut Watch<'_>,
    ) -> Result<(), Halt> {
        self.single.settle(clock, note, watch)
    }

    fn sent(&self) -> u64 {
        self.single.posted()
    }
}
