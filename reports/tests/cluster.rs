//! The views of a cluster, compared with what they were, and what must hold of them whatever was measured.

mod common;

use common::golden;
use reports::{
    cluster::{ClusterReport, ClusterVerdict},
    render::{Look, cluster},
    testing::{awkward_cluster_report, cluster_report, fine_cluster_report},
};
use schema::Fabric;

const LOOK: Look = Look { width: 110, colours: false, pictures: true, all: false };

#[test]
fn a_cluster_in_the_terminal_and_in_a_pipe() {
    let report = cluster_report();
    golden("cluster/slow.txt", &cluster::terminal(&report, &LOOK));
    golden("cluster/narrow.txt", &cluster::terminal(&report, &Look { width: 80, ..LOOK }));
    golden("cluster/plain.txt", &cluster::terminal(&report, &Look::PLAIN));
    golden("cluster/lines.txt", &(cluster::lines(&report).join("\n") + "\n"));
    golden("cluster/fine.txt", &cluster::terminal(&fine_cluster_report(), &LOOK));
}

#[test]
fn a_cluster_as_markdown() {
    golden("cluster/cluster.md", &cluster::markdown(&cluster_report()));
    golden("cluster/awkward/cluster.md", &cluster::markdown(&awkward_cluster_report()));
}

#[test]
fn what_is_simulated_says_so_in_every_view() {
    let mut report = cluster_report();
    report.head.fabric = Some(Fabric::Soft);
    report.head.fabric_label = Some("soft (model latency=2us)".into());
    let said = "SIMULATED: soft (model latency=2us). No network was measured.";
    for text in [
        cluster::terminal(&report, &Look::PLAIN),
        cluster::markdown(&report),
        cluster::lines(&report).join("\n"),
    ] {
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn colours_are_where_they_are_wanted_and_move_nothing() {
    let report = cluster_report();
    let coloured = cluster::terminal(&report, &Look { colours: true, ..LOOK });
    assert!(coloured.contains("\u{1b}["));
    assert_eq!(without_escapes(&coloured), cluster::terminal(&report, &LOOK));
}

/// A text without its escapes.
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split('\u{1b}');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}

#[test]
fn a_cluster_of_which_nothing_was_measured_has_every_view() {
    let mut report: ClusterReport = cluster_report();
    report.verdict = ClusterVerdict::CouldNotRun;
    report.findings.clear();
    report.matrices.clear();
    report.leaves.clear();
    report.hops.clear();
    report.nodes.iter_mut().for_each(|node| {
        node.measures.clear();
        node.findings.clear();
    });
    for text in [cluster::terminal(&report, &LOOK), cluster::markdown(&report)] {
        assert!(text.contains("Could not run"), "{text}");
    }
    report.nodes.clear();
    assert!(cluster::markdown(&report).contains("Could not run"));
}
