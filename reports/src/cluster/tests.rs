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

#[test]
fn what_is_planned_is_disjoint_and_ends() {
    let rules = ClusterRules::default();
    let simulated = planted(64, 8, &[(Slow::Node(6), 0.3), (Slow::Link(20, 50), 0.4), (Slow::Leaf(7), 0.3)]);
    let mut rig = crate::testing::cluster::Rig::of(&simulated);
    rig.pattern();
    let suspects = suspects(&rig.cluster, &rules);
    let mut attempts = 0;
    loop {
        let rounds = retest(&rig.cluster, &suspects, attempts, &rules);
        if rounds.is_empty() {
            break;
        }
        for pairs in rounds {
            let mut seen = std::collections::BTreeSet::new();
            assert!(pairs.iter().all(|(a, b)| seen.insert(*a) && seen.insert(*b)), "{pairs:?}");
            rig.round(schema::RoundPart::Retest, "retest", &pairs);
        }
        attempts += 1;
    }
    assert_eq!(attempts, 2, "two bad rounds of three are enough");
    // As it goes when the pattern is taken apart once.
    assert_eq!(judge(&rig.cluster, &rules).findings, judged(&simulated).findings);
}

#[test]
fn a_suspect_that_was_not_measured_again_is_not_confirmed() {
    let simulated = planted(64, 8, &[(Slow::Node(6), 0.3)]);
    let mut rig = crate::testing::cluster::Rig::of(&simulated);
    rig.pattern();
    let report = judge(&rig.cluster, &ClusterRules::default());
    assert_eq!(found(&report), [(FindingKind::Node, Certainty::Suspected, vec![6])]);
    assert_eq!(report.verdict, ClusterVerdict::Inconclusive);
    // Measured again, and well: nothing is left of it.
    let well = planted(64, 8, &[]);
    let mut other = crate::testing::cluster::Rig::of(&well);
    std::mem::swap(&mut other.cluster, &mut rig.cluster);
    other.retest(&ClusterRules::default());
    let report = judge(&other.cluster, &ClusterRules::default());
    assert_eq!((report.verdict, found(&report)), (ClusterVerdict::Fine, vec![]));
}

#[test]
fn nodes_that_could_not_be_measured_are_not_slow() {
    let report = judge(&sample(Sample::Broken), &ClusterRules::default());
    assert_eq!(report.verdict, ClusterVerdict::CouldNotRun);
    assert!(report.findings.is_empty());
    let nodes: Vec<&[u32]> = report.not_run.iter().map(|one| &one.nodes[..]).collect();
    assert_eq!(nodes, [&[3][..], &[8], &[1, 5]]);
    assert_eq!((report.counts.nodes, report.counts.present), (12, 10));
}

#[test]
fn an_odd_fact_is_a_finding_by_itself_and_no_verdict_of_slow() {
    let odd = Simulated { facts: vec![(5, "firmware", "20.30.1004")], ..planted(16, 0, &[]) };
    let report = judged(&odd);
    assert_eq!(found(&report), [(FindingKind::OddConfiguration, Certainty::Confirmed, vec![5])]);
    assert_eq!(report.verdict, ClusterVerdict::Inconclusive);
    assert_eq!(report.findings[0].evidence, ["firmware is 20.30.1004, 20.31.1014 on 15 others"]);
    let facts = (0..8).map(|rank| (rank, "mtu", "1500")).collect();
    let divided = Simulated { facts, ..planted(16, 0, &[]) };
    let report = judged(&divided);
    assert_eq!(report.findings[0].kind, FindingKind::Divided);
    assert_eq!(report.findings[0].evidence, ["mtu is 1500 on 8 nodes, 9000 on 8 nodes"]);
}

#[test]
fn evidence_of_a_slow_node_is_told_with_it() {
    let report = judge(&sample(Sample::SlowNode16), &ClusterRules::default());
    let node = &report.findings[0];
    assert_eq!(node.kind, FindingKind::NodeReceives);
    for said in ["pcie_width is 8, 16 on 15 others", "PCIe x8 where", "local_ack_timeout_err in 15 runs"] {
        assert!(node.evidence.iter().any(|evidence| evidence.contains(said)), "{said}: {:?}", node.evidence);
    }
    assert!(report.findings.iter().any(|finding| finding.kind == FindingKind::Fault));
}

#[test]
fn few_small_and_noisy_clusters_are_said_to_be_slow() {
    let noise = crate::testing::cluster::Noise { run: 0.05, node: 0.01, ..Default::default() };
    let said = |seed: u64| {
        let small = Simulated { noise, seed, ..planted(4 + 2 * (seed % 3) as u32, 0, &[]) };
        !judged(&small).findings.is_empty()
    };
    let findings = (0..600).filter(|seed| said(*seed)).count();
    assert!(findings <= 6, "{findings} of 600 clean clusters");
}

/// A quicker run of `examples/cluster_rates.rs`.
#[test]
fn findings_are_right() {
    use crate::testing::cluster::rates::{Planted, Tally, case, tally};
    for planted in Planted::ALL {
        let mut row = Tally::default();
        (1_000..1_040).for_each(|seed| row += tally(&case(64, planted, seed)));
        assert!(row.precision() >= 0.98 && row.recall() >= 0.98, "{planted:?}: {row:?}");
        assert!(row.cases_with_false <= 1, "{planted:?}: {row:?}");
    }
}
