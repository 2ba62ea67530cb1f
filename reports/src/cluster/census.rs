//! Compares what the agents found on their hosts: facts that few nodes have otherwise, facts that divide the nodes into groups, and
//! faults.

use std::collections::BTreeMap;

use schema::{Cluster, Finding, Severity};

/// Nodes that have facts otherwise than their peers, with every such fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// Ranks, ascending.
    pub(super) nodes: Vec<u32>,
    /// `firmware is 20.30.1004, 20.31.1014 on 98 others`.
    pub(super) facts: Vec<String>,
}

/// A check that found something wrong, and where.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault<'c> {
    /// Ranks, ascending.
    pub(super) nodes: Vec<u32>,
    /// What was found, one a node.
    pub(super) findings: Vec<&'c Finding>,
}

/// Nodes below which a group of nodes is odd: a tenth, and always a single one.
const ODD_SHARE: f64 = 0.1;
/// Share of the nodes that must agree for the others to be odd.
const MAJORITY: f64 = 2.0 / 3.0;

/// What the audits of a cluster's nodes say beside one another.
#[derive(Debug, Default)]
pub(super) struct Census<'c> {
    /// By the nodes.
    pub(super) odd: Vec<Group>,
    pub(super) divided: Vec<Group>,
    /// By the check.
    pub(super) faults: Vec<Fault<'c>>,
}

impl<'c> Census<'c> {
    pub(super) fn of(cluster: &'c Cluster) -> Self {
        let (mut odd, mut divided) = (BTreeMap::new(), BTreeMap::new());
        for (name, values) in facts(cluster) {
            sort_out(name, &values, &mut odd, &mut divided);
        }
        let groups = |of: BTreeMap<Vec<u32>, Vec<String>>| {
            of.into_iter().map(|(nodes, facts)| Group { nodes, facts }).collect()
        };
        Census { odd: groups(odd), divided: groups(divided), faults: faults(cluster) }
    }
}

/// By name and value: who has it.
type Facts<'c> = BTreeMap<&'c str, BTreeMap<&'c str, Vec<u32>>>;

fn facts(cluster: &Cluster) -> Facts<'_> {
    let mut facts: Facts = BTreeMap::new();
    for (rank, node) in (0u32..).zip(&cluster.nodes) {
        for (name, value) in node.audit.iter().flat_map(|audit| &audit.facts.0) {
            facts.entry(name).or_default().entry(value).or_default().push(rank);
        }
    }
    facts
}

/// Puts one fact where it belongs. A node that does not tell it is neither odd nor counted.
fn sort_out(
    name: &str,
    values: &BTreeMap<&str, Vec<u32>>,
    odd: &mut BTreeMap<Vec<u32>, Vec<String>>,
    divided: &mut BTreeMap<Vec<u32>, Vec<String>>,
) {
    let nodes: usize = values.values().map(Vec::len).sum();
    // Where most nodes have a value of their own it says who a node is, and not how it is set up.
    if values.len() < 2 || (nodes > 2 && values.len() * 2 > nodes) {
        return;
    }
    let mut groups: Vec<(&str, &Vec<u32>)> = values.iter().map(|(value, nodes)| (*value, nodes)).collect();
    groups.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then(a.0.cmp(b.0)));
    let (most, rest) = (groups[0], &groups[1..]);
    let few = (ODD_SHARE * nodes as f64).max(1.0);
    let clear = most.1.len() as f64 >= MAJORITY * nodes as f64;
    let (small, large): (Vec<_>, Vec<_>) =
        rest.iter().partition(|(_, nodes)| clear && nodes.len() as f64 <= few);
    for (value, nodes) in small {
        let fact = format!("{name} is {value}, {} on {} others", most.0, most.1.len());
        odd.entry(nodes.clone()).or_default().push(fact);
    }
    if !large.is_empty() {
        let mut others: Vec<u32> = large.iter().flat_map(|(_, nodes)| nodes.iter().copied()).collect();
        others.sort_unstable();
        let told: Vec<String> = std::iter::once(most)
            .chain(large)
            .map(|(value, nodes)| format!("{value} on {} nodes", nodes.len()))
            .collect();
        divided.entry(others).or_default().push(format!("{name} is {}", told.join(", ")));
    }
}

/// One a check, however many nodes it is wrong on.
fn faults(cluster: &Cluster) -> Vec<Fault<'_>> {
    let mut checks: BTreeMap<&str, Fault> = BTreeMap::new();
    for (rank, node) in (0u32..).zip(&cluster.nodes) {
        let found = node.audit.iter().flat_map(|audit| &audit.findings);
        for finding in found.filter(|finding| finding.severity == Severity::Wrong) {
            let fault = checks
                .entry(&finding.check)
                .or_insert_with(|| Fault { nodes: Vec::new(), findings: Vec::new() });
            if fault.nodes.last() != Some(&rank) {
                fault.nodes.push(rank);
                fault.findings.push(finding);
            }
        }
    }
    checks.into_values().collect()
}
