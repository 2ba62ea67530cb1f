//! What a suite would do with these nodes: every round, what it takes, and what is kept of it. Touches nothing.

mod show;

use std::collections::BTreeSet;

use schema::{ClusterWorkload, Directions, HistoryLevel, Nanos, PairRole, PatternKind, SCHEMA_VERSION};
use serde::Serialize;

use super::{
    Rank, WantedNode,
    pattern::{PatternError, Seat},
    suite::{Step, Suite},
};

pub use show::show;

/// A cluster as planned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClusterPlan {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Name of the suite.
    pub suite: String,
    /// The question it answers.
    pub question: String,
    /// Which pairs there are.
    pub pattern: PatternKind,
    /// Which way they are measured.
    pub directions: Directions,
    /// How often the whole pattern is made.
    pub repeat: u32,
    /// Most pairs at the same time, as asked; null where the pattern alone says it.
    pub at_once: Option<u32>,
    /// Seed of what is drawn.
    pub seed: u64,
    /// Whether it was drawn now: a run draws, and records, another.
    pub seed_was_drawn: bool,
    /// By rank.
    pub nodes: Vec<PlannedNode>,
    /// What every pair measures.
    pub workloads: Vec<ClusterWorkload>,
    /// Every round, in the order they are made.
    pub rounds: Vec<Step>,
    /// Ranks of nodes that are in no pair.
    pub left_out: Vec<Rank>,
    /// What it comes to.
    pub counts: PlannedCounts,
    /// Time it takes without what is measured again, ns; null where a workload ends after a count of messages.
    pub takes_ns: Option<Nanos>,
    /// Of what history has a series; null keeps none.
    pub history: Option<Vec<HistoryLevel>>,
}

/// A node as planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedNode {
    /// Its name.
    pub name: String,
    /// Its RDMA device.
    pub device: String,
    /// The switches above it, the outermost first; empty where they are not known.
    pub switches: Vec<String>,
}

/// What a plan comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PlannedCounts {
    /// Measurements between two nodes.
    pub runs: u64,
    /// Of them, those that only load the fabric.
    pub congestors: u64,
    /// Pairs of nodes that are measured, whichever way.
    pub pairs: u64,
    /// Most pairs that run at the same time.
    pub most_at_once: u32,
    /// Series that history gets; 0 where it keeps none.
    pub series: u64,
}

/// Plans a suite over nodes. `drawn_seed` is used where the suite names none.
///
/// # Errors
/// When the pattern can't be laid out over these nodes.
pub fn plan(suite: &Suite, nodes: &[WantedNode], drawn_seed: u64) -> Result<ClusterPlan, PatternError> {
    let seats: Vec<Seat<'_>> = nodes.iter().map(Seat::from).collect();
    let seed = suite.seed.unwrap_or(drawn_seed);
    let rounds = suite.steps(&seats, seed)?;
    let nodes: Vec<PlannedNode> = nodes.iter().map(|node| planned(suite, node)).collect();
    let (left_out, counts) = count(suite, &nodes, &rounds);
    Ok(ClusterPlan {
        schema_version: SCHEMA_VERSION,
        suite: suite.name.clone(),
        question: suite.question.clone(),
        pattern: suite.pattern.kind(),
        directions: suite.directions,
        repeat: suite.repeat,
        at_once: suite.at_once,
        seed,
        seed_was_drawn: suite.seed.is_none(),
        workloads: suite.workloads.clone(),
        left_out,
        counts,
        takes_ns: suite.time_of(&rounds).map(|time| Nanos(time.as_nanos() as u64)),
        history: suite.history.clone(),
        nodes,
        rounds,
    })
}

fn planned(suite: &Suite, node: &WantedNode) -> PlannedNode {
    PlannedNode {
        name: node.name.clone(),
        device: node.device.clone().unwrap_or_else(|| suite.device.clone()),
        switches: node.switches.clone(),
    }
}

fn count(suite: &Suite, nodes: &[PlannedNode], rounds: &[Step]) -> (Vec<Rank>, PlannedCounts) {
    let all = || rounds.iter().flat_map(|round| &round.pairs);
    let measured = || all().filter(|pair| pair.role == PairRole::Measured);
    let ways: BTreeSet<(Rank, Rank)> = measured().map(|pair| (pair.requester, pair.responder)).collect();
    let pairs: BTreeSet<(Rank, Rank)> = ways.iter().map(|(a, b)| (*a.min(b), *a.max(b))).collect();
    let sends: BTreeSet<Rank> = ways.iter().map(|(requester, _)| *requester).collect();
    let receives: BTreeSet<Rank> = ways.iter().map(|(_, responder)| *responder).collect();
    let leaves = |ranks: &BTreeSet<Rank>| {
        let leaf = |rank: &Rank| nodes[*rank as usize].switches.last();
        ranks.iter().filter_map(leaf).collect::<BTreeSet<_>>().len()
    };
    let of_level = |level: &HistoryLevel| match level {
        HistoryLevel::Node => sends.len() + receives.len(),
        HistoryLevel::Leaf => leaves(&sends) + leaves(&receives),
        HistoryLevel::Pair => ways.len(),
    };
    let numbers: usize =
        suite.workloads.iter().map(|workload| workload.spec.msg_bytes.len() * workload.metrics.len()).sum();
    let series = suite.history.iter().flatten().map(of_level).sum::<usize>() * numbers;
    let counts = PlannedCounts {
        runs: all().count() as u64,
        congestors: (all().count() - measured().count()) as u64,
        pairs: pairs.len() as u64,
        most_at_once: rounds.iter().map(|round| round.pairs.len()).max().unwrap_or(0) as u32,
        series: series as u64,
    };
    let left_out =
        (0..nodes.len() as Rank).filter(|rank| !sends.contains(rank) && !receives.contains(rank)).collect();
    (left_out, counts)
}
