//! Reads and atomics: the completion of the one message is its answer. The responder's CPU has no part in it.

use std::marker::PhantomData;

use super::{
    exchange::{Exchange, Manner},
    single::Single,
};
use crate::{
    clock::{Scale, Ticks},
    engine::{Halt, idle::Idle, job::Job, post::Poster, reap::Reaper, recorder::Recorder, watch::Watch},
    fault::Fault,
};

/// The requester.
pub(super) struct Fetch<P, R, M> {
    single: Single<P, R>,
    idle: Idle,
    manner: PhantomData<M>,
}

impl<P: Poster, R: Reaper, M: Manner> Fetch<P, R, M> {
    /// The requester of the message of `single`.
    pub(super) fn new(job: &Job<'_>, scale: Scale, single: Single<P, R>) -> Self {
        Fetch { single, idle: Idle::new(&job.send_cq, job.spec.wait, scale), manner: PhantomData }
    }
}

impl<P: Poster, R: Reaper, M: Manner> Exchange for Fetch<P, R, M> {
    const PERFTEST: bool = M::PERFTEST;
    const SHIFT: u32 = 0;

    #[inline(always)]
    fn ask<T: Ticks>(
        &mut self,
        clock: T,
        _completion: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt> {
        let now = clock.now();
        self.single.post(now, watch)?;
        Ok(now)
    }

    #[inline(always)]
    fn hear<T: Ticks>(
        &mut self,
        clock: T,
        asked: u64,
        _completion: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<Option<u64>, Halt> {
        while self.single.reap(watch)?.is_none() {
            self.idle.empty(clock, asked, watch, "completion")?;
        }
        self.idle.busy();
        Ok(Some(clock.now()))
    }

    #[cold]
    fn reply<T: Ticks>(&mut self, _clock: T, watch: &mut Watch<'_>) -> Result<(), Halt> {
        let (stage, side) = watch.place();
        Err(Fault::new(stage, side, "reads and atomics are not answered by the responder's program").into())
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
