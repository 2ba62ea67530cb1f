//! The responder's line: greet, take the plan, open, take a place, connect, and do what each message asks until the end.
//!
//! It knows nothing about the test but what the plan says. Each session runs in a thread of its own, so that its pinning
//! ends with it.

use std::{
    net::{IpAddr, TcpStream},
    thread,
    time::Duration,
};

use rustix::process::{Signal, getpid, kill_process};
use schema::{Nanos, RunSpec, Side, Stage, Stop, Test};

use super::{
    agree,
    endpoint::Endpoint,
    own::Own,
    preflight,
    station::{Placement, Station},
};
use crate::{
    connect::{
        ConnectError, Frames, Message, Offer, Party,
        auth::{self, Token},
        socket,
    },
    engine::{Halt, latency, pattern, watch::Watch},
    fault::{At, Fault},
    placement,
};

const SIDE: Side = Side::Responder;
/// The requester pins, calibrates and opens its device before it sends the plan.
const PLAN_TIMEOUT: Duration = Duration::from_secs(9);
/// Between two messages of a connected session, beside the time the measurement itself takes.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(20);
/// A write whose completion the requester has seen may still be on its way into our memory for a moment.
const LANDING: Duration = Duration::from_millis(200);

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
    let mut session = Session { spec, frames };
    session.run(&party, own).map_err(|fault| {
        if fault.side == SIDE {
            let _ = session.frames.send(&Message::Fault(fault.clone()));
        }
        Ended::InSession(fault)
    })
}

fn greet(frames: &mut Frames, token: Option<&Token>) -> Result<(RunSpec, Party), ConnectError> {
    socket::prepare(frames.stream())?;
    auth::greet_requester(frames, token)?;
    match frames.receive("the plan", PLAN_TIMEOUT)? {
        Message::Plan(plan) => Ok(*plan),
        other => Err(ConnectError::OutOfTurn { awaited: "the plan", got: other.name() }),
    }
}

struct Session {
    spec: RunSpec,
    frames: Frames,
}

impl Session {
    fn run(&mut self, peer: &Party, own: &Own<'_>) -> Result<(), Fault> {
        let refused = |error: String| Fault::new(Stage::Preflight, SIDE, error);
        if let Some(fault) = self.spec.faults().first() {
            return Err(refused(fault.to_string()));
        }
        let side = own.side(&self.spec, peer.fabric).map_err(refused)?;
        let mut station = Station::open(SIDE, &self.spec, side)?;
        let (peer_ip, local_ip) = self.addresses().at(Stage::Handshake, SIDE)?;
        station.choose_gid(peer_ip, local_ip, peer.gid)?;
        let path_mtu = self.spec.path_mtu.unwrap_or_else(|| peer.active_mtu.min(station.port().active_mtu));
        preflight::path_mtu(path_mtu, station.port()).map_err(refused)?;
        let same_host = station.boot_id().is_some() && station.boot_id() == peer.boot_id;
        let outstanding_reads =
            agree::outstanding_reads(&self.spec, peer, &station.party(None)).map_err(refused)?;
        let avoid: &[u32] = if same_host { &peer.cpus } else { &[] };
        let place = station.place(avoid)?;
        let mut endpoint = station.build(&self.spec, &place)?;
        let offer = endpoint.offer(station.party(place.cpu()), &station.path(path_mtu, outstanding_reads));
        self.send(&Message::Offer(Box::new(offer)), Stage::Setup)?;
        let theirs = match self.receive("the requester's offer", Stage::Connect)? {
            Message::Offer(offer) => *offer,
            other => return Err(out_of_turn(&other)),
        };
        station.connect(&mut endpoint, &self.spec, &theirs)?;
        self.send(&Message::Connected, Stage::Connect)?;
        self.schedule_death();
        self.obey(&station, endpoint, &theirs, place)
    }

    fn addresses(&self) -> std::io::Result<(IpAddr, IpAddr)> {
        let stream = self.frames.stream();
        Ok((stream.peer_addr()?.ip(), stream.local_addr()?.ip()))
    }

    /// The fault `peer-death` of the software NIC: this process is killed, as a crash would end it.
    fn schedule_death(&self) {
        let after = self.spec.soft_fault.as_ref().and_then(|fault| fault.peer_death_after_ns);
        if let Some(after) = after {
            thread::spawn(move || {
                thread::sleep(Duration::from_nanos(after.get()));
                let _ = kill_process(getpid(), Signal::KILL);
            });
        }
    }

    /// Does what each message asks until the requester is finished.
    fn obey(
        &mut self,
        station: &Station,
        mut endpoint: Endpoint,
        peer: &Offer,
        place: Placement,
    ) -> Result<(), Fault> {
        let mut size = self.spec.msg_bytes[0];
        loop {
            match self.receive("the requester's next message", Stage::Measure)? {
                Message::Prepare(index) => {
                    let sizes = &self.spec.msg_bytes;
                    size = *sizes.get(index as usize).ok_or_else(|| {
                        Fault::new(Stage::Verify, SIDE, format!("the plan has no point {index}"))
                    })?;
                    pattern::fill(endpoint.source(), 0);
                    endpoint.target().fill(0);
                    self.send(&Message::Prepared, Stage::Verify)?;
                }
                Message::Check => {
                    let check = checked(&mut endpoint, size.get());
                    self.send(&Message::Checked(check), Stage::Verify)?;
                }
                Message::Start => {
                    endpoint.target().fill(0);
                    self.send(&Message::Started, Stage::WarmUp)?;
                    if self.spec.test == Test::Latency {
                        self.answer(&endpoint, peer, &place, size)?;
                    }
                }
                Message::Stop => self.send(&Message::Stopped, Stage::Drain)?,
                Message::Finish => {
                    let seen: Vec<u32> = placement::current_cpu().into_iter().collect();
                    let record = station.record(place, &endpoint, &seen);
                    return self.send(&Message::Report(Box::new(record)), Stage::Drain);
                }
                other => return Err(out_of_turn(&other)),
            }
        }
    }

    /// Answers pings until the requester speaks on the control connection.
    fn answer(
        &self,
        endpoint: &Endpoint,
        peer: &Offer,
        place: &Placement,
        size: schema::Bytes,
    ) -> Result<(), Fault> {
        let mut watch = Watch::new(
            Some(self.frames.stream()),
            SIDE,
            Stage::Measure,
            place.scale(),
            self.spec.deadline_ns,
        );
        let job = endpoint.job(0, &self.spec, size, &peer.region);
        // SAFETY: the job's objects live in the endpoint, which outlives the call.
        match unsafe { latency::pong(&job, place.clock(), None, &mut watch) } {
            Ok(_) | Err(Halt::PeerSpoke) => Ok(()),
            Err(Halt::Fault(fault)) => Err(fault),
        }
    }

    fn send(&mut self, message: &Message, stage: Stage) -> Result<(), Fault> {
        self.frames.send(message).map_err(|error| told(error, stage))
    }

    fn receive(&mut self, awaited: &'static str, stage: Stage) -> Result<Message, Fault> {
        let measuring = match self.spec.stop {
            Stop::DurationNs(Nanos(ns)) => Duration::from_nanos(ns.saturating_add(self.spec.warmup_ns.get())),
            // As long as it takes: keep-alive notices a requester that is gone.
            Stop::Iterations(_) => Duration::from_secs(7 * 24 * 3600),
        };
        self.frames
            .receive(awaited, MESSAGE_TIMEOUT.saturating_add(measuring))
            .map_err(|error| told(error, stage))
    }
}

/// Checks the target, giving late bytes a moment to land.
fn checked(endpoint: &mut Endpoint, msg_bytes: u64) -> schema::record::DataCheck {
    let layout = *endpoint.layout();
    let start = std::time::Instant::now();
    loop {
        let check =
            pattern::check_in_place(endpoint.target(), &layout, msg_bytes as u32, 0, schema::Transport::Rc);
        if check.wrong_bytes.get() == 0 || start.elapsed() > LANDING {
            return check;
        }
    }
}

fn told(error: ConnectError, stage: Stage) -> Fault {
    match error {
        ConnectError::Peer(fault) => fault,
        other => Fault::new(stage, SIDE, other),
    }
}

fn out_of_turn(message: &Message) -> Fault {
    Fault::new(Stage::Measure, SIDE, format!("the requester sent `{}` out of turn", message.name()))
        .advise("use the same release on both sides")
}
