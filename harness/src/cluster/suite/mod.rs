//! A cluster's suite as written: what a pair measures, which pairs there are, and by what the cluster is judged.
//!
//! Reads the file, the scenarios and the rounds it names, and checks all of it before anything is touched. What every key means is in
//! `docs/cluster.md`.

mod load;
mod nodes;
mod pattern;
mod steps;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, time::Duration};

use reports::cluster::ClusterRules;
use schema::{ClusterWorkload, Directions, HistoryLevel, SidesTuning};

use super::pattern::Pattern;

pub use load::{load, parse, rules};
pub use steps::Step;

/// A suite file, read, with what it names.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Name of the file without its ending: nights of one name are held against each other.
    pub name: String,
    /// The file as it was named.
    pub file: PathBuf,
    /// Its text.
    pub source: String,
    /// The question it answers.
    pub question: String,
    /// What every pair measures, each in a round of its own.
    pub workloads: Vec<ClusterWorkload>,
    /// What is turned on every node, on both sides alike for as long as the cluster is measured.
    pub tuning: SidesTuning,
    /// The RDMA device of a node of which nothing else is said: `auto`, `soft`, or a name.
    pub device: String,
    /// Which pairs there are.
    pub pattern: Pattern,
    /// Which way they are measured.
    pub directions: Directions,
    /// Most pairs that run at the same time; none is as many as the pattern has in a round.
    pub at_once: Option<u32>,
    /// How often the whole pattern is made.
    pub repeat: u32,
    /// Seed of what the pattern draws; none is drawn when it runs.
    pub seed: Option<u64>,
    /// By what the cluster is judged.
    pub rules: ClusterRules,
    /// Of what history has a series; none keeps no history.
    pub history: Option<Vec<HistoryLevel>>,
    /// How long agents are waited for.
    pub launch_wait: Duration,
    /// Whether every agent audits its host first.
    pub audit: bool,
}
