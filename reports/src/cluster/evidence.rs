//! What else speaks for a finding: how its nodes are set up otherwise, what their audits found, and what the runs remarked.

use std::collections::BTreeMap;

use schema::{Cluster, RoundPart};

use super::{census::Census, model::Subject};
use crate::render::number::grouped;

/// Remarks of a node's runs count as its own where it has so many times as many as nodes have in the middle.
const TIMES_ITS_PEERS: u64 = 3;

/// A remark without its number: `local_ack_timeout_err`.
type Kind = String;

/// How often something was remarked, in how many runs.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    count: u64,
    runs: u64,
}

/// What was remarked, by who it is about.
#[derive(Default)]
pub(super) struct Remarks {
    nodes: BTreeMap<Kind, BTreeMap<u32, Sum>>,
    pairs: BTreeMap<(u32, u32), BTreeMap<Kind, Sum>>,
}

impl Remarks {
    /// Of the runs of the pattern.
    pub(super) fn of(cluster: &Cluster) -> Self {
        let mut remarks = Remarks::default();
        for run in cluster.runs.iter().filter(|run| !run.remarks.is_empty()) {
            if cluster.rounds.get(run.round as usize).is_none_or(|round| round.part != RoundPart::Pattern) {
                continue;
            }
            for remark in &run.remarks {
                let (side, text) = remark.split_once(": ").unwrap_or(("", remark));
                let (count, kind) = counted(text);
                let of_pair = remarks.pairs.entry((run.requester, run.responder)).or_default();
                of_pair.entry(kind.clone()).or_default().add(count);
                let rank = match side {
                    "requester" => run.requester,
                    "responder" => run.responder,
                    _ => continue,
                };
                remarks.nodes.entry(kind).or_default().entry(rank).or_default().add(count);
            }
        }
        remarks
    }

    fn of_node(&self, rank: u32, nodes: usize) -> Vec<String> {
        let stands_out = |(kind, by_node): (&Kind, &BTreeMap<u32, Sum>)| {
            let own = by_node.get(&rank)?;
            let mut counts: Vec<u64> = by_node.values().map(|sum| sum.count).collect();
            counts.resize(nodes.max(counts.len()), 0);
            counts.sort_unstable();
            let middle = counts[counts.len() / 2];
            (own.count > TIMES_ITS_PEERS * middle).then(|| own.told(kind))
        };
        self.nodes.iter().filter_map(stands_out).collect()
    }

    fn of_link(&self, a: u32, b: u32) -> Vec<String> {
        let mut sums: BTreeMap<&Kind, Sum> = BTreeMap::new();
        for (kind, sum) in [(a, b), (b, a)].iter().filter_map(|pair| self.pairs.get(pair)).flatten() {
            let all = sums.entry(kind).or_default();
            all.count += sum.count;
            all.runs += sum.runs;
        }
        sums.into_iter().map(|(kind, sum)| sum.told(kind)).collect()
    }
}

impl Sum {
    fn add(&mut self, count: u64) {
        self.count += count;
        self.runs += 1;
    }

    fn told(&self, kind: &str) -> String {
        let plural = if self.runs == 1 { "" } else { "s" };
        format!("{} {kind} in {} run{plural}", grouped(self.count), self.runs)
    }
}

/// `3,412 local_ack_timeout_err` is 3,412 of the rest; what does not begin with a number is one of itself.
fn counted(text: &str) -> (u64, Kind) {
    let told = text.split_once(' ').and_then(|(number, rest)| {
        let digits = number.replace(',', "");
        Some((digits.parse().ok()?, rest.to_owned()))
    });
    told.unwrap_or_else(|| (1, format!("of `{text}`")))
}

/// What speaks for a finding about a subject.
pub(super) fn of(cluster: &Cluster, census: &Census, remarks: &Remarks, subject: &Subject) -> Vec<String> {
    let mut evidence = Vec::new();
    for group in census.odd.iter().filter(|group| group.nodes.iter().all(|rank| subject.nodes.contains(rank)))
    {
        let names = names(cluster, subject, &group.nodes);
        evidence.extend(group.facts.iter().map(|fact| format!("{names}{fact}")));
    }
    for rank in &subject.nodes {
        let name = names(cluster, subject, &[*rank]);
        evidence.extend(audited(cluster, *rank).into_iter().map(|found| format!("{name}{found}")));
        let remarked = remarks.of_node(*rank, cluster.nodes.len());
        evidence.extend(remarked.into_iter().map(|remark| format!("{name}{remark}")));
    }
    if let ([a, b], None) = (&subject.nodes[..], &subject.leaf) {
        evidence.extend(remarks.of_link(*a, *b));
    }
    evidence
}

/// What doctor says of a node, and not of most others.
fn audited(cluster: &Cluster, rank: u32) -> Vec<String> {
    let findings = |node: &schema::ClusterNode| {
        node.audit.iter().flat_map(|audit| audit.findings.clone()).collect::<Vec<_>>()
    };
    let audits: Vec<_> = cluster.nodes.iter().map(findings).collect();
    let common = |check: &str| {
        let with = audits.iter().filter(|findings| findings.iter().any(|finding| finding.check == check));
        with.count() * 2 > audits.len()
    };
    let own = audits[rank as usize].iter().filter(|finding| !common(&finding.check));
    own.map(|finding| format!("{}: {}", finding.subject, finding.summary)).collect()
}

/// Whose fact it is, where the subject is more than one node.
fn names(cluster: &Cluster, subject: &Subject, nodes: &[u32]) -> String {
    if subject.nodes.len() == 1 {
        return String::new();
    }
    let names: Vec<&str> = nodes.iter().map(|rank| cluster.nodes[*rank as usize].name.as_str()).collect();
    format!("{}: ", names.join(", "))
}
