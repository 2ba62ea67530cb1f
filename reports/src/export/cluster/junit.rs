//! JUnit XML: a case a node, a case a leaf switch, and a case a pair of which something is said. What is confirmed is a failure, what
//! could not run an error; a node that never came, and what is suspected or odd, is skipped.

use schema::{Certainty, NodeState};

use crate::{
    cluster::{ClusterFinding, ClusterReport, FindingKind, NodeReport, NotRun},
    export::junit::{Case, Document, Outcome, Said, Suite, named, xml},
    render::{cluster::words, number},
};

/// The cluster.
pub fn junit(report: &ClusterReport) -> String {
    let nodes = unique(report.nodes.iter().map(|node| (node_case(report, node), node.name.clone())));
    let leaves = report.leaves.iter().map(|leaf| {
        let said =
            report.findings.iter().filter(|finding| finding.subject.leaf.as_deref() == Some(&leaf.name));
        (by_findings(said.collect()), leaf.name.clone())
    });
    let leaves = unique(leaves);
    let suites = [
        ("nodes", nodes, properties(report)),
        ("leaf switches", leaves, Vec::new()),
        ("pairs", unique(pairs(report).into_iter()), Vec::new()),
    ];
    let suite = |(name, cases, properties): (&str, Vec<(Outcome, String)>, _)| Suite {
        name: name.to_owned(),
        package: named(&report.head.suite),
        timestamp: number::utc_iso(report.head.started_at_unix_ms).replace('Z', ""),
        cases: cases
            .into_iter()
            .map(|(outcome, case)| Case {
                name: named(&case),
                classname: xml(&format!("{}.{name}", report.head.suite)),
                outcome,
            })
            .collect(),
        properties,
    };
    let suites = suites.into_iter().filter(|(_, cases, _)| !cases.is_empty()).map(suite).collect();
    Document { suites }.text()
}

/// Cases of one name are told apart by their number.
fn unique(cases: impl Iterator<Item = (Outcome, String)>) -> Vec<(Outcome, String)> {
    let mut taken = std::collections::HashSet::new();
    let told_apart = |(n, (outcome, name)): (usize, (Outcome, String))| {
        let fresh = taken.insert(name.clone());
        (outcome, if fresh { name } else { format!("{name}#{n}") })
    };
    cases.enumerate().map(told_apart).collect()
}

/// What is said of a node itself; links and leaf switches have cases of their own.
fn node_case(report: &ClusterReport, node: &NodeReport) -> Outcome {
    let findings = node.findings.iter().filter_map(|at| report.findings.get(*at as usize));
    let own: Vec<&ClusterFinding> =
        findings.filter(|one| !matches!(one.kind, FindingKind::Link | FindingKind::Leaf)).collect();
    let by_findings = by_findings(own);
    match (&by_findings, &node.state) {
        (Outcome::Failed(_), _) | (_, NodeState::Present) => by_findings,
        (_, NodeState::Lost { why, .. }) => Outcome::Errored(said("lost", why)),
        (_, NodeState::Absent { why }) => Outcome::Skipped(said("absent", why)),
    }
}

fn by_findings(findings: Vec<&ClusterFinding>) -> Outcome {
    let Some(worst) = findings.iter().find(|finding| finding.alarms()).or(findings.first()) else {
        return Outcome::Passed;
    };
    let lines: Vec<String> = findings.iter().map(|finding| line(finding)).collect();
    let said = |kind| Said { kind, message: xml(&line(worst)), text: xml(&lines.join("\n")) };
    match (worst.alarms(), worst.kind, worst.certainty) {
        (true, FindingKind::Fault, _) => Outcome::Failed(said("fault")),
        (true, ..) => Outcome::Failed(said("slow")),
        (false, _, Certainty::Suspected) => Outcome::Skipped(said("suspected")),
        (false, ..) => Outcome::Skipped(said("configuration")),
    }
}

fn line(finding: &ClusterFinding) -> String {
    format!("{}: {}", words::finding_word(finding), words::finding_line(finding))
}

fn said(kind: &'static str, text: &str) -> Said {
    Said { kind, message: xml(text), text: xml(text) }
}

/// Links of which something is said, and pairs that could not run.
fn pairs(report: &ClusterReport) -> Vec<(Outcome, String)> {
    let name = |nodes: &[u32]| {
        nodes.iter().map(|rank| words::node_name(report, *rank)).collect::<Vec<_>>().join(" to ")
    };
    let links = report.findings.iter().filter(|finding| finding.kind == FindingKind::Link);
    let links = links.map(|finding| (by_findings(vec![finding]), name(&finding.subject.nodes)));
    let not_run = |one: &NotRun| {
        let errored = Outcome::Errored(said("could_not_run", &words::not_run(one)));
        (one.nodes.len() > 1).then(|| (errored, name(&one.nodes)))
    };
    links.chain(report.not_run.iter().filter_map(not_run)).collect()
}

fn properties(report: &ClusterReport) -> Vec<(String, String)> {
    let mut all = vec![
        ("cluster".to_owned(), report.head.id.to_string()),
        ("verdict".to_owned(), xml(&words::sentence(report))),
    ];
    if let Some(simulated) = words::simulated(report) {
        all.push(("simulated".to_owned(), xml(&simulated)));
    }
    for node in &report.nodes {
        for (of, matrix) in node.measures.iter().zip(&report.matrices) {
            let numbers = [
                ("sends", of.sends),
                ("receives", of.receives),
                ("sends off peers", of.sends_change),
                ("receives off peers", of.receives_change),
            ];
            let name = |what: &str| xml(&format!("{} {what} {}", node.name, words::measure(&matrix.measure)));
            let known =
                numbers.into_iter().filter_map(|(what, number)| Some((name(what), number?.to_string())));
            all.extend(known);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cluster_report, fine_cluster_report};

    fn counts(text: &str) -> [usize; 4] {
        ["<testcase ", "<failure ", "<error ", "<skipped "].map(|what| text.matches(what).count())
    }

    #[test]
    fn every_state_has_its_outcome() {
        // Eight nodes, two leaves, a slow link and a pair that could not run. One node and the link are slow; a node was lost and a pair
        // could not run; a node never came and one is odd.
        assert_eq!(counts(&junit(&cluster_report())), [12, 2, 2, 2]);
        assert_eq!(counts(&junit(&fine_cluster_report())), [10, 0, 0, 0]);
    }

    #[test]
    fn a_lost_node_that_was_slow_for_certain_is_slow() {
        let mut report = cluster_report();
        report.findings[0].subject.nodes.push(4);
        report.nodes[4].findings.insert(0, 0);
        assert_eq!(counts(&junit(&report)), [12, 3, 1, 2]);
    }

    #[test]
    fn nodes_of_one_name_are_told_apart() {
        let mut report = fine_cluster_report();
        report.nodes[3].name = report.nodes[2].name.clone();
        assert!(junit(&report).contains("name=\"node3#3\""));
    }
}
