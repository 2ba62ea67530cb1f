//! The agents of a cluster, one a node, as their controller works with them: who is there, what time it is there, how their
//! hosts stand, and rounds of pairs that start together.
//!
//! Nobody waits for a node that is lost. One that ends its link, falls silent or does not do what it is told is lost for good;
//! what it was part of did not run, and everything else goes on. An agent whose controller is gone turns its host back by itself.

mod address;
mod audit;
mod clock;
mod clocks;
mod ear;
mod flight;
mod grounds;
mod limits;
mod meet;
mod part;
mod round;
#[cfg(test)]
mod tests;
mod tuning;

use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::mpsc::{Receiver, Sender},
    time::{Duration, Instant},
};

use schema::{ClusterNode, NodeState, SidesTuning};

use self::{clock::Clock, ear::News, limits::Limits, tuning::Turned};
use super::{Crew, PairTask, Rank, RoundResult};
use crate::{
    agent::{
        link::{Event, Link},
        protocol::{Hello, Order},
    },
    interrupt::Interrupt,
    scenario::Place,
};

/// A scheduler that ends a job ends its agents and us at once, in no order: an agent that goes is lost only if we are not told to
/// stop within this time, or its pairs would be kept as such that could not run.
const SAME_END: Duration = Duration::from_secs(3);

/// What a fleet is to be like.
#[derive(Debug, Clone, Default)]
pub struct FleetWishes {
    /// The RDMA device of nodes that name none: `auto`, `soft`, or a name.
    pub device: String,
    /// What is turned on the hosts, from the first round to the end: every node plays both sides.
    pub tuning: SidesTuning,
    /// CPUs that the specs name, for knobs that keep them free.
    pub poll_cpus: Vec<u32>,
    /// Whether every host is audited.
    pub audit: bool,
}

/// The agents of a cluster, by rank.
pub struct Fleet {
    nodes: Vec<ClusterNode>,
    members: Vec<Member>,
    events: Sender<Event<Rank>>,
    heard: Receiver<Event<Rank>>,
    /// What was found out in between and is to be told to whoever listens next.
    news: VecDeque<News>,
    limits: Limits,
    /// When all are looked at for one that has fallen silent.
    look_at: Instant,
    /// Time spent waiting since the round began.
    waited: Duration,
    /// Number of the next run.
    next_run: u32,
    clocks_at: Option<Instant>,
    turned: Turned,
    remarks: Vec<String>,
    complaints: Vec<(Rank, String)>,
}

/// What is known of a node's agent beside what is kept.
struct Member {
    /// None when there never was one. Of one that is lost, it is hung up.
    link: Option<Link<Rank>>,
    /// Whether it can be worked with.
    here: bool,
    /// Who it is, once it said so.
    hello: Option<Hello>,
    /// Where other nodes reach it.
    address: Option<IpAddr>,
    clock: Option<Clock>,
    /// When it last said anything.
    heard_at: Instant,
}

impl Fleet {
    /// What users should know of the agents besides who is there, one sentence each.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    fn is_here(&self, rank: Rank) -> bool {
        self.members.get(rank as usize).is_some_and(|member| member.here)
    }

    /// Those who can be worked with.
    fn ranks_here(&self) -> Vec<Rank> {
        (0..self.members.len() as Rank).filter(|rank| self.is_here(*rank)).collect()
    }

    /// Whether someone else started its agent.
    fn is_joined(&self, rank: Rank) -> bool {
        let link = self.members[rank as usize].link.as_ref();
        link.is_some_and(|link| matches!(link.place, Place::Joined(_)))
    }

    fn order(&self, rank: Rank, order: &Order) {
        if let Some(link) = &self.members[rank as usize].link {
            link.order(order);
        }
    }

    /// A node in words: `node7 (ssh:node7)`.
    fn name(&self, rank: Rank) -> String {
        let node = &self.nodes[rank as usize];
        format!("{} ({})", node.name, node.place)
    }

    /// Why a node is not worked with.
    fn why_away(&self, rank: Rank) -> String {
        let why = match self.nodes.get(rank as usize).map(|node| &node.state) {
            None => return format!("there is no node {rank}"),
            Some(NodeState::Present) => "it is there",
            Some(NodeState::Absent { why } | NodeState::Lost { why, .. }) => why,
        };
        format!("{}: {why}", self.name(rank))
    }
}

impl Crew for Fleet {
    fn nodes(&self) -> &[ClusterNode] {
        &self.nodes
    }

    fn measure(&mut self, pairs: &[PairTask], interrupt: &Interrupt) -> Option<RoundResult> {
        if interrupt.is_raised() {
            return None;
        }
        let here = self.ranks_here();
        let made = self.make_round(pairs, interrupt);
        let lost = here.into_iter().filter(|rank| !self.is_here(*rank)).collect::<Vec<_>>();
        if lost.into_iter().any(|rank| self.is_joined(rank)) && !interrupt.sleep(SAME_END) {
            return None;
        }
        made
    }
}

impl Fleet {
    fn make_round(&mut self, pairs: &[PairTask], interrupt: &Interrupt) -> Option<RoundResult> {
        let events = self.events.clone();
        let _watch = interrupt.watch(move || {
            let _ = events.send(Event::Interrupted); // the fleet is gone: no one listens
        });
        self.waited = Duration::ZERO;
        self.make_ready();
        self.compare_clocks_if_old();
        if interrupt.is_raised() {
            return None;
        }
        round::carry_out(self, pairs, interrupt)
    }
}
