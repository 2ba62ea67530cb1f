//! The responder's line: greet, take the plan, open, take a place, connect, and do what each message asks until the end.
//!
//! It knows nothing about the test but what the plan says. Each session runs in a thread of its own, so that its pinning
//! ends with it.

use std::{
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Signal, getpid, kill_process};
use schema::{Nanos, RunSpec, Side, Stage};

use super::{
    agree,
    crew::Crew,
    duty::Duty,
    hold::{MOST_AHEAD, MOST_HELD},
    join::Door,
    measure::Seen,
    merge::merge,
    own::Own,
    point, preflight,
    requester::with_memory,
    round::lasts,
    start_up::Beginning,
    station::Station,
    talk::Talk,
    work::Output,
};
use crate::{
    connect::{
        ConnectError, Frames, Message, Offer, Order, Party, Stopped, Work,
        auth::{self, Token},
        socket,
    },
    fault::{At, Fault},
};

const SIDE: Side = Side::Responder;
/// The requester chooses its GID and its place before it sends the plan.
const PLAN_TIMEOUT: Duration = Duration::from_secs(9);
/// Between two messages of a connected session, beside the time the measurement itself takes.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(20);

/// How a connection ended that did not end well.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// No plan was accepted: a stranger, another release, a wrong token.
    #[error("{0}")]
    BeforePlan(ConnectError),
    /// A session failed; the requester has been told, if it is still there.
    #[error("{0}")]
    InSession(Fault),
}

/// Serves one connection.
pub fn serve(stream: TcpStream, token: Option<&Token>, own: &Own<'_>) -> Result<(), Ended> {
    thread::scope(|scope| {
        let session = thread::Builder::new()
            .name("responder".into())
            .spawn_scoped(scope, || greet_and_serve(stream, token, own));
        match session.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(ended)) => ended,
            Ok(Err(_)) => {
                Err(Ended::InSession(Fault::new(Stage::Setup, SIDE, "the session's thread panicked")))
            }
            Err(error) => {
                Err(Ended::InSession(Fault::new(Stage::Launch, SIDE, format!("starting a thread: {error}"))))
            }
        }
    })
}

fn greet_and_serve(stream: TcpStream, token: Option<&Token>, own: &Own<'_>) -> Result<(), Ended> {
    let mut frames = Frames::new(stream);
    let (spec, party) = greet(&mut frames, token).map_err(|error| {
        // Whoever is there learns why; if nobody is, the error is reported here all the same.
        let _ = frames.send(&Message::Fault(Fault::new(Stage::Handshake, SIDE, &error)));
        Ended::BeforePlan(error)
    })?;
    if let Some(told) = own.told {
        told(&spec);
    }
    let mut talk = Talk::new(frames, SIDE, Beginning::default());
    session(&mut talk, &spec, &party, own).map_err(|fault| Ended::InSession(talk.tell(fault)))
}

fn greet(frames: &mut Frames, token: Option<&Token>) -> Result<(RunSpec, Party), ConnectError> {
    socket::prepare(frames.stream())?;
    auth::greet_requester(frames, token)?;
    match frames.receive("the plan", PLAN_TIMEOUT)? {
        Message::Plan(plan) => Ok(*plan),
        other => Err(ConnectError::OutOfTurn { awaited: "the plan", got: other.name() }),
    }
}

/// The line, from the plan on.
fn session(talk: &mut Talk, spec: &RunSpec, peer: &Party, own: &Own<'_>) -> Result<(), Fault> {
    let refused = |error: String| Fault::new(Stage::Preflight, SIDE, error);
    if let Some(fault) = spec.faults().first() {
        return Err(refused(fault.to_string()));
    }
    let side = own.side(spec, peer.fabric).map_err(refused)?;
    let mut station = Station::open(SIDE, spec, side)?;
    let (peer_ip, local_ip) = talk.addresses().at(Stage::Handshake, SIDE)?;
    station.choose_gid(peer_ip, local_ip, peer.gid)?;
    let path_mtu = spec.path_mtu.unwrap_or_else(|| peer.active_mtu.min(station.port().active_mtu));
    preflight::path_mtu(path_mtu, station.port()).map_err(refused)?;
    let outstanding_reads = agree::outstanding_reads(spec, peer, &station.party(&[])).map_err(refused)?;
    let same_host = station.boot_id().is_some() && station.boot_id() == peer.boot_id;
    let placed = station.take_place(if same_host { &peer.cpus } else { &[] })?;
    let party = station.party(placed.cpus());
    let place = station.settle(placed);
    let mut endpoint = station.build(spec, &place)?;
    let path = station.path(path_mtu, outstanding_reads);
    let door = Door::open(spec, &station, talk)?;
    let offer = Offer { cm: door.offer(), ..endpoint.offer(party, &path) };
    talk.send(&Message::Offer(Box::new(offer)), Stage::Setup)?;
    let theirs = match talk.receive("the requester's offer", MESSAGE_TIMEOUT, Stage::Connect)? {
        Message::Offer(offer) => *offer,
        other => return Err(talk.out_of_turn(&other, Stage::Connect)),
    };
    station.check(&endpoint, spec, &theirs)?;
    door.let_in(&mut endpoint, spec, &path, &theirs)?;
    let mut crew = Crew::new(endpoint, spec, SIDE, theirs.region, &place)?;
    talk.send(&Message::Connected, Stage::Connect)?;
    schedule_death(spec);
    let seen = obey(talk, spec, &mut crew)?;
    let record = station.record(place, crew.endpoint(), &seen);
    talk.send(&Message::Report(Box::new(record)), Stage::Drain)
}

/// The fault `peer-death` of the software NIC: this process is killed, as a crash would end it.
fn schedule_death(spec: &RunSpec) {
    let after = spec.soft_fault.as_ref().and_then(|fault| fault.peer_death_after_ns);
    if let Some(after) = after {
        thread::spawn(move || {
            thread::sleep(Duration::from_nanos(after.get()));
            let _ = kill_process(getpid(), Signal::KILL);
        });
    }
}

/// Does what each message asks until the requester is finished.
fn obey(talk: &mut Talk, spec: &RunSpec, crew: &mut Crew<'_>) -> Result<Seen, Fault> {
    let mut seen = Seen::default();
    let mut last = None;
    let mut ready = false;
    loop {
        // Others take their time until the requester is told to begin.
        let patience = if ready { MESSAGE_TIMEOUT + MOST_HELD } else { MESSAGE_TIMEOUT };
        match talk.receive("the requester's next message", patience, Stage::Measure)? {
            Message::Await(order) => {
                crew.prepare(&order)?;
                ready = true;
                talk.send(&Message::Ready, Stage::WarmUp)?;
            }
            Message::Start(order) => {
                let moment = moment(&order)?;
                if !std::mem::take(&mut ready) {
                    crew.prepare(&order)?;
                }
                talk.send(&Message::Started, Stage::WarmUp)?;
                let (outputs, requester_sent) = work(talk, spec, crew, &order, moment)?;
                let measured = merge(&outputs, crew.clock().scale());
                if let Some(measured) = &measured {
                    seen.add(&outputs, measured);
                }
                let size = crew.size(&order)?;
                let reverse = measured.map(|measured| point::reverse(spec, size, &measured)).transpose()?;
                let stopped = Stopped {
                    sent: outputs.iter().flat_map(|output| &output.sent).copied().collect(),
                    received: point::received(&outputs),
                    reverse,
                };
                talk.send(&Message::Stopped(Box::new(stopped)), Stage::Drain)?;
                last = Some((order, outputs, requester_sent));
            }
            Message::Check => {
                let check = last.as_ref().and_then(|(order, outputs, requester_sent)| {
                    crew.compare(order, outputs, requester_sent)
                });
                talk.send(&Message::Checked(check), Stage::Verify)?;
            }
            Message::Finish => return Ok(seen),
            other => return Err(talk.out_of_turn(&other, Stage::Measure)),
        }
    }
}

fn duration(time: Nanos) -> Duration {
    Duration::from_nanos(time.get())
}

/// When an order that came just now begins; none is at once.
fn moment(order: &Order) -> Result<Option<Instant>, Fault> {
    let after = order.after_ns.map(duration);
    if let Some(after) = after.filter(|after| *after > MOST_AHEAD) {
        let cause = format!("the requester's start lies {after:.1?} ahead, the most is {MOST_AHEAD:?}");
        return Err(Fault::new(Stage::WarmUp, SIDE, cause).advise("use the same release on both sides"));
    }
    Ok(after.map(|after| Instant::now() + after))
}

/// Works on an order until the requester has stopped; with what it sent on each QP.
fn work(
    talk: &mut Talk,
    spec: &RunSpec,
    crew: &mut Crew<'_>,
    order: &Order,
    moment: Option<Instant>,
) -> Result<(Vec<Output>, Vec<u64>), Fault> {
    let sends = crew.duty(order) == Duty::Send;
    let patience = match &order.work {
        Work::Check { .. } => MESSAGE_TIMEOUT.saturating_add(with_memory(spec, Duration::ZERO)),
        Work::Measure { stop, .. } => MESSAGE_TIMEOUT.saturating_add(lasts(spec, stop)),
    };
    let patience = patience.saturating_add(order.after_ns.map_or(Duration::ZERO, duration));
    crew.shift(order, moment, |floor| {
        let message = talk.receive_at_work(floor, "stop", patience, Stage::Measure)?;
        let sent = match message {
            None => return Ok(None),
            Some(Message::Stop(sent)) => sent,
            Some(other) => return Err(talk.out_of_turn(&other, Stage::Measure)),
        };
        if sends && talk.await_senders(floor, Stage::Measure)?.is_none() {
            return Ok(None);
        }
        floor.finish(sent.clone());
        Ok(Some(sent))
    })
}
