//! Agents that a test drives: they speak the protocol, start nothing, and do as they are told to, or not.

mod play;

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

use schema::{Nanos, RunSpec, Test};

use self::play::play;
use super::super::{Event, Fleet, FleetWishes, Link, Rank, limits::Limits};
use crate::{
    agent::{
        protocol::{Order, Report},
        wire::send,
    },
    cluster::{Mustered, PairTask, WantedNode},
    interrupt::Interrupt,
    scenario::Place,
};

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
pub(super) struct Theatre {
    between: Arc<Mutex<Between>>,
    events: Sender<Event<Rank>>,
    heard: Option<Receiver<Event<Rank>>>,
    mustered: Vec<Mustered>,
}

impl Theatre {
    pub(super) fn new(manners: impl IntoIterator<Item = Manner>) -> Theatre {
        let (events, heard) = channel();
        let between = Arc::<Mutex<Between>>::default();
        let mut theatre = Theatre { between, events, heard: Some(heard), mustered: Vec::new() };
        for manner in manners {
            let rank = theatre.mustered.len() as Rank;
            let ((input, orders), (reports, output)) = (io::pipe().unwrap(), io::pipe().unwrap());
            let output = Arc::new(Output { pipe: Mutex::new(Some(output)), hangs: AtomicBool::new(false) });
            let between = theatre.between.clone();
            thread::spawn(move || play(rank, BufReader::new(input), output, manner, &between));
            let link = Link::over(reports, orders, rank, Place::Local, theatre.events.clone());
            theatre.muster(Ok(link));
        }
        theatre
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
