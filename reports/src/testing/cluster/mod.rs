//! Simulated clusters with a known answer: what the pairs of a pattern would have measured, and what a retest would have. Seeded: the
//! same [`Simulated`] is the same cluster.
//!
//! A pair's speed is that of its distance, times what its requester sends, its responder receives and the way between them
//! carry, times the noise of the run.

mod noise;
mod plant;
pub mod rates;
mod rig;
mod sample;

pub use noise::{Noise, Tail};
pub use plant::{Plant, Slow};
pub use rig::Rig;
pub use sample::{Sample, sample};

use schema::{
    Bytes, Cluster, ClusterNode, ClusterWorkload, Configuration, Directions, Fabric, LauncherKind, Metric,
    NodeAudit, NodeState, PatternKind, RunSpec, SCHEMA_VERSION, Test,
};

use super::STARTED_AT_UNIX_MS;
use crate::cluster::{ClusterReport, ClusterRules, judge};

/// What is put into a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// Nodes, `node1` and so on.
    pub nodes: u32,
    /// Leaf switches below one spine, with as many nodes each; 0 is a topology that nobody told.
    pub leaves: u32,
    /// Pairs, screen or shift.
    pub pattern: PatternKind,
    /// Which way.
    pub directions: Directions,
    /// What is compared, at 64 KiB.
    pub metrics: Vec<Metric>,
    /// How runs vary.
    pub noise: Noise,
    /// What is slow.
    pub plants: Vec<Plant>,
    /// Facts that a node has otherwise than its peers: rank, name, value.
    pub facts: Vec<(u32, &'static str, &'static str)>,
    /// Seed of all noise.
    pub seed: u64,
}

impl Default for Simulated {
    /// Sixty-four nodes below eight leaves, every pair measured both ways, with two per cent of noise and nothing else.
    fn default() -> Self {
        Simulated {
            nodes: 64,
            leaves: 8,
            pattern: PatternKind::Pairs,
            directions: Directions::Both,
            metrics: vec![Metric::Bandwidth, Metric::P99],
            noise: Noise::default(),
            plants: Vec::new(),
            facts: Vec::new(),
            seed: 1,
        }
    }
}

/// What agents of a plain node tell of their hosts.
const FACTS: [(&str, &str); 5] = [
    ("firmware", "20.31.1014"),
    ("governor", "performance"),
    ("kernel", "6.12.48"),
    ("mtu", "9000"),
    ("pcie_width", "16"),
];

impl Simulated {
    /// The leaf of a node; none where the topology is not told.
    pub fn leaf(&self, rank: u32) -> Option<u32> {
        (self.leaves > 0).then(|| rank * self.leaves / self.nodes)
    }

    /// Measures the pattern, and measures again what stands out until enough is known, as `cluster run` does.
    pub fn carried_out(&self, rules: &ClusterRules) -> Cluster {
        let mut rig = Rig::of(self);
        rig.pattern();
        rig.retest(rules);
        rig.cluster
    }

    /// The same, judged.
    pub fn judged(&self, rules: &ClusterRules) -> ClusterReport {
        judge(&self.carried_out(rules), rules)
    }

    /// The cluster before anything was measured.
    fn empty(&self) -> Cluster {
        let mut spec = RunSpec::new(Test::Bandwidth);
        spec.msg_bytes = vec![Bytes(65_536)];
        Cluster {
            schema_version: SCHEMA_VERSION,
            id: 1,
            suite: "cluster-pairs".into(),
            question: "Does every pair of nodes reach what its peers reach?".into(),
            launcher: LauncherKind::Slurm,
            pattern: self.pattern,
            directions: self.directions,
            seed: self.seed,
            started_at_unix_ms: STARTED_AT_UNIX_MS,
            ended_at_unix_ms: None,
            fabric: Some(Fabric::Verbs),
            fabric_label: Some("RoCE v2".into()),
            workloads: vec![ClusterWorkload {
                scenario: "pair-write".into(),
                variant: "base".into(),
                workload: "write".into(),
                spec,
                metrics: self.metrics.clone(),
            }],
            nodes: (0..self.nodes).map(|rank| self.node(rank)).collect(),
            rounds: Vec::new(),
            runs: Vec::new(),
        }
    }

    fn node(&self, rank: u32) -> ClusterNode {
        let name = format!("node{}", rank + 1);
        let mut facts: std::collections::BTreeMap<String, String> =
            FACTS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        for (_, fact, value) in self.facts.iter().filter(|(of, ..)| *of == rank) {
            facts.insert((*fact).to_owned(), (*value).to_owned());
        }
        let leaf = self.leaf(rank);
        ClusterNode {
            host: Some(name.clone()),
            place: format!("slurm:{name}"),
            name,
            device: "mlx5_0".into(),
            switches: leaf.map_or_else(Vec::new, |leaf| vec!["spine".into(), format!("leaf{}", leaf + 1)]),
            state: NodeState::Present,
            audit: Some(NodeAudit { facts: Configuration(facts), findings: Vec::new() }),
        }
    }
}
