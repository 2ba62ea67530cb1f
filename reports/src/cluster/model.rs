//! What comes out of judging a cluster: everything that views of it show, computed.

use schema::{
    Bytes, Certainty, Directions, Fabric, LauncherKind, Metric, Nanos, NodeState, PatternKind, RoundPart,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// By what a cluster is judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterRules {
    /// A deviation of bandwidth or message rate below this share is never a finding: 0.05.
    pub smallest_change: f64,
    /// The same of latency: 0.10.
    pub smallest_latency_change: f64,
    /// Robust standard deviations from its peers that make a value a suspect: 5.
    pub outlier_z: f64,
    /// Share of a node's pairs that must be bad for the node to be blamed, and of the pairs of a leaf for the leaf: 0.6.
    pub node_share: f64,
    /// Rounds in which a suspect is measured again: 3.
    pub retest_rounds: u32,
    /// Rounds of them that must be bad to confirm it: 2.
    pub retest_bad: u32,
}

impl Default for ClusterRules {
    fn default() -> Self {
        ClusterRules {
            smallest_change: 0.05,
            smallest_latency_change: 0.10,
            outlier_z: 5.0,
            node_share: 0.6,
            retest_rounds: 3,
            retest_bad: 2,
        }
    }
}

/// What is said about a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClusterReport {
    /// [`schema::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What was measured, and when.
    pub head: ClusterHead,
    /// The worst that is said.
    pub verdict: ClusterVerdict,
    /// The worst first: confirmed, suspected, odd configurations.
    pub findings: Vec<ClusterFinding>,
    /// What these pairs can't tell, and why, in a sentence each. It changes no verdict.
    pub limits: Vec<String>,
    /// How many are how.
    pub counts: ClusterCounts,
    /// By rank.
    pub nodes: Vec<NodeReport>,
    /// By leaf switch, in the order of their names; empty where the topology is not known.
    pub leaves: Vec<GroupReport>,
    /// By number of switches on the way; empty where the topology is not known.
    pub hops: Vec<GroupReport>,
    /// One a measure, in the order of workloads, sizes and metrics.
    pub matrices: Vec<Matrix>,
    /// How the rounds went.
    pub rounds: RoundsReport,
    /// What could not be measured, nodes first. None of it says anything about speed.
    pub not_run: Vec<NotRun>,
    /// By what it was judged.
    pub rules: ClusterRules,
}

/// What was measured, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClusterHead {
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
    /// The fabric in words.
    pub fabric_label: Option<String>,
}

/// The worst that is said about a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClusterVerdict {
    /// No node, link or switch stands out.
    Fine,
    /// A confirmed finding stands.
    Slow,
    /// A node or a pair could not be measured.
    CouldNotRun,
    /// Something is suspected and could not be confirmed, or nodes differ in their configuration.
    Inconclusive,
}

impl ClusterVerdict {
    /// The exit code of a program that says it: 0 fine, 1 slow, 3 could not run, 4 inconclusive.
    pub fn exit_code(self) -> u8 {
        match self {
            ClusterVerdict::Fine => 0,
            ClusterVerdict::Slow => 1,
            ClusterVerdict::CouldNotRun => 3,
            ClusterVerdict::Inconclusive => 4,
        }
    }
}

/// How many are how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct ClusterCounts {
    /// Nodes that were asked for.
    pub nodes: u32,
    /// Nodes whose agents were there to the end.
    pub present: u32,
    /// Nodes that a confirmed finding is about.
    pub bad_nodes: u32,
    /// Measurements between pairs of the pattern.
    pub runs: u32,
    /// Of them, those whose numbers are not used.
    pub invalid: u32,
    /// Of them, those that gave no numbers.
    pub could_not_run: u32,
}

/// One number of every pair.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Measure {
    /// Which of [`schema::Cluster::workloads`].
    pub workload: u32,
    /// Its name, `scenario/workload`.
    pub name: String,
    /// Message size.
    pub msg_bytes: Bytes,
    /// What is compared.
    pub metric: Metric,
}

/// What a finding says is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Pairs that cross one leaf switch.
    Leaf,
    /// What a node sends and what it receives.
    Node,
    /// What a node sends.
    NodeSends,
    /// What a node receives.
    NodeReceives,
    /// One pair, while both its nodes are well with others: the way between them.
    Link,
    /// A node's configuration differs from that of its peers.
    OddConfiguration,
    /// The nodes fall into groups of different configuration, none of which is the odd one.
    Divided,
    /// What an agent found on its host, or counters found during the runs, whatever the speed was.
    Fault,
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Subject {
    /// Ranks: the node, both nodes of a link (requester first), the odd ones, or all below the leaf.
    pub nodes: Vec<u32>,
    /// The leaf switch, where it is about one.
    pub leaf: Option<String>,
}

/// By how much one measure of a finding's subject is off.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// Which.
    pub measure: Measure,
    /// Share by which it is off its peers, negative where the number is lower: -0.22.
    pub change: f64,
    /// What the subject comes to, in the metric's unit: the median over its pairs.
    pub value: f64,
    /// What its peers come to, in the metric's unit.
    pub peers: f64,
    /// Robust standard deviations from its peers.
    pub z: f64,
    /// Pairs of the subject that are bad.
    pub bad_pairs: u32,
    /// Pairs of the subject that were measured.
    pub pairs: u32,
}

/// What came of measuring a suspect again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RetestReport {
    /// Rounds that gave a number.
    pub rounds: u32,
    /// Of them, those in which it was bad again.
    pub bad: u32,
}

/// One thing to look at.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClusterFinding {
    /// What is wrong.
    pub kind: FindingKind,
    /// With what.
    pub subject: Subject,
    /// How sure.
    pub certainty: Certainty,
    /// By how much, the largest first; empty for what is not about speed.
    pub effects: Vec<Effect>,
    /// What came of measuring it again; null where it was not.
    pub retest: Option<RetestReport>,
    /// What else speaks for it: odd facts, findings of the audit, remarks of the runs, each with its numbers.
    pub evidence: Vec<String>,
    /// The finding in one sentence: `node7 receives 22 % less than its peers in 27 of 31 pairs: the host, not a link`.
    pub sentence: String,
    /// What to do next.
    pub advice: String,
}

impl ClusterFinding {
    /// Whether it makes the cluster slow.
    pub fn alarms(&self) -> bool {
        let of_speed = !matches!(self.kind, FindingKind::OddConfiguration | FindingKind::Divided);
        of_speed && self.certainty == Certainty::Confirmed
    }
}

/// A node, in short.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NodeReport {
    /// Its rank.
    pub rank: u32,
    /// Its name.
    pub name: String,
    /// `uname -n` there.
    pub host: Option<String>,
    /// Its RDMA device as asked.
    pub device: String,
    /// Its leaf switch.
    pub leaf: Option<String>,
    /// How far it came.
    pub state: NodeState,
    /// Position in [`ClusterReport::findings`] of those it is the subject of.
    pub findings: Vec<u32>,
    /// One a matrix, in their order.
    pub measures: Vec<NodeMeasure>,
}

/// One measure of a node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct NodeMeasure {
    /// Median over what it sends, in the metric's unit.
    pub sends: Option<f64>,
    /// Median over what it receives.
    pub receives: Option<f64>,
    /// Share by which what it sends is off its peers.
    pub sends_change: Option<f64>,
    /// Share by which what it receives is off its peers.
    pub receives_change: Option<f64>,
    /// Its pairs that were measured, both ways.
    pub pairs: u32,
}

/// Pairs that have something in common: a leaf, or the number of switches between them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GroupReport {
    /// `leaf1`; `3 switches`.
    pub name: String,
    /// Ranks of its nodes; empty for a hop class.
    pub nodes: Vec<u32>,
    /// One a matrix, in their order: median over its pairs in the metric's unit; null where none was measured.
    pub medians: Vec<Option<f64>>,
    /// Pairs that were measured.
    pub pairs: u32,
}

/// One measure of all pairs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Matrix {
    /// Which measure.
    pub measure: Measure,
    /// The metric's unit: bit/s, msg/s or ns.
    pub unit: String,
    /// Median over all pairs.
    pub median: Option<f64>,
    /// Row by requester, column by responder: the median of the pair's valid runs of the pattern; null where there is none.
    pub values: Vec<Vec<Option<f64>>>,
    /// The same for what of a value neither its row nor its column explains, as a share: -0.3 is 30 % below what both of its nodes
    /// let expect.
    pub residuals: Vec<Vec<Option<f32>>>,
}

/// How the rounds went.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RoundsReport {
    /// Rounds of each part.
    pub made: Vec<(RoundPart, u32)>,
    /// Median of the time between the first and the last post of a round's pairs; null where it is not known.
    pub median_skew_ns: Option<Nanos>,
    /// The longest of it.
    pub max_skew_ns: Option<Nanos>,
    /// How far off these may be, at worst.
    pub skew_uncertainty_ns: Option<Nanos>,
    /// Median of the controller's own time in a round.
    pub median_controller_ns: Option<Nanos>,
    /// The longest of it.
    pub max_controller_ns: Option<Nanos>,
}

/// What could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotRun {
    /// Ranks: the node, or the pair, requester first.
    pub nodes: Vec<u32>,
    /// Why, the first of it in words.
    pub why: String,
    /// Runs it kept from happening.
    pub runs: u32,
}
