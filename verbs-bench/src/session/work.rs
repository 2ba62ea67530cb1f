//! What one worker thread does for an order: send, receive, answer. The only file of this room that starts a loop.

use std::time::Instant;

use schema::{Compat, Nanos, Side, Stage, Stop, Test};

use super::{duty::Duty, floor::Floor, with_ticks};
use crate::{
    clock::Clock,
    connect::Work,
    engine::{
        Halt,
        bandwidth::{Bandwidth, End, Measured, Phases},
        job::Job,
        kept::{DeviceLine, Kept},
        latency::{self, Samples},
        pattern::Arrived,
        receiver::Receiver,
        recorder::Recorder,
        watch::Watch,
    },
    placement,
};

/// Messages that were acknowledged are there; an unreliable one that has not come by now is lost.
const LATE_ARRIVALS: Nanos = Nanos(100_000_000);

/// What a worker is given.
pub(super) struct Post<'a> {
    /// Its number.
    pub(super) thread: usize,
    /// Its side.
    pub(super) side: Side,
    /// What its loop works on.
    pub(super) job: Job<'a>,
    /// Its receive queues, where it has any.
    pub(super) receiver: Option<&'a mut Receiver>,
    /// The device's clock as a line in ours, where completions carry its time.
    pub(super) line: Option<DeviceLine>,
}

// SAFETY: the pointers are those of the job, whose maker (the crew) gives each thread its own for the length of a shift.
unsafe impl Send for Post<'_> {}

/// What a worker brings back.
pub(super) struct Output {
    /// What its Measure phase saw; none for another order.
    pub(super) measured: Option<Measured>,
    /// Its samples.
    pub(super) kept: Option<Kept>,
    /// Latency test: post to completion of its own messages.
    pub(super) completion: Option<Recorder>,
    /// Messages it sent on each of its QPs.
    pub(super) sent: Vec<u64>,
    /// Messages that came on each of its QPs; empty where it receives nothing.
    pub(super) arrived: Vec<Arrived>,
    /// Involuntary context switches meanwhile.
    pub(super) switches: Option<u64>,
    /// Just before its first post.
    pub(super) began: Instant,
}

/// Works on an order.
pub(super) fn perform(
    mut post: Post<'_>,
    duty: Duty,
    work: &Work,
    clock: &Clock,
    floor: &Floor,
) -> Result<Output, Halt> {
    let switches = placement::involuntary_switches();
    let before = by_qp(post.receiver.as_deref());
    let mut output = match duty {
        Duty::Wait | Duty::Receive => Output::nothing(),
        Duty::Answer => answer(&mut post, clock, floor)?,
        Duty::Send => {
            let output = send(&mut post, work, clock, floor)?;
            floor.has_sent(post.thread, output.sent.clone());
            output
        }
    };
    if let Some(receiver) = post.receiver.as_deref_mut() {
        receive_the_rest(receiver, &post.job, post.side, &before, clock, floor)?;
    }
    let after = by_qp(post.receiver.as_deref());
    let arrived = before.iter().zip(after);
    output.arrived = arrived.map(|(&before, after)| Arrived { before, messages: after - before }).collect();
    output.switches = placement::involuntary_switches().zip(switches).map(|(after, before)| after - before);
    Ok(output)
}

impl Output {
    fn nothing() -> Output {
        Output {
            measured: None,
            kept: None,
            completion: None,
            sent: Vec::new(),
            arrived: Vec::new(),
            switches: None,
            began: Instant::now(),
        }
    }
}

fn by_qp(receiver: Option<&Receiver>) -> Vec<u64> {
    receiver.map_or_else(Vec::new, |receiver| receiver.received_by_qp().map(|(_, count)| count).collect())
}

fn send(post: &mut Post<'_>, work: &Work, clock: &Clock, floor: &Floor) -> Result<Output, Halt> {
    let spec = post.job.spec;
    let stage = match work {
        Work::Check { .. } => Stage::Verify,
        Work::Measure { .. } => Stage::WarmUp,
    };
    let mut watch = Watch::new(Some(floor.abort_flag()), post.side, stage, clock.scale(), spec.deadline_ns);
    match (*work, spec.test) {
        (Work::Check { .. }, _) => {
            // SAFETY: the job is this thread's for as long as the loop lives.
            let mut sender = unsafe { Bandwidth::new(&post.job, clock) };
            let began = Instant::now();
            sender.send_each_slot_once(post.receiver.as_deref_mut(), &mut watch)?;
            Ok(Output { sent: sender.sent_per_qp(), began, ..Output::nothing() })
        }
        (Work::Measure { stop, messages_per_sec }, Test::Bandwidth) => {
            // SAFETY: the job is this thread's for as long as the loop lives.
            let mut sender = unsafe { Bandwidth::new(&post.job, clock) };
            let mut kept = Kept::new(clock.scale(), spec.interval_ns, post.line);
            if spec.threads > 1 {
                kept.latency.keep_windows();
            }
            floor.await_moment()?;
            let start = floor.line_up(|| clock.source().now())?;
            let phases = phases(post, stop, messages_per_sec, start, clock);
            let began = Instant::now();
            let measured = sender.measure(phases, post.receiver.as_deref_mut(), &mut kept, &mut watch)?;
            Ok(Output {
                measured: Some(measured),
                kept: Some(kept),
                sent: sender.sent_per_qp(),
                began,
                ..Output::nothing()
            })
        }
        (Work::Measure { .. }, Test::Latency) => ping(post, clock, floor, &mut watch),
    }
}

/// This thread's part of the window that all share.
fn phases(post: &Post<'_>, stop: Stop, rate: Option<f64>, start: u64, clock: &Clock) -> Phases {
    let spec = post.job.spec;
    let (scale, threads) = (clock.scale(), u64::from(spec.threads));
    let warm_until = match spec.compat {
        Compat::None => start + scale.ticks(spec.warmup_ns.get()),
        // perftest has no WarmUp.
        Compat::Perftest => start,
    };
    let end = match stop {
        Stop::DurationNs(duration) => End::At(warm_until + scale.ticks(duration.get())),
        Stop::Iterations(count) => {
            End::After(count / threads + u64::from((post.thread as u64) < count % threads))
        }
    };
    Phases { warm_until, end, messages_per_sec: rate.map(|rate| rate / threads as f64) }
}

fn ping(post: &mut Post<'_>, clock: &Clock, floor: &Floor, watch: &mut Watch<'_>) -> Result<Output, Halt> {
    let spec = post.job.spec;
    let recorder = || Recorder::new(clock.scale(), spec.interval_ns);
    let mut kept = Kept::new(clock.scale(), spec.interval_ns, None);
    let [mut completion, mut warm, mut warm_completion] = [recorder(), recorder(), recorder()];
    let samples = Samples { exchange: &mut kept.latency, completion: &mut completion };
    let scrap = Samples { exchange: &mut warm, completion: &mut warm_completion };
    floor.await_moment()?;
    let began = Instant::now();
    let receiver = post.receiver.as_deref_mut();
    // SAFETY: the job is this thread's for as long as the call lasts.
    let measured = unsafe { latency::ping(&post.job, clock, receiver, samples, scrap, watch) }?;
    Ok(Output {
        sent: vec![measured.sent],
        measured: Some(measured),
        kept: Some(kept),
        completion: Some(completion),
        began,
        ..Output::nothing()
    })
}

/// Answers until the requester has enough.
fn answer(post: &mut Post<'_>, clock: &Clock, floor: &Floor) -> Result<Output, Halt> {
    let mut watch = patient(floor, post.side, clock);
    // SAFETY: the job is this thread's for as long as the call lasts.
    let sent = unsafe { latency::pong(&post.job, clock, post.receiver.as_deref_mut(), &mut watch) }?;
    Ok(Output { sent: vec![sent], ..Output::nothing() })
}

/// For one who is served: its deadline is the sender's, who would tell; the end comes from the foreman.
fn patient<'f>(floor: &'f Floor, side: Side, clock: &Clock) -> Watch<'f> {
    Watch::new(Some(floor.over_flag()), side, Stage::Measure, clock.scale(), Nanos(u64::MAX))
}

/// Receives until the peer has sent its last message and all that is not lost has come.
fn receive_the_rest(
    receiver: &mut Receiver,
    job: &Job<'_>,
    side: Side,
    before: &[u64],
    clock: &Clock,
    floor: &Floor,
) -> Result<(), Halt> {
    let mut watch = patient(floor, side, clock);
    match with_ticks!(clock, |ticks| receiver.serve(ticks, &mut watch)) {
        Ok(()) | Err(Halt::PeerSpoke) => {}
        Err(fault) => return Err(fault),
    }
    let first = job.qps.first().map_or(0, |qp| qp.index as usize);
    let Some(sent) = floor.peer_sent(first, job.qps.len()) else { return Err(Halt::PeerSpoke) };
    let total = before.iter().sum::<u64>() + sent;
    let mut watch =
        Watch::new(Some(floor.abort_flag()), side, Stage::Drain, clock.scale(), job.spec.deadline_ns);
    with_ticks!(clock, |ticks| receiver.catch_up(ticks, total, LATE_ARRIVALS, &mut watch)).map(|_| ())
}
