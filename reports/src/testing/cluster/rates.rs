//! How often what is said of simulated clusters is right: planted faults that are named, findings that are about none, and clean
//! clusters of which something is said.

use rand::{Rng, SeedableRng, seq::index::sample};
use rand_chacha::ChaCha8Rng;
use schema::Metric;

use super::{Noise, Plant, Simulated, Slow, Tail};
use crate::cluster::{ClusterFinding, ClusterReport, ClusterRules, FindingKind};

/// What is planted in a row of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    /// Nothing.
    Nothing,
    /// One to three nodes of 64, up to eight of 512; each in what it sends, receives, or both; by 10 to 40 %.
    Nodes,
    /// As many ways between two nodes, both directions, by 20 to 40 %.
    Links,
    /// One leaf switch, by 10 to 40 %.
    Leaf,
}

impl Planted {
    /// All, in the order of the table.
    pub const ALL: [Planted; 4] = [Planted::Nothing, Planted::Nodes, Planted::Links, Planted::Leaf];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Planted::Nothing => "nothing",
            Planted::Nodes => "slow nodes",
            Planted::Links => "slow links",
            Planted::Leaf => "a slow leaf",
        }
    }
}

/// What came of some cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Clusters.
    pub cases: u32,
    /// Things that were planted.
    pub planted: u32,
    /// Of them, those that a confirmed finding names: the node, both ends of the link, or the leaf.
    pub named: u32,
    /// Of these, those of which it also says what is slow: what is sent, what is received, or both.
    pub sides_right: u32,
    /// Confirmed findings.
    pub findings: u32,
    /// Of them, those that are about nothing that was planted.
    pub false_findings: u32,
    /// Clusters with a false finding, confirmed or suspected.
    pub cases_with_false: u32,
    /// Findings that stayed suspected.
    pub suspected: u32,
    /// Rounds in which suspects were measured again.
    pub retest_rounds: u32,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.cases += other.cases;
        self.planted += other.planted;
        self.named += other.named;
        self.sides_right += other.sides_right;
        self.findings += other.findings;
        self.false_findings += other.false_findings;
        self.cases_with_false += other.cases_with_false;
        self.suspected += other.suspected;
        self.retest_rounds += other.retest_rounds;
    }
}

impl Tally {
    /// Share of the findings that are about something planted; 1 where there is none.
    pub fn precision(&self) -> f64 {
        share(self.findings - self.false_findings, self.findings)
    }

    /// Share of what was planted that is named; 1 where there is none.
    pub fn recall(&self) -> f64 {
        share(self.named, self.planted)
    }
}

fn share(part: u32, whole: u32) -> f64 {
    if whole == 0 { 1.0 } else { f64::from(part) / f64::from(whole) }
}

/// A cluster of a row: noise of 1 to 3 % from run to run, every other one with a heavy tail, one run of a hundred slower for no reason,
/// nodes that differ by 1 %, and 10 % between below a leaf and across. Bandwidth and p99 are compared; of 512 nodes bandwidth alone.
pub fn case(nodes: u32, planted: Planted, seed: u64) -> Simulated {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let noise = Noise {
        run: random.random_range(0.01..0.03),
        tail: if seed.is_multiple_of(2) { Tail::Normal } else { Tail::Heavy },
        outliers: 0.01,
        ..Noise::default()
    };
    let leaves = nodes / 16;
    let most = if nodes < 128 { 3 } else { 8 };
    let count = random.random_range(1..=most);
    let plants = match planted {
        Planted::Nothing => Vec::new(),
        Planted::Leaf => {
            let what = Slow::Leaf(random.random_range(0..leaves));
            vec![Plant { what, by: random.random_range(0.1..0.4) }]
        }
        Planted::Nodes => sample(&mut random, nodes as usize, count)
            .into_iter()
            .map(|node| {
                let what = [Slow::Node, Slow::Sends, Slow::Receives][random.random_range(0..3)](node as u32);
                Plant { what, by: random.random_range(0.1..0.4) }
            })
            .collect(),
        Planted::Links => {
            let ends: Vec<u32> =
                sample(&mut random, nodes as usize, 2 * count).into_iter().map(|node| node as u32).collect();
            let link = |pair: &[u32]| Plant {
                what: Slow::Link(pair[0], pair[1]),
                by: random.random_range(0.2..0.4),
            };
            ends.chunks_exact(2).map(link).collect()
        }
    };
    // A measure more of 512 nodes says little that 64 do not, and takes as long as the first.
    let metrics = if nodes < 128 { vec![Metric::Bandwidth, Metric::P99] } else { vec![Metric::Bandwidth] };
    Simulated { nodes, leaves, noise, plants, metrics, seed, ..Simulated::default() }
}

/// Measures, measures again and judges a cluster, and counts what was right.
pub fn tally(simulated: &Simulated) -> Tally {
    let report = simulated.judged(&ClusterRules::default());
    count(simulated, &report)
}

fn count(simulated: &Simulated, report: &ClusterReport) -> Tally {
    let (sure, suspected): (Vec<_>, Vec<_>) = report.findings.iter().partition(|finding| finding.alarms());
    let about = |finding: &ClusterFinding| {
        simulated.plants.iter().any(|plant| names(finding, plant, simulated).is_some())
    };
    let mut tally = Tally {
        cases: 1,
        planted: simulated.plants.len() as u32,
        findings: sure.len() as u32,
        false_findings: sure.iter().filter(|finding| !about(finding)).count() as u32,
        suspected: suspected.len() as u32,
        retest_rounds: report
            .rounds
            .made
            .iter()
            .filter(|(part, _)| *part == schema::RoundPart::Retest)
            .map(|(_, count)| count)
            .sum(),
        cases_with_false: u32::from(report.findings.iter().any(|finding| !about(finding))),
        ..Tally::default()
    };
    for plant in &simulated.plants {
        let side = sure.iter().filter_map(|finding| names(finding, plant, simulated)).max();
        tally.named += u32::from(side.is_some());
        tally.sides_right += u32::from(side == Some(true));
    }
    tally
}

/// Whether a finding names what was planted, and whether it also says rightly which way is slow.
fn names(finding: &ClusterFinding, plant: &Plant, simulated: &Simulated) -> Option<bool> {
    use FindingKind::{Leaf, Link, Node, NodeReceives, NodeSends};
    let nodes = &finding.subject.nodes;
    let of_node = |node: u32, kind: FindingKind| {
        let named = matches!(finding.kind, Node | NodeSends | NodeReceives) && nodes[..] == [node];
        named.then_some(finding.kind == kind)
    };
    match plant.what {
        Slow::Node(node) => of_node(node, Node),
        Slow::Sends(node) => of_node(node, NodeSends),
        Slow::Receives(node) => of_node(node, NodeReceives),
        Slow::Link(a, b) | Slow::Way(a, b) => {
            let named = finding.kind == Link && (nodes[..] == [a, b] || nodes[..] == [b, a]);
            named.then_some(true)
        }
        Slow::Leaf(leaf) => {
            let named = finding.kind == Leaf && nodes.iter().all(|node| simulated.leaf(*node) == Some(leaf));
            named.then_some(true)
        }
    }
}
