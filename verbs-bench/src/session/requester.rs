//! The requester's line: open, dial, greet, choose a GID, take a place, send the plan, connect, measure every size, collect.
//!
//! Whatever happens, a [`RunRecord`] comes of it: complete, or with the stage and cause of its failure and the points that
//! were measured before. The plan goes out as soon as this side knows its place, so that both sides calibrate, watch their
//! cores and make their queue pairs at the same time.

use std::{
    net::IpAddr,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use schema::{Fabric, Nanos, Outcome, RunRecord, RunSpec, Side, Stage};

use super::{
    correlate::Correlation,
    crew::Crew,
    hold::Hold,
    join,
    local::LocalResponder,
    measure::{Run, Seen},
    preflight,
    start_up::Beginning,
    station::Station,
    talk::{Talk, fault_of},
};
use crate::{
    connect::{
        Frames, Message,
        auth::{self, Token},
        socket,
    },
    engine::layout::Layout,
    fault::{At, Fault},
};

pub(super) const SIDE: Side = Side::Requester;
/// The peer pins, calibrates and allocates before it answers the plan.
pub(super) const SETUP_TIMEOUT: Duration = Duration::from_secs(9);
/// A short answer that needs no work.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// What the slowest host touches, fills or compares a second.
const MEMORY_BYTES_PER_SEC: u64 = 128 << 20;

/// Where the responder is.
pub enum Peer<'a> {
    /// `verbs-bench serve` somewhere.
    At {
        /// `ADDR:PORT`.
        address: &'a str,
        /// Address the connection comes from; none leaves it to the route.
        source: Option<IpAddr>,
        /// What it was started with.
        token: Option<&'a Token>,
    },
    /// One of our own, which may still be starting.
    Local(&'a mut LocalResponder),
}

/// Measures, and before its first measurement stands ready where it is to `hold`; `progress` is told what is about to be
/// measured, between the points and never during one.
pub fn run(spec: &RunSpec, peer: Peer<'_>, hold: Option<&mut Hold>, progress: &dyn Fn(&str)) -> RunRecord {
    let begun = Instant::now();
    let mut record = empty_record(spec);
    record.outcome = match attempt(spec, peer, hold, progress, &mut record) {
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

/// Dials and greets.
fn reach(peer: Peer<'_>) -> Result<Frames, Fault> {
    let (stream, token) = match peer {
        Peer::At { address, source, token } => (socket::dial(address, source), token),
        Peer::Local(responder) => {
            let address = responder.address()?;
            (socket::dial(&address, None), Some(responder.token()))
        }
    };
    let mut frames = Frames::new(stream.at(Stage::Handshake, SIDE)?);
    auth::greet_responder(&mut frames, token).map_err(|error| fault_of(error, Stage::Handshake, SIDE))?;
    Ok(frames)
}

fn attempt(
    spec: &RunSpec,
    peer: Peer<'_>,
    hold: Option<&mut Hold>,
    progress: &dyn Fn(&str),
    record: &mut RunRecord,
) -> Result<(), Fault> {
    let mut beginning = Beginning::default();
    let mut station = beginning.device(|| Station::open(SIDE, spec, spec.requester.clone()))?;
    let waiting = Instant::now();
    let frames = reach(peer)?;
    beginning.waited_for_peer(waiting);
    let mut talk = Talk::new(frames, SIDE, beginning);
    let done = connect_and_measure(spec, &mut station, &mut talk, hold, progress, record);
    record.start_up = talk.beginning.record();
    done.map_err(|fault| talk.tell(fault))
}

fn connect_and_measure(
    spec: &RunSpec,
    station: &mut Station,
    talk: &mut Talk,
    hold: Option<&mut Hold>,
    progress: &dyn Fn(&str),
    record: &mut RunRecord,
) -> Result<(), Fault> {
    let (peer_ip, local_ip) = talk.addresses().at(Stage::Handshake, SIDE)?;
    station.choose_gid(peer_ip, local_ip, None)?;
    let placed = station.take_place(&[])?;
    let party = station.party(placed.cpus());
    talk.send(&Message::Plan(Box::new((spec.clone(), party.clone()))), Stage::Handshake)?;
    let place = station.settle(placed);
    let mut endpoint = talk.beginning.device(|| station.build(spec, &place))?;
    let timeout = with_memory(spec, SETUP_TIMEOUT);
    let offer = match talk.receive("the responder's offer", timeout, Stage::Setup)? {
        Message::Offer(offer) => *offer,
        other => return Err(talk.out_of_turn(&other, Stage::Setup)),
    };
    preflight::path_mtu(offer.path_mtu, station.port()).at(Stage::Preflight, SIDE)?;
    station.check(&endpoint, spec, &offer)?;
    let path = station.path(offer.path_mtu, offer.outstanding_reads);
    record.granted = Some(endpoint.granted(spec, &path));
    talk.send(&Message::Offer(Box::new(endpoint.offer(party, &path))), Stage::Connect)?;
    let connecting = Instant::now();
    join::enter(&mut endpoint, spec, &path, &offer, station, talk)?;
    talk.beginning.device_took(connecting);
    let mut crew = Crew::new(endpoint, spec, SIDE, offer.region, &place)?;
    talk.expect("connected", SETUP_TIMEOUT, Stage::Connect)?;
    let correlation = match spec.completion_timestamps {
        true => Some(Correlation::begin(station.context(), place.clock()).at(Stage::Setup, SIDE)?),
        false => None,
    };
    let (crew, seen) = (&mut crew, Seen::default());
    let mut run = Run { spec, talk, crew, record, hold, moment: None, progress, correlation, seen };
    let collected = run.measure_all().and_then(|()| collect(run.talk, run.record));
    let seen = run.seen;
    record.requester = Some(station.record(place, crew.endpoint(), &seen));
    collected
}

/// Asks for the responder's side of the record.
fn collect(talk: &mut Talk, record: &mut RunRecord) -> Result<(), Fault> {
    talk.send(&Message::Finish, Stage::Drain)?;
    // It reads its host and watches its core once more first, as it did at the start.
    match talk.receive("report of the responder's side", SETUP_TIMEOUT, Stage::Drain)? {
        Message::Report(side) => record.responder = Some(*side),
        other => return Err(talk.out_of_turn(&other, Stage::Drain)),
    }
    Ok(())
}

/// The peer touches, fills or compares its whole region before it answers.
pub(super) fn with_memory(spec: &RunSpec, timeout: Duration) -> Duration {
    timeout + Duration::from_secs(Layout::of(spec).region_bytes() / MEMORY_BYTES_PER_SEC)
}
