//! A cluster measured: many pairs of nodes, in rounds of pairs that run at the same time.
//!
//! The replicate of a campaign is a run, that of a history a night; here it is a pair. What a pair measured is kept as it was
//! measured; which node, link or switch it speaks against is found out by `reports::cluster`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    finding::Finding,
    history::Configuration,
    metric::Metric,
    record::{Fabric, RunRecord},
    spec::{RunSpec, word_enum},
    units::{Bytes, Nanos},
};

word_enum! {
    /// How the agents of a cluster are started.
    LauncherKind {
        /// One `srun` step of the allocation we are in.
        Slurm = "slurm",
        /// One ssh a node.
        Ssh = "ssh",
        /// Child processes on this host.
        Local = "local",
        /// By someone else (mpirun, a Kubernetes Job), told to connect to us.
        Join = "join",
    }
}

word_enum! {
    /// Which nodes are measured with which, and which of it at the same time.
    PatternKind {
        /// Every pair once, by a round-robin tournament: n - 1 rounds of n/2 disjoint pairs for even n.
        Pairs = "pairs",
        /// n/2 disjoint pairs in one round: whether a closer look is worth it.
        Screen = "screen",
        /// Step d = 1..n-1: every node sends to the node d further on, all at once.
        Shift = "shift",
        /// The lower half against the upper half, all at once, in several random matchings.
        Bisection = "bisection",
        /// k nodes send to one, each node in turn.
        Incast = "incast",
        /// One node sends to k, each node in turn.
        Outcast = "outcast",
        /// Pairs below one leaf switch, all leaves at once.
        Leaf = "leaf",
        /// Pairs of each hop class in rounds of their own, the nearest first.
        Hop = "hop",
        /// The pairs of a screen, each by itself and again while other nodes send to its responder's leaf.
        Victim = "victim",
        /// As a file says.
        Custom = "custom",
    }
}

word_enum! {
    /// Which way a pair is measured.
    Directions {
        /// The first named posts, the second is written to.
        Forward = "forward",
        /// Both, one after the other.
        Both = "both",
    }
}

word_enum! {
    /// What a round is for.
    RoundPart {
        /// The pattern.
        Pattern = "pattern",
        /// Suspects against partners that are known to be good.
        Retest = "retest",
    }
}

word_enum! {
    /// What a pair is in its round.
    PairRole {
        /// What is measured.
        Measured = "measured",
        /// Load on the fabric beside what is measured.
        Congestor = "congestor",
    }
}

word_enum! {
    /// Of what a cluster's history has a series: what one value of a night stands for.
    HistoryLevel {
        /// A node, with all its peers: one series of what it sends, one of what it receives.
        Node = "node",
        /// The nodes below a leaf switch, with all their peers.
        Leaf = "leaf",
        /// A pair, each way.
        Pair = "pair",
    }
}

/// How far a node came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum NodeState {
    /// Its agent came, and was there to the end.
    Present,
    /// Its agent never came, or could not be worked with.
    Absent {
        /// Why, in words: what the launcher or the scheduler says.
        why: String,
    },
    /// Its agent was there and is gone, or answers no more.
    Lost {
        /// Why, in words.
        why: String,
        /// When it was noticed, ms since 1970 UTC.
        at_unix_ms: u64,
    },
}

/// A node of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterNode {
    /// Its name: the scheduler's, else that of the host file; unique in the cluster.
    pub name: String,
    /// `uname -n` there; null where its agent never came. Several nodes of a test cluster may share a host.
    pub host: Option<String>,
    /// Where its agent runs, in words: `ssh:node7`, `slurm:node7`.
    pub place: String,
    /// Its RDMA device as asked: `auto`, `soft`, or a name.
    pub device: String,
    /// The switches above it, the outermost first and its leaf last; empty where the topology is not known.
    pub switches: Vec<String>,
    /// How far it came.
    pub state: NodeState,
    /// What its agent found on its host; null where it never came, or was not asked.
    pub audit: Option<NodeAudit>,
}

impl ClusterNode {
    /// The switch it is plugged into.
    pub fn leaf(&self) -> Option<&str> {
        self.switches.last().map(String::as_str)
    }

    /// Switches a packet to another node passes: 1 below a common leaf, 3 by way of the next level up, and so on; none
    /// where the topology does not tell.
    pub fn hops(&self, other: &ClusterNode) -> Option<u32> {
        hops(&self.switches, &other.switches)
    }
}

/// Switches a packet passes from below one to below the other, each given as the switches above a node, the outermost first; none
/// where the topology does not tell.
pub fn hops(a: &[String], b: &[String]) -> Option<u32> {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let depth = a.len().max(b.len());
    (common > 0).then(|| 2 * (depth - common) as u32 + 1)
}

/// What an agent found on its host before anything was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeAudit {
    /// What can be compared with other nodes: `firmware` -> `20.31.1014`, `pcie_width` -> `16`.
    pub facts: Configuration,
    /// What doctor says, worth a warning or more.
    pub findings: Vec<Finding>,
}

/// What every pair is measured by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterWorkload {
    /// Name of the scenario it is from.
    pub scenario: String,
    /// Name of the variant.
    pub variant: String,
    /// Name of the workload in it.
    pub workload: String,
    /// What is measured; the sides' devices are those of the nodes.
    pub spec: RunSpec,
    /// What is kept, compared between peers and put into history, at every message size of the spec.
    pub metrics: Vec<Metric>,
}

/// One round: pairs that start together on a barrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Round {
    /// Its number, from 0, in the order the rounds were made.
    pub number: u32,
    /// What it is for.
    pub part: RoundPart,
    /// Which step of the pattern it is, in words: `step 3 of 7`, `incast to node4`.
    pub label: String,
    /// Which of [`Cluster::workloads`].
    pub workload: u32,
    /// Start, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
    /// From start to end, everything included.
    pub wall_ns: Nanos,
    /// From the first pair's first post to the last pair's; null with fewer than two pairs, or where it is not known.
    pub skew_ns: Option<Nanos>,
    /// How far off `skew_ns` may be: half the round trip to the farthest agent, twice.
    pub skew_uncertainty_ns: Option<Nanos>,
    /// Time in which the controller itself worked instead of waiting for an agent.
    pub controller_ns: Nanos,
}

/// How the measurement of a pair ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum PairOutcome {
    /// It measured, and no evidence speaks against its numbers.
    Measured,
    /// It measured, and its numbers are not used.
    Invalid {
        /// Why.
        why: String,
    },
    /// It gave no numbers: says nothing about speed.
    CouldNotRun {
        /// Why, and of which side.
        why: String,
    },
}

/// What a pair measured at one message size. A number that was not measured, or of which there are too few samples, is null.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairPoint {
    /// Message size.
    pub msg_bytes: Bytes,
    /// Payload bits per second, all directions of the test together.
    pub bandwidth_bits_per_sec: Option<f64>,
    /// Messages per second, all directions of the test together.
    pub messages_per_sec: Option<f64>,
    /// Median latency, ns.
    pub p50_ns: Option<f64>,
    /// 99th percentile of the latency, ns.
    pub p99_ns: Option<f64>,
}

impl PairPoint {
    /// The metrics that pairs are compared by.
    pub const METRICS: [Metric; 4] = [Metric::Bandwidth, Metric::MessageRate, Metric::P50, Metric::P99];

    /// The number of a metric, in [`Metric::unit`]; none for one that pairs are not compared by.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Bandwidth => self.bandwidth_bits_per_sec,
            Metric::MessageRate => self.messages_per_sec,
            Metric::P50 => self.p50_ns,
            Metric::P99 => self.p99_ns,
            Metric::P90 | Metric::P99_9 | Metric::P99_99 => None,
        }
    }

    /// Every size of a record.
    pub fn of(record: &RunRecord) -> Vec<PairPoint> {
        let point = |point: &crate::record::Point| PairPoint {
            msg_bytes: point.msg_bytes,
            bandwidth_bits_per_sec: Metric::Bandwidth.of(point),
            messages_per_sec: Metric::MessageRate.of(point),
            p50_ns: Metric::P50.of(point),
            p99_ns: Metric::P99.of(point),
        };
        record.points.iter().map(point).collect()
    }
}

/// One measurement between two nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairRun {
    /// Its number, from 0, in the order runs were made; [`RunRecord`]s are kept by it.
    pub sequence: u32,
    /// Which of [`Cluster::rounds`].
    pub round: u32,
    /// What it is in the round.
    pub role: PairRole,
    /// The node that posts, of [`Cluster::nodes`].
    pub requester: u32,
    /// The node that is written to.
    pub responder: u32,
    /// How it ended.
    pub outcome: PairOutcome,
    /// One a message size; empty where nothing was measured.
    pub points: Vec<PairPoint>,
    /// From the moment the barrier named to its first post; null where it is not known.
    pub late_ns: Option<i64>,
    /// What the evidence of the run says, worth a warning or more: `responder: 3,412 local_ack_timeout_err`.
    pub remarks: Vec<String>,
}

/// A cluster measured: what findings are computed from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Identity in the store.
    pub id: i64,
    /// Name of the suite.
    pub suite: String,
    /// The question it answers.
    pub question: String,
    /// How the agents were started.
    pub launcher: LauncherKind,
    /// Which nodes were measured with which.
    pub pattern: PatternKind,
    /// Which way.
    pub directions: Directions,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Start, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
    /// End, ms since 1970 UTC; null while rounds are missing.
    pub ended_at_unix_ms: Option<u64>,
    /// What carried the messages; null before the first run.
    pub fabric: Option<Fabric>,
    /// The fabric in words, `soft (model …)`; null before the first run.
    pub fabric_label: Option<String>,
    /// What every pair was measured by.
    pub workloads: Vec<ClusterWorkload>,
    /// By rank.
    pub nodes: Vec<ClusterNode>,
    /// In the order they were made.
    pub rounds: Vec<Round>,
    /// In the order they were made.
    pub runs: Vec<PairRun>,
}

/// What a suite's history is told of besides pairs: names of rolled-up ends, which no host can have.
pub mod rolled_up {
    /// The host of the far end of a node's or leaf's series: all its peers.
    pub const PEERS: &str = "*";

    /// The host of a leaf's series.
    pub fn leaf(name: &str) -> String {
        format!("leaf={name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(switches: &[&str]) -> ClusterNode {
        ClusterNode {
            name: String::new(),
            host: None,
            place: String::new(),
            device: "auto".into(),
            switches: switches.iter().map(|name| (*name).to_owned()).collect(),
            state: NodeState::Present,
            audit: None,
        }
    }

    #[test]
    fn hops_count_the_switches_of_the_way() {
        let (a, b) = (node(&["spine", "leaf1"]), node(&["spine", "leaf1"]));
        assert_eq!((a.leaf(), a.hops(&b)), (Some("leaf1"), Some(1)));
        assert_eq!(a.hops(&node(&["spine", "leaf2"])), Some(3));
        let deep = node(&["core", "pod1", "leaf1"]);
        assert_eq!(deep.hops(&node(&["core", "pod2", "leaf9"])), Some(5));
        assert_eq!(deep.hops(&node(&["core", "pod1", "leaf2"])), Some(3));
        assert_eq!(a.hops(&node(&[])), None);
        assert_eq!(a.hops(&node(&["other", "leaf1"])), None);
    }
}
