//! Findings, nodes and groups as the page shows them, in words.

use schema::Direction;

use crate::{
    cluster::{ClusterFinding, ClusterReport, FindingKind, GroupReport, NodeReport},
    render::{
        cluster::{words, worst},
        number,
        view::Badge,
    },
};

/// One finding.
pub(super) struct Finding {
    pub(super) badge: Badge,
    pub(super) kind: &'static str,
    /// How far off the largest of its effects is.
    pub(super) change: Option<String>,
    pub(super) sentence: String,
    pub(super) effects: Vec<String>,
    /// What else speaks for it.
    pub(super) evidence: Vec<String>,
    pub(super) advice: String,
    /// Rank and name of the nodes that it is about.
    pub(super) nodes: Vec<(u32, String)>,
    /// What the button shows on the map: the measure, and the row and the column, where it is about one.
    pub(super) on_map: Option<OnMap>,
}

/// A place on the map.
pub(super) struct OnMap {
    pub(super) measure: usize,
    pub(super) row: u32,
    pub(super) column: u32,
}

/// Nodes named at a finding, at most; the node table has the others.
const NAMED: usize = 12;

impl Finding {
    pub(super) fn of(report: &ClusterReport, finding: &ClusterFinding) -> Self {
        let nodes = &finding.subject.nodes;
        let largest = finding.effects.first();
        Finding {
            badge: words::finding(finding),
            kind: words::kind(finding.kind),
            change: largest.map(|of| words::deviation(&report.rules, of.measure.metric, of.change)),
            sentence: finding.sentence.clone(),
            effects: finding.effects.iter().map(|effect| words::effect(&report.rules, effect)).collect(),
            evidence: finding
                .retest
                .map(words::retest)
                .into_iter()
                .chain(finding.evidence.iter().cloned())
                .collect(),
            advice: finding.advice.clone(),
            nodes: nodes.iter().take(NAMED).map(|rank| (*rank, words::node_name(report, *rank))).collect(),
            on_map: on_map(report, finding),
        }
    }
}

fn on_map(report: &ClusterReport, finding: &ClusterFinding) -> Option<OnMap> {
    let wanted = &finding.effects.first()?.measure;
    let measure = report.matrices.iter().position(|matrix| matrix.measure == *wanted)?;
    let first = *finding.subject.nodes.first()?;
    let (row, column) = match finding.kind {
        FindingKind::Link => (first, *finding.subject.nodes.get(1)?),
        FindingKind::NodeReceives => (worst_partner(report, measure, first, false)?, first),
        _ => (first, worst_partner(report, measure, first, true)?),
    };
    Some(OnMap { measure, row, column })
}

/// The other end of a node's worst pair.
fn worst_partner(report: &ClusterReport, measure: usize, node: u32, sends: bool) -> Option<u32> {
    let matrix = &report.matrices[measure];
    let value = |other: u32| {
        let (row, column) = if sends { (node, other) } else { (other, node) };
        *matrix.values.get(row as usize)?.get(column as usize)?
    };
    let lower = matrix.measure.metric.direction() == Direction::HigherIsBetter;
    let measured = (0..report.nodes.len() as u32).filter_map(|other| Some((other, value(other)?)));
    measured
        .min_by(|(_, a), (_, b)| if lower { a.total_cmp(b) } else { b.total_cmp(a) })
        .map(|(other, _)| other)
}

/// A node.
pub(super) struct NodeRow {
    pub(super) rank: u32,
    pub(super) name: String,
    /// Its host, where that is called otherwise, and its device.
    pub(super) about: String,
    pub(super) leaf: String,
    pub(super) state: Badge,
    pub(super) why: String,
    /// What is found there, and the number of the finding.
    pub(super) found: Vec<(u32, &'static str)>,
    /// Sends, off peers, receives, off peers, pairs.
    pub(super) numbers: [String; 5],
}

impl NodeRow {
    pub(super) fn of(report: &ClusterReport, node: &NodeReport, at: Option<usize>) -> Self {
        let (state, why) = words::state(&node.state);
        let host = node.host.as_ref().filter(|host| **host != node.name).map(|host| format!("on {host}, "));
        let found = |at: &u32| Some((*at, words::kind(report.findings.get(*at as usize)?.kind)));
        NodeRow {
            rank: node.rank,
            name: node.name.clone(),
            about: host.unwrap_or_default() + &node.device,
            leaf: node.leaf.clone().unwrap_or_default(),
            state,
            why: why.to_owned(),
            found: node.findings.iter().filter_map(found).collect(),
            numbers: at.map_or_else(Default::default, |at| numbers(report, node, at)),
        }
    }
}

fn numbers(report: &ClusterReport, node: &NodeReport, at: usize) -> [String; 5] {
    let metric = report.matrices[at].measure.metric;
    let of = worst::measured(node, at);
    let value =
        |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| number::value(metric, value));
    let off = |share: Option<f64>| {
        share.map_or_else(String::new, |share| words::deviation(&report.rules, metric, share))
    };
    [
        value(of.and_then(|of| of.sends)),
        off(of.and_then(|of| of.sends_change)),
        value(of.and_then(|of| of.receives)),
        off(of.and_then(|of| of.receives_change)),
        of.map_or(0, |of| of.pairs).to_string(),
    ]
}

/// Pairs with something in common.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) nodes: usize,
    pub(super) pairs: u32,
    /// One a measure.
    pub(super) medians: Vec<String>,
}

impl Group {
    pub(super) fn of(report: &ClusterReport, group: &GroupReport) -> Self {
        let medians = group.medians.iter().zip(&report.matrices).map(|(median, matrix)| {
            median.map_or_else(|| "none".to_owned(), |value| number::value(matrix.measure.metric, value))
        });
        Group {
            name: group.name.clone(),
            nodes: group.nodes.len(),
            pairs: group.pairs,
            medians: medians.collect(),
        }
    }
}
