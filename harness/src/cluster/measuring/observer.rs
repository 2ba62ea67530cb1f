//! Who is told how a cluster goes on.

use std::time::Duration;

use schema::{PairRun, Round, RoundPart};

use crate::cluster::suite::Step;

/// Where a cluster stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundProgress {
    /// What is being made.
    pub part: RoundPart,
    /// Position of the round in it, from 1.
    pub number: u32,
    /// Rounds it has; of an attempt to measure suspects again, those of the attempt.
    pub of: u32,
    /// Rounds that were made, by this program, before this one.
    pub made: u32,
    /// Time since the first of them began.
    pub elapsed: Duration,
}

/// Is told how a cluster goes on.
pub trait ClusterObserver {
    /// The pattern has so many rounds, of which so many are kept already.
    fn begins(&mut self, rounds: u32, kept: u32);
    /// A round starts.
    fn starts(&mut self, progress: &RoundProgress, step: &Step);
    /// A round ended and is kept.
    fn ended(&mut self, progress: &RoundProgress, round: &Round, runs: &[PairRun]);
    /// A node is lost; the others go on.
    fn lost(&mut self, node: &str, why: &str);
    /// So many things stand out and are measured again.
    fn again(&mut self, suspects: usize);
}
