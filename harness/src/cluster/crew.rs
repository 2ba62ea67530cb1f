//! What the rounds of a cluster need from outside: someone who measures pairs that start together.

use std::time::Duration;

use schema::{ClusterNode, Nanos, PairRole, RunRecord, RunSpec};

use super::Rank;
use crate::interrupt::Interrupt;

/// A pair to be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct PairTask {
    /// The node that posts.
    pub requester: Rank,
    /// The node that is written to.
    pub responder: Rank,
    /// What it is in the round.
    pub role: PairRole,
    /// What is measured, with the devices of both nodes.
    pub spec: RunSpec,
}

/// What came of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct PairResult {
    /// What it measured, or why it did not.
    pub record: RunRecord,
    /// From the moment the barrier named to its first post, ns; none where it is not known.
    pub late_ns: Option<i64>,
}

/// What came of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundResult {
    /// One a pair, in the order of the tasks.
    pub pairs: Vec<PairResult>,
    /// From the first pair's first post to the last pair's.
    pub skew_ns: Option<Nanos>,
    /// How far off that may be.
    pub skew_uncertainty_ns: Option<Nanos>,
    /// Time in which nothing was done but to wait for agents.
    pub waited: Duration,
}

/// Measures pairs: agents in earnest, anything else in a test.
pub trait Crew {
    /// The nodes, by rank, as they are known by now: who came, who is gone, and what their agents found.
    fn nodes(&self) -> &[ClusterNode];

    /// Measures pairs that start together. A pair whose node is gone, or that does not end, is a failed record like any other
    /// and holds nobody else up. None means it was interrupted and there is nothing to keep.
    fn measure(&mut self, pairs: &[PairTask], interrupt: &Interrupt) -> Option<RoundResult>;
}
