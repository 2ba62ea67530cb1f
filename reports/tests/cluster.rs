//! The views of a cluster, compared with what they were, and what must hold of them whatever was measured.

mod common;

use common::{golden, self_contained};
use reports::{
    cluster::{ClusterReport, ClusterVerdict},
    export::cluster::{Format, Pairs},
    render::{Look, cluster},
    testing::{
        awkward_cluster, awkward_cluster_report, cluster_report, fine_cluster, fine_cluster_report,
        measured_cluster,
    },
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
fn one_node_and_one_pair_in_full() {
    let (measured, report) = (measured_cluster(), cluster_report());
    let nodes = [0, 2, 4, 7].map(|rank| cluster::node(&measured, &report, rank, &LOOK).unwrap());
    golden("cluster/nodes.txt", &nodes.join("\n"));
    let pairs =
        [[0, 5], [2, 4], [3, 6], [0, 7]].map(|pair| cluster::pair(&measured, &report, pair, &LOOK).unwrap());
    golden("cluster/pairs.txt", &pairs.join("\n"));
    assert!(cluster::node(&measured, &report, 8, &LOOK).is_none());
    assert!(cluster::pair(&measured, &report, [0, 8], &LOOK).is_none());
}

#[test]
fn every_form_for_another_tool() {
    for (folder, measured, report, pairs) in [
        ("clusters", measured_cluster(), cluster_report(), Pairs::LeftOut),
        ("clusters/awkward", awkward_cluster(), awkward_cluster_report(), Pairs::Told),
    ] {
        for format in Format::ALL {
            golden(&format!("{folder}/{}", format.file()), &format.of(&measured, &report, pairs));
        }
    }
}

#[test]
fn the_page_asks_nothing_of_the_network_and_lets_its_own_script_run_and_no_other() {
    self_contained(&cluster::html(&measured_cluster(), &cluster_report()).unwrap(), "cluster.html");
}

#[test]
fn the_page_has_findings_first_and_every_node() {
    let report = cluster_report();
    let page = cluster::html(&measured_cluster(), &report).unwrap();
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    assert!(at(r#"<section id="findings">"#) < at(r#"<section id="pairs">"#));
    for finding in &report.findings {
        assert!(
            page.contains(&format!(r#"<p class="said">{}</p>"#, finding.sentence)),
            "{}",
            finding.sentence
        );
    }
    for node in &report.nodes {
        at(&format!(r#"<tr id="n{}""#, node.rank));
    }
    // The slow link leads to its cell, the slow node to its worst pair.
    at(r#"data-measure="0" data-row="0" data-column="5""#);
    assert!(!cluster::html(&fine_cluster(), &fine_cluster_report()).unwrap().contains(r#"id="findings""#));
}

#[test]
fn names_and_texts_of_people_are_text_and_no_markup() {
    let page = cluster::html(&awkward_cluster(), &awkward_cluster_report()).unwrap();
    assert!(!page.contains("<b>bold"), "markup came through");
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
        cluster::html(&measured_cluster(), &report).unwrap(),
    ] {
        assert!(text.contains(said));
    }
}

#[test]
fn what_the_pairs_cannot_tell_is_said_in_every_view() {
    let mut report = fine_cluster_report();
    report.limits = vec!["with two nodes nothing can be told".into()];
    for text in [
        cluster::terminal(&report, &Look::PLAIN),
        cluster::markdown(&report),
        cluster::lines(&report).join("\n"),
        cluster::html(&fine_cluster(), &report).unwrap(),
    ] {
        assert!(text.contains("With two nodes nothing can be told."), "{text}");
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
    let mut measured = measured_cluster();
    measured.runs.clear();
    measured.rounds.clear();
    let page = cluster::html(&measured, &report).unwrap();
    assert!(page.contains("</html>") && !page.contains(r#"id="pairs""#));
    report.nodes.clear();
    assert!(cluster::markdown(&report).contains("Could not run"));
}
