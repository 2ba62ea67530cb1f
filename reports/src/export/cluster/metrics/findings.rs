//! Findings: how many of which kind, and of what.

use schema::Certainty;

use super::suite;
use crate::{
    cluster::{ClusterReport, FindingKind},
    export::metrics::{Family, Sample},
    render::cluster::words,
};

fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Suspected => "suspected",
        Certainty::Confirmed => "confirmed",
    }
}

fn kind(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Leaf => "leaf",
        FindingKind::Node => "node",
        FindingKind::NodeSends => "node_sends",
        FindingKind::NodeReceives => "node_receives",
        FindingKind::Link => "link",
        FindingKind::OddConfiguration => "odd_configuration",
        FindingKind::Divided => "divided",
        FindingKind::Fault => "fault",
    }
}

const KINDS: [FindingKind; 8] = [
    FindingKind::Leaf,
    FindingKind::Node,
    FindingKind::NodeSends,
    FindingKind::NodeReceives,
    FindingKind::Link,
    FindingKind::OddConfiguration,
    FindingKind::Divided,
    FindingKind::Fault,
];

/// How many there are of each kind, and each of them by its subject.
pub(super) fn families(report: &ClusterReport) -> Vec<Family> {
    let labels = |of, sure| {
        vec![suite(report), ("kind", kind(of).to_owned()), ("certainty", certainty(sure).to_owned())]
    };
    let kinds =
        KINDS.into_iter().flat_map(|of| [Certainty::Confirmed, Certainty::Suspected].map(|sure| (of, sure)));
    let counted = kinds.map(|(of, sure)| {
        let mine = report.findings.iter().filter(|one| one.kind == of && one.certainty == sure);
        (labels(of, sure), mine.count() as f64)
    });
    // Of a link both ends are told, of a leaf switch its name; of other findings a sample a node.
    let subjects = report.findings.iter().flat_map(|finding| {
        let ends: Vec<[String; 2]> =
            match (finding.kind, &finding.subject.leaf, finding.subject.nodes.as_slice()) {
                (FindingKind::Leaf, Some(leaf), _) => vec![[leaf.clone(), String::new()]],
                (FindingKind::Link, _, [from, to]) => {
                    vec![[words::node_name(report, *from), words::node_name(report, *to)]]
                }
                (_, _, nodes) => {
                    nodes.iter().map(|rank| [words::node_name(report, *rank), String::new()]).collect()
                }
            };
        ends.into_iter().map(move |[subject, to]| {
            let mut all = labels(finding.kind, finding.certainty);
            all.extend([("subject", subject), ("destination", to)]);
            (all, 1.0)
        })
    });
    let mut subjects: Vec<Sample> = subjects.collect();
    let mut known = std::collections::HashSet::new();
    subjects.retain(|(labels, _)| known.insert(labels.clone()));
    vec![
        Family::gauge(
            "rdma_bench_cluster_findings",
            None,
            "Findings, by kind and certainty.",
            counted.collect(),
        ),
        Family::gauge(
            "rdma_bench_cluster_finding",
            None,
            "1 for a finding: of a node, a leaf switch, or a link, which has a destination.",
            subjects,
        ),
    ]
}
