//! The two sides of an exchange: the requester's phases and the loop that counts and records, the responder's loop.

use std::convert::Infallible;

use schema::{RunSpec, Stage, Stop};

use crate::{
    clock::Ticks,
    engine::{Halt, bandwidth::Measured, recorder::Recorder, watch::Watch},
    fault::Fault,
};

/// What differs between transports and methods in every exchange.
pub(super) trait Manner {
    /// A message may be lost: exchanges bear a number, and an answer is not awaited for ever.
    const LOSSY: bool;
    /// perftest's method.
    const PERFTEST: bool;
}

/// Names a manner.
macro_rules! manners {
    ($($(#[$doc:meta])* $name:ident: $lossy:literal, $perftest:literal;)+) => {
        $($(#[$doc])* pub(super) struct $name;
        impl Manner for $name {
            const LOSSY: bool = $lossy;
            const PERFTEST: bool = $perftest;
        })+
    };
}

manners! {
    /// rc.
    Reliable: false, false;
    /// uc and ud.
    Unreliable: true, false;
    /// perftest's over rc.
    Perftest: false, true;
    /// perftest's over uc and ud.
    PerftestUnreliable: true, true;
}

/// One way to exchange a message and its answer.
pub(super) trait Exchange {
    /// Whether it follows perftest.
    const PERFTEST: bool;
    /// A sample is the time shifted right by this: 1 halves a round trip.
    const SHIFT: u32;

    /// The requester posts its next message; the tick just before.
    fn ask<T: Ticks>(
        &mut self,
        clock: T,
        completion: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt>;

    /// The requester waits for the answer to what it posted at `asked`: the tick at which it saw it, or none if it is lost.
    fn hear<T: Ticks>(
        &mut self,
        clock: T,
        asked: u64,
        completion: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<Option<u64>, Halt>;

    /// The responder waits for a message and answers it.
    fn reply<T: Ticks>(&mut self, clock: T, watch: &mut Watch<'_>) -> Result<(), Halt>;

    /// Waits for every own completion; `note` is handed how long each took, in ticks.
    fn settle<T: Ticks>(
        &mut self,
        clock: T,
        note: impl FnMut(u64),
        watch: &mut Watch<'_>,
    ) -> Result<(), Halt>;

    /// Messages posted so far.
    fn sent(&self) -> u64;
}

/// Where a requester's samples go.
pub struct Samples<'a> {
    /// Half round trips of a ping-pong, whole ones of reads and atomics.
    pub exchange: &'a mut Recorder,
    /// Post to completion of the own messages of a ping-pong.
    pub completion: &'a mut Recorder,
}

/// When a phase ends.
#[derive(Clone, Copy)]
struct Until {
    tick: u64,
    exchanges: u64,
}

/// What a phase saw.
struct Seen {
    ended: u64,
    answered: u64,
    lost: u64,
}

/// WarmUp, Measure, Drain.
pub(super) fn measure<T: Ticks, E: Exchange>(
    clock: T,
    exchange: &mut E,
    spec: &RunSpec,
    kept: Samples<'_>,
    scrap: Samples<'_>,
    watch: &mut Watch<'_>,
) -> Result<Measured, Halt> {
    let scale = kept.exchange.scale();
    let mut began = clock.now();
    let mut lost_before = 0;
    if !E::PERFTEST && spec.warmup_ns.get() > 0 {
        watch.enter(Stage::WarmUp);
        let until = Until { tick: began + scale.ticks(spec.warmup_ns.get()), exchanges: u64::MAX };
        let warm = run(clock, exchange, until, scrap.exchange, scrap.completion, watch)?;
        (began, lost_before) = (warm.ended, warm.lost);
    }
    exchange.settle(clock, |ticks| scrap.completion.add(ticks), watch)?;
    watch.enter(Stage::Measure);
    let until = match spec.stop {
        Stop::DurationNs(duration) => {
            Until { tick: began + scale.ticks(duration.get()), exchanges: u64::MAX }
        }
        Stop::Iterations(count) => Until { tick: u64::MAX, exchanges: count },
    };
    kept.exchange.start(began, 0);
    kept.completion.start(began, 0);
    let seen = run(clock, exchange, until, kept.exchange, kept.completion, watch)?;
    kept.exchange.finish(seen.ended, seen.answered);
    watch.enter(Stage::Drain);
    exchange.settle(clock, |ticks| kept.completion.add(ticks), watch)?;
    kept.completion.finish(seen.ended, seen.answered);
    Ok(Measured {
        messages: seen.answered,
        began,
        ended: seen.ended,
        sent: exchange.sent(),
        lost: seen.lost + lost_before,
        ..Measured::default()
    })
}

/// The hot loop of the requester.
#[inline(never)]
fn run<T: Ticks, E: Exchange>(
    clock: T,
    exchange: &mut E,
    until: Until,
    samples: &mut Recorder,
    completion: &mut Recorder,
    watch: &mut Watch<'_>,
) -> Result<Seen, Halt> {
    let (mut answered, mut lost) = (0u64, 0u64);
    let mut asked_before = None;
    loop {
        let asked = exchange.ask(clock, completion, watch)?;
        if E::PERFTEST
            && let Some(before) = asked_before.replace(asked)
        {
            samples.add((asked - before) >> E::SHIFT);
        }
        let now = match exchange.hear(clock, asked, completion, watch)? {
            Some(heard) => {
                if !E::PERFTEST {
                    samples.add((heard - asked) >> E::SHIFT);
                }
                answered += 1;
                heard
            }
            None => {
                lost += 1;
                asked_before = None;
                clock.now()
            }
        };
        if samples.interval_over(now) {
            samples.end_interval(now, answered);
            watch.look()?;
        }
        if now >= until.tick || answered + lost >= until.exchanges {
            return Ok(Seen { ended: now, answered, lost });
        }
    }
}

/// The responder: replies until the requester has enough, then waits for its own completions, no longer than the spec's
/// deadline. Returns how many messages it sent.
pub(super) fn reply<T: Ticks, E: Exchange>(
    clock: T,
    exchange: &mut E,
    spec: &RunSpec,
    watch: &mut Watch<'_>,
) -> Result<u64, Halt> {
    match replies(clock, exchange, watch) {
        Err(Halt::PeerSpoke) => {}
        Err(fault) => return Err(fault),
        Ok(never) => match never {},
    }
    let since = clock.now();
    loop {
        match exchange.settle(clock, |_| {}, watch) {
            Ok(()) => return Ok(exchange.sent()),
            // It is still speaking.
            Err(Halt::PeerSpoke) if !watch.has_passed(since, clock.now(), spec.deadline_ns) => {}
            Err(Halt::PeerSpoke) => return Err(unsettled(spec, watch)),
            Err(fault) => return Err(fault),
        }
    }
}

#[cold]
fn unsettled(spec: &RunSpec, watch: &Watch<'_>) -> Halt {
    let (stage, side) = watch.place();
    Fault::new(stage, side, format!("no completion of the last answers for {}", spec.deadline_ns))
        .advise("the device or its driver lost completions: see the kernel log of the driver")
        .into()
}

/// The hot loop of the responder.
#[inline(never)]
fn replies<T: Ticks, E: Exchange>(
    clock: T,
    exchange: &mut E,
    watch: &mut Watch<'_>,
) -> Result<Infallible, Halt> {
    loop {
        exchange.reply(clock, watch)?;
    }
}
