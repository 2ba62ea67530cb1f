//! The requester's line: open, dial, greet, choose a GID, take a place, send the plan, connect, measure every size, collect.
//!
//! Whatever happens, a [`RunRecord`] comes of it: complete, or with the stage and cause of its failure and the points that
//! were measured before.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use schema::{
    Bytes, EncodedHistogram, Fabric, LatencyKind, LatencySummary, Nanos, Outcome, Point, RunRecord, RunSpec,
    Side, Stage, Stop, Test, record::DataCheck,
};

use super::{
    endpoint::Endpoint,
    preflight,
    station::{Placement, Station},
};
use crate::{
    connect::{
        ConnectError, Frames, Message, Offer,
        auth::{self, Token},
        socket,
    },
    engine::{
        Halt,
        bandwidth::{End, Measured, Phases},
        kept::Kept,
        latency::{self, Samples},
        layout::Layout,
        pattern,
        recorder::Recorder,
        watch::Watch,
    },
    fault::{At, Fault},
};

const SIDE: Side = Side::Requester;
/// The peer pins, calibrates and allocates before it answers the plan.
const SETUP_TIMEOUT: Duration = Duration::from_secs(9);
/// A short answer that needs no work.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// What the slowest host touches, fills or compares a second.
const MEMORY_BYTES_PER_SEC: u64 = 128 << 20;
/// After a failure here, the peer may still say what it saw.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Measures; `progress` is told what is about to be measured, between the points and never during one.
pub fn run(spec: &RunSpec, peer: &str, token: Option<&Token>, progress: &dyn Fn(&str)) -> RunRecord {
    let begun = Instant::now();
    let mut record = empty_record(spec);
    record.outcome = match attempt(spec, peer, token, progress, &mut record) {
        Ok(()) => Outcome::Completed,
        Err(fault) => fault.outcome(),
    };
    record.wall_ns = Nanos(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    record
}

/// The record of a run whose responder never came up.
pub fn not_started(spec: &RunSpec, fault: &Fault) -> RunRecord {
    RunRecord { outcome: fault.outcome(), ..empty_record(spec) }
}

fn empty_record(spec: &RunSpec) -> RunRecord {
    let fabric = if spec.requester.device == "soft" { Fabric::Soft } else { Fabric::Verbs };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Completed is set only when everything was measured; until then the record says the worst.
    let outcome = Fault::new(Stage::Launch, SIDE, "the run did not end").outcome();
    RunRecord::start(spec.clone(), fabric, u64::try_from(now.as_millis()).unwrap_or(u64::MAX), outcome)
}

fn attempt(
    spec: &RunSpec,
    peer: &str,
    token: Option<&Token>,
    progress: &dyn Fn(&str),
    record: &mut RunRecord,
) -> Result<(), Fault> {
    let mut station = Station::open(SIDE, spec, spec.requester.clone())?;
    let stream = socket::dial(peer).at(Stage::Handshake, SIDE)?;
    let addresses = stream.peer_addr().and_then(|peer| Ok((peer.ip(), stream.local_addr()?.ip())));
    let (peer_ip, local_ip) = addresses.at(Stage::Handshake, SIDE)?;
    let mut frames = Frames::new(stream);
    auth::greet_responder(&mut frames, token).map_err(|error| from_peer(error, Stage::Handshake))?;
    station.choose_gid(peer_ip, local_ip, None).map_err(|fault| tell(&mut frames, fault))?;
    let place = station.place(&[]).map_err(|fault| tell(&mut frames, fault))?;
    let mut run = Run { spec, frames, station, record, progress };
    run.connect_and_measure(place).map_err(|fault| tell(&mut run.frames, fault))
}

/// A fault of the peer stays the peer's; any other error of the conversation is ours.
fn from_peer(error: ConnectError, stage: Stage) -> Fault {
    match error {
        ConnectError::Peer(fault) => fault,
        other => Fault::new(stage, SIDE, other),
    }
}

/// Carries our fault to the peer, so that its side reports it too.
fn tell(frames: &mut Frames, fault: Fault) -> Fault {
    if fault.side == SIDE {
        // The peer may be the reason and gone; its absence adds nothing.
        let _ = frames.send(&Message::Fault(fault.clone()));
    }
    fault
}

struct Run<'a> {
    spec: &'a RunSpec,
    frames: Frames,
    station: Station,
    record: &'a mut RunRecord,
    progress: &'a dyn Fn(&str),
}

impl Run<'_> {
    fn connect_and_measure(&mut self, place: Placement) -> Result<(), Fault> {
        let party = self.station.party(place.cpu());
        self.send(&Message::Plan(Box::new((self.spec.clone(), party.clone()))), Stage::Handshake)?;
        let offer =
            match self.receive("the responder's offer", self.with_memory(SETUP_TIMEOUT), Stage::Setup)? {
                Message::Offer(offer) => *offer,
                other => return Err(out_of_turn(&other, Stage::Setup)),
            };
        preflight::path_mtu(offer.path_mtu, self.station.port()).at(Stage::Preflight, SIDE)?;
        let mut endpoint = self.station.build(self.spec, &place)?;
        self.station.connect(&mut endpoint, self.spec, &offer)?;
        let path = self.station.path(offer.path_mtu, offer.outstanding_reads);
        let ours = endpoint.offer(party, &path);
        self.send(&Message::Offer(Box::new(ours)), Stage::Connect)?;
        self.expect("connected", SETUP_TIMEOUT, Stage::Connect)?;
        self.record.granted = Some(endpoint.granted(self.spec, &path));
        let mut cpus_seen = Vec::new();
        let measured = self.measure_all(&mut endpoint, &offer, &place, &mut cpus_seen);
        let collected = measured.and_then(|()| self.collect());
        self.record.requester = Some(self.station.record(place, &endpoint, &cpus_seen));
        collected
    }

    fn measure_all(
        &mut self,
        endpoint: &mut Endpoint,
        offer: &Offer,
        place: &Placement,
        cpus_seen: &mut Vec<u32>,
    ) -> Result<(), Fault> {
        for (index, &size) in self.spec.msg_bytes.iter().enumerate() {
            (self.progress)(&format!(
                "{} {} {size} ({} of {})",
                self.spec.op,
                self.spec.test,
                index + 1,
                self.spec.msg_bytes.len()
            ));
            let point = self.measure_point(endpoint, offer, place, index as u32, size, cpus_seen)?;
            self.record.points.push(point);
        }
        Ok(())
    }

    fn measure_point(
        &mut self,
        endpoint: &mut Endpoint,
        offer: &Offer,
        place: &Placement,
        index: u32,
        size: Bytes,
        cpus_seen: &mut Vec<u32>,
    ) -> Result<Point, Fault> {
        pattern::fill(endpoint.source(), 0);
        endpoint.target().fill(0);
        self.send(&Message::Prepare(index), Stage::Verify)?;
        self.expect("prepared", self.with_memory(ANSWER_TIMEOUT), Stage::Verify)?;
        let data_check = match self.spec.data_check {
            true => Some(self.check_data(endpoint, offer, place, size)?),
            false => None,
        };
        self.send(&Message::Start, Stage::WarmUp)?;
        self.expect("started", ANSWER_TIMEOUT, Stage::WarmUp)?;
        let point = match self.spec.test {
            Test::Bandwidth => self.bandwidth(endpoint, offer, place, size, data_check, cpus_seen)?,
            Test::Latency => self.latency(endpoint, offer, place, size, data_check, cpus_seen)?,
        };
        self.send(&Message::Stop, Stage::Drain)?;
        self.expect("stopped", ANSWER_TIMEOUT, Stage::Drain)?;
        Ok(point)
    }

    /// Writes every slot once and has the responder compare every byte.
    fn check_data(
        &mut self,
        endpoint: &Endpoint,
        offer: &Offer,
        place: &Placement,
        size: Bytes,
    ) -> Result<DataCheck, Fault> {
        let mut watch =
            Watch::new(Some(self.frames.stream()), SIDE, Stage::Verify, place.scale(), self.spec.deadline_ns);
        let mut bandwidth = endpoint.bandwidth(self.spec, size, &offer.region, place.clock());
        let written = bandwidth.send_each_slot_once(None, &mut watch);
        written.map_err(|halt| self.explain(halt, Stage::Verify))?;
        self.send(&Message::Check, Stage::Verify)?;
        let check =
            match self.receive("the check of the data", self.with_memory(SETUP_TIMEOUT), Stage::Verify)? {
                Message::Checked(check) => check,
                other => return Err(out_of_turn(&other, Stage::Verify)),
            };
        if check.wrong_bytes.get() > 0 {
            let cause = format!(
                "{} of {} bytes did not arrive as they were sent",
                check.wrong_bytes.get(),
                check.checked_bytes.get()
            );
            return Err(Fault::new(Stage::Verify, SIDE, cause)
                .advise("the device, its driver or the memory corrupts data: do not trust it"));
        }
        Ok(check)
    }

    fn bandwidth(
        &mut self,
        endpoint: &Endpoint,
        offer: &Offer,
        place: &Placement,
        size: Bytes,
        data_check: Option<DataCheck>,
        cpus_seen: &mut Vec<u32>,
    ) -> Result<Point, Fault> {
        let mut kept = Kept::new(place.scale(), self.spec.interval_ns, None);
        let mut watch =
            Watch::new(Some(self.frames.stream()), SIDE, Stage::WarmUp, place.scale(), self.spec.deadline_ns);
        let mut bandwidth = endpoint.bandwidth(self.spec, size, &offer.region, place.clock());
        let warm_until = place.clock().source().now() + place.scale().ticks(self.spec.warmup_ns.get());
        let end = match self.spec.stop {
            Stop::DurationNs(duration) => End::At(warm_until + place.scale().ticks(duration.get())),
            Stop::Iterations(count) => End::After(count),
        };
        let phases = Phases { warm_until, end, messages_per_sec: None };
        let measured = bandwidth.measure(phases, None, &mut kept, &mut watch);
        let (stage, _) = watch.place();
        let measured = measured.map_err(|halt| self.explain(halt, stage))?;
        let kept = kept.latency;
        note_cpus(cpus_seen, &kept);
        let seconds = measured.duration(place.scale()).get() as f64 / 1e9;
        let rate = measured.messages as f64 / seconds;
        Ok(Point {
            bandwidth_bits_per_sec: Some(rate * size.get() as f64 * 8.0),
            messages_per_sec: Some(rate),
            ..point(self.spec, size, measured, &kept, LatencyKind::PostToCompletion, data_check)?
        })
    }

    fn latency(
        &mut self,
        endpoint: &Endpoint,
        offer: &Offer,
        place: &Placement,
        size: Bytes,
        data_check: Option<DataCheck>,
        cpus_seen: &mut Vec<u32>,
    ) -> Result<Point, Fault> {
        let recorder = || Recorder::new(place.scale(), self.spec.interval_ns);
        let [mut half, mut completion, mut warm_half, mut warm_completion] =
            [recorder(), recorder(), recorder(), recorder()];
        let mut watch =
            Watch::new(Some(self.frames.stream()), SIDE, Stage::WarmUp, place.scale(), self.spec.deadline_ns);
        let job = endpoint.job(0, self.spec, size, &offer.region);
        let kept = Samples { exchange: &mut half, completion: &mut completion };
        let scrap = Samples { exchange: &mut warm_half, completion: &mut warm_completion };
        // SAFETY: the job's objects live in the endpoint, which outlives the call.
        let measured = unsafe { latency::ping(&job, place.clock(), None, kept, scrap, &mut watch) };
        let (stage, _) = watch.place();
        let measured = measured.map_err(|halt| self.explain(halt, stage))?;
        note_cpus(cpus_seen, &half);
        let (samples, saturated) = completion.samples();
        Ok(Point {
            completion_latency_ns: LatencySummary::of(LatencyKind::PostToCompletion, samples),
            completion_histogram: Some(EncodedHistogram::encode(samples, saturated)),
            ..point(self.spec, size, measured, &half, latency::kind(self.spec.op), data_check)?
        })
    }

    /// Asks for the responder's side of the record.
    fn collect(&mut self) -> Result<(), Fault> {
        self.send(&Message::Finish, Stage::Drain)?;
        match self.receive("the responder's report", ANSWER_TIMEOUT, Stage::Drain)? {
            Message::Report(side) => self.record.responder = Some(*side),
            other => return Err(out_of_turn(&other, Stage::Drain)),
        }
        Ok(())
    }

    /// The peer touches, fills or compares its whole region before it answers.
    fn with_memory(&self, timeout: Duration) -> Duration {
        timeout + Duration::from_secs(Layout::of(self.spec).region_bytes() / MEMORY_BYTES_PER_SEC)
    }

    fn send(&mut self, message: &Message, stage: Stage) -> Result<(), Fault> {
        self.frames.send(message).map_err(|error| from_peer(error, stage))
    }

    fn receive(&mut self, awaited: &'static str, timeout: Duration, stage: Stage) -> Result<Message, Fault> {
        self.frames.receive(awaited, timeout).map_err(|error| from_peer(error, stage))
    }

    /// Receives a message that carries nothing.
    fn expect(&mut self, name: &'static str, timeout: Duration, stage: Stage) -> Result<(), Fault> {
        let message = self.receive(name, timeout, stage)?;
        if message.name() == name { Ok(()) } else { Err(out_of_turn(&message, stage)) }
    }

    /// Why a loop halted: our fault with the peer's last words, or the fault the peer sent.
    fn explain(&mut self, halt: Halt, stage: Stage) -> Fault {
        let last_words = self.frames.receive("the peer's last words", LAST_WORDS);
        match (halt, last_words) {
            (Halt::PeerSpoke, Err(ConnectError::Peer(fault))) => fault,
            (Halt::PeerSpoke, Err(error)) => from_peer(error, stage),
            (Halt::PeerSpoke, Ok(message)) => out_of_turn(&message, stage),
            (Halt::Fault(fault), Err(ConnectError::Peer(theirs))) => {
                Fault { cause: format!("{}; the responder says: {theirs}", fault.cause), ..fault }
            }
            (Halt::Fault(fault), Err(ConnectError::Closed { .. })) => {
                Fault { cause: format!("{}; the responder's process is gone", fault.cause), ..fault }
            }
            (Halt::Fault(fault), _) => fault,
        }
    }
}

fn note_cpus(cpus_seen: &mut Vec<u32>, recorder: &Recorder) {
    for &cpu in recorder.cpus_seen() {
        if !cpus_seen.contains(&cpu) {
            cpus_seen.push(cpu);
        }
    }
}

fn point(
    spec: &RunSpec,
    size: Bytes,
    measured: Measured,
    recorder: &Recorder,
    kind: LatencyKind,
    data_check: Option<DataCheck>,
) -> Result<Point, Fault> {
    let (samples, saturated) = recorder.samples();
    let nothing = || {
        Fault::new(Stage::Measure, SIDE, format!("no message of {size} completed in the Measure phase"))
            .advise("the path is slower than the phase is long: give a longer --duration")
    };
    Ok(Point {
        test: spec.test,
        op: spec.op,
        msg_bytes: size,
        messages: measured.messages,
        duration_ns: measured.duration(recorder.scale()),
        bandwidth_bits_per_sec: None,
        messages_per_sec: None,
        latency_ns: LatencySummary::of(kind, samples).ok_or_else(nothing)?,
        histogram: EncodedHistogram::encode(samples, saturated),
        completion_latency_ns: None,
        completion_histogram: None,
        intervals: recorder.intervals().to_vec(),
        data_check,
        reverse: None,
        counts: None,
        pace: None,
        nic_time: None,
    })
}

fn out_of_turn(message: &Message, stage: Stage) -> Fault {
    Fault::new(stage, SIDE, format!("the responder sent `{}` out of turn", message.name()))
        .advise("use the same release on both sides")
}
