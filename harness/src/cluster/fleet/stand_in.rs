//! Agents that a test drives: they speak the protocol, start nothing, and do as they are told to, or not.

use std::{
    collections::BTreeMap,
    io::{self, BufReader, PipeWriter},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use schema::{
    Fabric, HostEvidence, Nanos, NodeAudit, Outcome, RunRecord, RunSpec, SCHEMA_VERSION, Side, Test,
    record::StartUp,
};

use super::{Event, Fleet, FleetWishes, Link, Rank, limits::Limits};
use crate::{
    agent::{
        protocol::{Answer, End, Hello, Order, PROTOCOL, RELEASE, Report},
        wire::{MOST_ORDER, receive, send},
    },
    cluster::{Mustered, PairTask, WantedNode},
    interrupt::Interrupt,
    scenario::Place,
    words,
};

/// Statuses as waitpid(2) gives them: exit code 2, and killed.
const REFUSED: i32 = 2 << 8;
const KILLED: i32 = 9;

/// What a stand-in does with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// What an agent does.
    Obey,
    /// Nothing, but it lives on.
    Ignore,
    /// It ends.
    Die,
    /// It stops altogether, signs of life and all, and keeps its link.
    Hang,
    /// It says that the process could not be started.
    NotStart,
    /// Its process ends at once, with exit code 2 and a reason.
    Refuse,
    /// Its process says something that nobody understands.
    Babble,
}

/// How a node is played.
pub(super) struct Manner {
    /// What its clock shows more than ours, ns.
    pub(super) ahead_ns: u64,
    /// How much later than told its requesters post, ns.
    pub(super) late_ns: u64,
    pub(super) deeds: Box<dyn FnMut(&Order) -> Deed + Send>,
}

impl Manner {
    /// One that does this with orders of a kind, and else what it is told to.
    pub(super) fn with(kind: Kind, deed: Deed) -> Manner {
        Manner {
            deeds: Box::new(move |order| if Kind::of(order) == kind { deed } else { Deed::Obey }),
            ..Manner::good()
        }
    }

    pub(super) fn good() -> Manner {
        Manner { ahead_ns: 0, late_ns: 0, deeds: Box::new(|_| Deed::Obey) }
    }
}

/// Orders that tests tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Hello,
    Clock,
    Audit,
    Serve,
    Measure,
    Start,
    Stop,
    Other,
}

impl Kind {
    pub(super) fn of(order: &Order) -> Kind {
        match order {
            Order::Hello { .. } => Kind::Hello,
            Order::Clock {} => Kind::Clock,
            Order::Audit { .. } => Kind::Audit,
            Order::Serve { .. } => Kind::Serve,
            Order::Measure { .. } => Kind::Measure,
            Order::Start { .. } => Kind::Start,
            Order::Stop { .. } => Kind::Stop,
            _ => Kind::Other,
        }
    }
}

/// What all of them have between them.
#[derive(Default)]
struct Between {
    /// Responders that wait for their requester, by token.
    waiting: BTreeMap<String, (u32, Arc<Output>)>,
    /// Orders that came, by rank.
    seen: Vec<(Rank, Kind)>,
}

/// One's way out.
struct Output {
    pipe: Mutex<Option<PipeWriter>>,
    hangs: AtomicBool,
}

impl Output {
    fn say(&self, report: &Report) {
        if !self.hangs.load(Ordering::SeqCst)
            && let Some(pipe) = self.pipe.lock().unwrap().as_mut()
        {
            let _ = send(pipe, report); // the fleet has hung up
        }
    }
}

/// Stand-ins and what they saw.
pub(super) struct Stage {
    between: Arc<Mutex<Between>>,
    events: Sender<Event<Rank>>,
    heard: Option<Receiver<Event<Rank>>>,
    mustered: Vec<Mustered>,
}

impl Stage {
    pub(super) fn new(manners: impl IntoIterator<Item = Manner>) -> Stage {
        let (events, heard) = channel();
        let between = Arc::<Mutex<Between>>::default();
        let mut stage = Stage { between, events, heard: Some(heard), mustered: Vec::new() };
        for manner in manners {
            let rank = stage.mustered.len() as Rank;
            let ((input, orders), (reports, output)) = (io::pipe().unwrap(), io::pipe().unwrap());
            let output = Arc::new(Output { pipe: Mutex::new(Some(output)), hangs: AtomicBool::new(false) });
            let between = stage.between.clone();
            thread::spawn(move || play(rank, BufReader::new(input), output, manner, &between));
            let link = Link::over(reports, orders, rank, Place::Local, stage.events.clone());
            stage.muster(Ok(link));
        }
        stage
    }

    /// Adds a node.
    pub(super) fn muster(&mut self, came: Result<Link<Rank>, String>) {
        let name = format!("node{}", self.mustered.len() + 1);
        let node =
            WantedNode { name, host: None, device: None, address: None, switches: Vec::new(), soft: None };
        self.mustered.push(Mustered { node, came, identity: None });
    }

    pub(super) fn events(&self) -> Sender<Event<Rank>> {
        self.events.clone()
    }

    /// Those who came, as a fleet.
    pub(super) fn meet(&mut self, wishes: &FleetWishes, limits: Limits) -> Fleet {
        let ends = (self.events.clone(), self.heard.take().expect("they meet once"));
        Fleet::meet_within(std::mem::take(&mut self.mustered), ends, wishes, &Interrupt::default(), limits)
    }

    /// How many orders of a kind a node got.
    pub(super) fn seen(&self, rank: Rank, kind: Kind) -> usize {
        self.between.lock().unwrap().seen.iter().filter(|seen| **seen == (rank, kind)).count()
    }
}

/// Enough for a busy machine, and not so much that a test takes long.
pub(super) fn limits() -> Limits {
    Limits {
        hello: Duration::from_secs(3),
        silence: Duration::from_secs(3),
        clock: Duration::from_secs(3),
        audit: Duration::from_secs(3),
        process: Duration::from_secs(2),
        ready: Duration::from_secs(4),
        knobs: Duration::from_secs(3),
        margin: Duration::from_secs(4),
        stop: Duration::from_secs(2),
        ahead: Duration::from_millis(1),
        lost: Duration::ZERO,
        ..Limits::default()
    }
}

/// A pair that is measured for no time.
pub(super) fn task(requester: Rank, responder: Rank) -> PairTask {
    let mut spec = RunSpec::new(Test::Bandwidth);
    (spec.warmup_ns, spec.deadline_ns) = (Nanos(0), Nanos(1_000_000));
    spec.stop = schema::spec::Stop::DurationNs(Nanos(1_000_000));
    PairTask { requester, responder, role: schema::PairRole::Measured, spec }
}

/// A requester under way.
struct Requester {
    token: String,
    spec: Box<RunSpec>,
}

fn play(
    rank: Rank,
    mut input: BufReader<io::PipeReader>,
    output: Arc<Output>,
    mut manner: Manner,
    between: &Mutex<Between>,
) {
    let mut requesters: BTreeMap<u32, Requester> = BTreeMap::new();
    let mut responders: Vec<u32> = Vec::new();
    while let Ok(Some(order)) = receive::<Order>(&mut input, MOST_ORDER) {
        between.lock().unwrap().seen.push((rank, Kind::of(&order)));
        let deed = (manner.deeds)(&order);
        let run = match &order {
            Order::Serve { run, .. } | Order::Measure { run, .. } | Order::Start { run, .. } => *run,
            _ => 0,
        };
        match deed {
            Deed::Obey => {}
            Deed::Ignore => continue,
            Deed::Die => {
                output.pipe.lock().unwrap().take();
                return;
            }
            Deed::Hang => {
                output.hangs.store(true, Ordering::SeqCst);
                loop {
                    thread::park();
                }
            }
            Deed::NotStart => {
                output.say(&Report::NotStarted { run, cause: "no such file".into() });
                continue;
            }
            Deed::Refuse => {
                output.say(&ended(run, side_of(&order), REFUSED, String::new()));
                continue;
            }
            Deed::Babble => {
                output.say(&Report::Said { run, line: "mumble".into() });
                requesters.extend(requester(&order));
                responders.push(run);
                continue;
            }
        }
        match order {
            Order::Hello { silence_ms, .. } => {
                output.say(&Report::Hello(Box::new(hello(rank))));
                let (output, pause) = (output.clone(), Duration::from_millis(silence_ms.unwrap_or(600) / 6));
                thread::spawn(move || {
                    while output.pipe.lock().unwrap().is_some() {
                        output.say(&Report::Alive {});
                        thread::sleep(pause);
                    }
                });
            }
            Order::Clock {} => {
                output.say(&Report::Clock { monotonic_ns: words::monotonic_ns() + manner.ahead_ns });
            }
            Order::Audit { device } => {
                let facts = schema::Configuration([("device".to_owned(), device)].into());
                output.say(&Report::Audited(Box::new(NodeAudit { facts, findings: Vec::new() })));
            }
            Order::Serve { run, token, .. } => {
                between.lock().unwrap().waiting.insert(token, (run, output.clone()));
                responders.push(run);
                output.say(&Report::Said { run, line: r#"{"listening":"127.0.0.1:1"}"#.into() });
            }
            Order::Measure { run, .. } => {
                requesters.extend(requester(&order));
                output.say(&Report::Said { run, line: r#"{"holding":true}"#.into() });
            }
            Order::Start { run, at_monotonic_ns } => {
                let Some(Requester { token, spec }) = requesters.remove(&run) else { continue };
                if let Some((run, responder)) = between.lock().unwrap().waiting.remove(&token) {
                    responder.say(&ended(run, Side::Responder, 0, String::new()));
                }
                let record = record(*spec, at_monotonic_ns + manner.late_ns);
                output.say(&ended(run, Side::Requester, 0, serde_json::to_string(&record).unwrap()));
            }
            Order::Stop { run } => {
                let side = match requesters.remove(&run) {
                    Some(_) => Side::Requester,
                    None if responders.contains(&run) => Side::Responder,
                    None => continue,
                };
                output.say(&ended(run, side, KILLED, String::new()));
            }
            Order::Alive {} => {}
            _ => output.say(&Report::Answer(Answer { knobs: Vec::new(), fault: None })),
        }
    }
    output.pipe.lock().unwrap().take();
}

fn side_of(order: &Order) -> Side {
    if matches!(order, Order::Serve { .. }) { Side::Responder } else { Side::Requester }
}

fn requester(order: &Order) -> Option<(u32, Requester)> {
    match order {
        Order::Measure { run, token, spec, .. } => {
            Some((*run, Requester { token: token.clone(), spec: spec.clone() }))
        }
        _ => None,
    }
}

fn ended(run: u32, side: Side, status: i32, stdout: String) -> Report {
    let evidence = HostEvidence {
        side,
        place: "local".into(),
        tuning: Vec::new(),
        watched_ns: Nanos(1),
        counters: Vec::new(),
        vectors: Vec::new(),
        movers: Vec::new(),
        frequencies: Vec::new(),
        cpus_online: (None, None),
        notes: Vec::new(),
    };
    let stderr = if status == REFUSED { "error: tx_depth: 0 is too small\n".into() } else { String::new() };
    Report::Ended { run, end: End { status, stdout, stderr }, evidence: Box::new(evidence) }
}

fn record(spec: RunSpec, first_post_monotonic_ns: u64) -> RunRecord {
    let mut record = RunRecord::start(spec, Fabric::Soft, 0, Outcome::Completed);
    record.start_up = Some(StartUp {
        main_to_first_post_ns: Nanos(1),
        device_ns: Nanos(0),
        peer_ns: Nanos(0),
        held_ns: None,
        first_post_monotonic_ns,
    });
    record
}

fn hello(rank: Rank) -> Hello {
    Hello {
        protocol: PROTOCOL,
        schema_version: SCHEMA_VERSION,
        release: RELEASE.into(),
        boot_id: Some(format!("boot {rank}")),
        netns: None,
        hostname: Some(format!("host{rank}")),
        identity: None,
        verbs_bench: Ok(String::new()),
    }
}
