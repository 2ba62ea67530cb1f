//! Clusters with known answers, from the pairs to the sentence.

use schema::{Certainty, Metric, PatternKind};

use super::*;
use crate::testing::cluster::{Plant, Sample, Simulated, Slow, sample};

fn planted(nodes: u32, leaves: u32, plants: &[(Slow, f64)]) -> Simulated {
    let plants = plants.iter().map(|(what, by)| Plant { what: *what, by: *by }).collect();
    Simulated { nodes, leaves, plants, ..Simulated::default() }
}

/// Kind, certainty and subject of what is found.
fn found(report: &ClusterReport) -> Vec<(FindingKind, Certainty, Vec<u32>)> {
    let of = |finding: &ClusterFinding| (finding.kind, finding.certainty, finding.subject.nodes.clone());
    report.findings.iter().map(of).collect()
}

fn judged(simulated: &Simulated) -> ClusterReport {
    simulated.judged(&ClusterRules::default())
}

#[test]
fn nothing_is_said_of_a_clean_cluster() {
    for (nodes, leaves) in [(8, 2), (16, 0), (64, 8)] {
        let report = judged(&planted(nodes, leaves, &[]));
        assert_eq!((report.verdict, &report.findings[..]), (ClusterVerdict::Fine, &[][..]));
    }
}

#[test]
fn each_thing_that_is_slow_is_named() {
    use Certainty::Confirmed;
    for (slow, kind, nodes) in [
        (Slow::Node(6), FindingKind::Node, vec![6]),
        (Slow::Sends(6), FindingKind::NodeSends, vec![6]),
        (Slow::Receives(6), FindingKind::NodeReceives, vec![6]),
        (Slow::Link(6, 40), FindingKind::Link, vec![6, 40]),
        (Slow::Way(40, 6), FindingKind::Link, vec![40, 6]),
        (Slow::Leaf(2), FindingKind::Leaf, (16..24).collect()),
    ] {
        let report = judged(&planted(64, 8, &[(slow, 0.3)]));
        let mut found = found(&report);
        if let (Slow::Link(..), Some((.., nodes))) = (slow, found.first_mut()) {
            nodes.sort_unstable();
        }
        assert_eq!(found, [(kind, Confirmed, nodes)], "{slow:?}");
        assert_eq!(report.verdict, ClusterVerdict::Slow);
    }
}

#[test]
fn a_screen_tells_by_measuring_again_which_end_it_is() {
    for (slow, kind, nodes) in
        [(Slow::Node(6), FindingKind::Node, vec![6]), (Slow::Receives(6), FindingKind::NodeReceives, vec![6])]
    {
        let screen = Simulated { pattern: PatternKind::Screen, ..planted(32, 4, &[(slow, 0.3)]) };
        let report = judged(&screen);
        assert_eq!(found(&report), [(kind, Certainty::Confirmed, nodes)], "{:#?}", report.findings);
    }
}

#[test]
fn four_nodes_are_enough_to_name_one() {
    for seed in 1..50 {
        let four = Simulated { seed, ..planted(4, 0, &[(Slow::Node(2), 0.4)]) };
        let report = judged(&four);
        assert_eq!(found(&report), [(FindingKind::Node, Certainty::Confirmed, vec![2])], "seed {seed}");
    }
}

#[test]
fn a_sentence_has_the_numbers() {
    let cluster = sample(Sample::SlowNode16);
    let report = judge(&cluster, &ClusterRules::default());
    let node = &report.findings[0];
    let bandwidth = node
        .effects
        .iter()
        .find(|effect| effect.measure.metric == Metric::Bandwidth)
        .expect("bandwidth is off");
    assert!((bandwidth.change + 0.22).abs() < 0.02, "{bandwidth:?}");
    assert_eq!((bandwidth.bad_pairs, bandwidth.pairs), (15, 15));
    assert!(node.sentence.starts_with("node7 receives "), "{}", node.sentence);
}
