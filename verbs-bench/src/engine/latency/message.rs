//! The ping-pong of messages: sends, and writes with immediate, whose arrival is a receive that completes.
//!
//! The receive that a message used up is given back when the answer is on its way. A thread that sleeps is woken by the
//! receive; its own completions are then seen when it wakes.

use std::marker::PhantomData;

use schema::Wait;

use super::{
    LOST_AFTER,
    exchange::{Exchange, Manner},
    single::Single,
    stamp::Stamp,
};
use crate::{
    clock::{Scale, Ticks},
    engine::{
        Halt, idle::Idle, job::Job, post::Poster, reap::Reaper, receiver::Receiver, recorder::Recorder,
        watch::Watch,
    },
};

/// Empty polls of a requester that may lose messages between two looks at the clock.
const POLLS_PER_LOOK: u32 = 16;

/// One end of the ping-pong.
pub(super) struct Message<'a, P, R, M> {
    single: Single<P, R>,
    receiver: &'a mut Receiver,
    idle: Idle,
    stamp: Stamp,
    turn: u8,
    /// When the peer was last heard of.
    heard: u64,
    patience_ticks: u64,
    polls_per_look: u32,
    manner: PhantomData<M>,
}

impl<'a, P: Poster, R: Reaper, M: Manner> Message<'a, P, R, M> {
    /// One end over the message of `single` and a filled receiver.
    ///
    /// # Safety
    /// The job's memory and its receive queue outlive this.
    pub(super) unsafe fn new(
        job: &Job<'_>,
        scale: Scale,
        single: Single<P, R>,
        receiver: &'a mut Receiver,
    ) -> Self {
        Message {
            single,
            receiver,
            idle: Idle::new(&job.recv_cq, job.spec.wait, scale),
            // SAFETY: as the caller's.
            stamp: unsafe { Stamp::new(job) },
            turn: 0,
            heard: 0,
            patience_ticks: scale.ticks(LOST_AFTER.get()),
            // One empty poll of a sleeper may be a whole sleep.
            polls_per_look: if job.spec.wait == Wait::Poll { POLLS_PER_LOOK } else { 1 },
            manner: PhantomData,
        }
    }

    /// One poll for messages; how many came.
    #[inline(always)]
    fn poll(&mut self, watch: &Watch<'_>) -> Result<i32, Halt> {
        let came = self.receiver.poll();
        if came < 0 { Err(self.receiver.trouble(watch)) } else { Ok(came) }
    }

    /// Gives the used receives back.
    #[inline(always)]
    fn restock(&mut self, watch: &Watch<'_>) -> Result<(), Halt> {
        if self.receiver.restock() < 0 { Err(self.receiver.trouble(watch)) } else { Ok(()) }
    }
}

impl<P: Poster, R: Reaper, M: Manner> Exchange for Message<'_, P, R, M> {
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
        if M::LOSSY {
            self.turn = self.turn.wrapping_add(1);
            self.stamp.write(self.turn);
        }
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
        if M::LOSSY && self.heard == 0 {
            self.heard = asked;
        }
        let mut polls = 0u32;
        loop {
            if self.poll(watch)? > 0 {
                let now = clock.now();
                self.idle.busy();
                // A late answer to an earlier exchange is not this one's.
                let right = !M::LOSSY || self.stamp.read() == self.turn;
                self.restock(watch)?;
                if right {
                    self.heard = now;
                    return Ok(Some(now));
                }
                continue;
            }
            if self.single.owes()
                && let Some(posted) = self.single.reap(watch)?
            {
                completion.add(clock.now() - posted);
            }
            let since = if M::LOSSY { self.heard } else { asked };
            self.idle.empty(clock, since, watch, "answer to a ping")?;
            if M::LOSSY {
                polls += 1;
                if polls == self.polls_per_look {
                    polls = 0;
                    if clock.now() - asked >= self.patience_ticks {
                        return Ok(None);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn reply<T: Ticks>(&mut self, clock: T, watch: &mut Watch<'_>) -> Result<(), Halt> {
        let since = clock.now();
        while self.poll(watch)? == 0 {
            if self.single.owes() {
                self.single.reap(watch)?;
            }
            self.idle.empty(clock, since, watch, "ping")?;
        }
        self.idle.busy();
        if M::PERFTEST {
            self.restock(watch)?;
        }
        if M::LOSSY {
            self.stamp.write(self.stamp.read());
        }
        self.single.post(since, watch)?;
        if !M::PERFTEST {
            self.restock(watch)?;
        }
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
