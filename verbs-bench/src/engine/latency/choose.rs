//! Every choice of a spec, made once, before a loop starts: clock, posting API, manner, method, and the side's role.

use schema::{Compat, Op, PostApi, Transport};

use super::{
    exchange::{self, Exchange, Manner, Perftest, PerftestUnreliable, Reliable, Samples, Unreliable},
    fetch::Fetch,
    memory::Memory,
    message::Message,
    single::Single,
};
use crate::{
    clock::{Clock, MonotonicRaw, Source, Ticks, Tsc},
    engine::{
        Halt,
        bandwidth::Measured,
        job::Job,
        post::{Moving, Poster, Preset},
        reap::Reaper,
        receiver::Receiver,
        watch::Watch,
    },
    fault::Fault,
};

/// One side's part, compiled for each way of exchange.
pub(super) trait Role {
    /// What it brings home.
    type Outcome;

    /// Plays it to its end.
    fn play<T: Ticks, E: Exchange>(
        self,
        clock: T,
        exchange: &mut E,
        job: &Job<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Self::Outcome, Halt>;
}

/// The requester.
pub(super) struct Ping<'a> {
    pub(super) kept: Samples<'a>,
    pub(super) scrap: Samples<'a>,
}

impl Role for Ping<'_> {
    type Outcome = Measured;

    fn play<T: Ticks, E: Exchange>(
        self,
        clock: T,
        exchange: &mut E,
        job: &Job<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Measured, Halt> {
        exchange::measure(clock, exchange, job.spec, self.kept, self.scrap, watch)
    }
}

/// The responder.
pub(super) struct Pong;

impl Role for Pong {
    type Outcome = u64;

    fn play<T: Ticks, E: Exchange>(
        self,
        clock: T,
        exchange: &mut E,
        job: &Job<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt> {
        exchange::reply(clock, exchange, job.spec, watch)
    }
}

/// What all choices are made for.
struct Table<'a, 'job, 'watch, R> {
    job: &'a Job<'job>,
    clock: &'a Clock,
    receiver: Option<&'a mut Receiver>,
    watch: &'a mut Watch<'watch>,
    role: R,
}

/// Plays the role as the spec says.
///
/// # Safety
/// As [`Job`] says; the QP is in RTS.
pub(super) unsafe fn choose<R: Role>(
    job: &Job<'_>,
    clock: &Clock,
    receiver: Option<&mut Receiver>,
    watch: &mut Watch<'_>,
    role: R,
) -> Result<R::Outcome, Halt> {
    let table = Table { job, clock, receiver, watch, role };
    // SAFETY: as the caller's.
    unsafe {
        match clock.source() {
            Source::Tsc => table.with_clock(Tsc),
            Source::MonotonicRaw => table.with_clock(MonotonicRaw),
        }
    }
}

impl<R: Role> Table<'_, '_, '_, R> {
    /// # Safety
    /// As [`choose`], here and below.
    unsafe fn with_clock<T: Ticks>(self, clock: T) -> Result<R::Outcome, Halt> {
        let job = self.job;
        let numbered = matches!(job.spec.op, Op::WriteImm | Op::CompareSwap);
        // SAFETY: as the caller's.
        unsafe {
            match job.spec.post_api {
                PostApi::Classic if numbered => self.with_single(clock, Single::classic::<Moving>(job)),
                PostApi::Classic => self.with_single(clock, Single::classic::<Preset>(job)),
                PostApi::Extended => self.with_single(clock, Single::extended(job)),
            }
        }
    }

    unsafe fn with_single<T: Ticks, P: Poster, A: Reaper>(
        self,
        clock: T,
        single: Single<P, A>,
    ) -> Result<R::Outcome, Halt> {
        let reliable = self.job.spec.transport == Transport::Rc;
        // SAFETY: as the caller's.
        unsafe {
            match (self.job.spec.compat, reliable) {
                (Compat::None, true) => self.with_manner::<_, _, _, Reliable>(clock, single),
                (Compat::None, false) => self.with_manner::<_, _, _, Unreliable>(clock, single),
                (Compat::Perftest, true) => self.with_manner::<_, _, _, Perftest>(clock, single),
                (Compat::Perftest, false) => self.with_manner::<_, _, _, PerftestUnreliable>(clock, single),
            }
        }
    }

    unsafe fn with_manner<T: Ticks, P: Poster, A: Reaper, M: Manner>(
        self,
        clock: T,
        single: Single<P, A>,
    ) -> Result<R::Outcome, Halt> {
        let Table { job, clock: whole, receiver, watch, role } = self;
        let scale = whole.scale();
        match job.spec.op {
            Op::Write => {
                // SAFETY: as the caller's.
                let mut memory = unsafe { Memory::<_, _, M>::new(job, scale, single) };
                role.play(clock, &mut memory, job, watch)
            }
            Op::Send | Op::WriteImm => {
                let receiver = receiver.ok_or_else(|| no_receiver(watch))?;
                // SAFETY: as the caller's.
                let mut message = unsafe { Message::<_, _, M>::new(job, scale, single, receiver) };
                role.play(clock, &mut message, job, watch)
            }
            Op::Read | Op::FetchAdd | Op::CompareSwap => {
                let mut fetch = Fetch::<_, _, M>::new(job, scale, single);
                role.play(clock, &mut fetch, job, watch)
            }
        }
    }
}

#[cold]
fn no_receiver(watch: &Watch<'_>) -> Halt {
    let (stage, side) = watch.place();
    Fault::new(stage, side, "the latency test of messages was started without receives").into()
}
