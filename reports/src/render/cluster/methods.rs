//! How the rounds went, how it was measured, and by what it was judged, in plain words.

use schema::RoundPart;

use crate::{
    cluster::{ClusterReport, ClusterRules},
    render::number,
};

/// How the rounds went: how many, how far apart their pairs began, what the controller took.
pub(super) fn rounds(report: &ClusterReport) -> Vec<String> {
    let rounds = &report.rounds;
    let made: Vec<String> = rounds
        .made
        .iter()
        .map(|(part, count)| {
            let what = match part {
                RoundPart::Pattern => format!("of the pattern {}", report.head.pattern),
                RoundPart::Retest => "of retests".to_owned(),
            };
            format!("{} {what}", number::counted(*count, "round"))
        })
        .collect();
    let nanos = |ns: schema::Nanos| number::nanos(ns.get() as f64);
    let skew = rounds.median_skew_ns.zip(rounds.max_skew_ns).map(|(median, max)| {
        let off = rounds.skew_uncertainty_ns.map_or_else(String::new, |off| format!(", ±{}", nanos(off)));
        format!("the pairs of a round began within {} (median), at most {}{off}", nanos(median), nanos(max))
    });
    let worked = rounds.median_controller_ns.zip(rounds.max_controller_ns).map(|(median, max)| {
        format!("the controller itself took {} of a round (median), at most {}", nanos(median), nanos(max))
    });
    let made = if made.is_empty() { "no round was made".to_owned() } else { made.join(", ") };
    [Some(made), skew, worked].into_iter().flatten().collect()
}

/// How it was measured and how findings are made, in plain words.
pub(super) fn methods(report: &ClusterReport) -> Vec<String> {
    vec![
        format!(
            "Pairs of nodes were measured in rounds by the pattern {}. The pairs of a round start together: each requester stands ready and posts its first message at a moment that all were told. A pair's value is the median of its valid runs.",
            report.head.pattern
        ),
        "Whether a node or a link is slow is told by taking the table of values apart: on the logarithm, a value is the level of all pairs, what its requester adds, what its responder adds, and a rest. A node that is slow shows in what it adds to all its pairs; a link that is slow shows in the rest of one.".to_owned(),
        "What could not run gave no number. It is never counted as slow.".to_owned(),
    ]
}

/// By what it was judged.
pub(super) fn rules(rules: &ClusterRules) -> Vec<String> {
    vec![
        format!(
            "The reference are the peers of the same measurement: a value is suspect where it is {} robust standard deviations and {} of bandwidth or message rate, {} of latency, worse than theirs.",
            rules.outlier_z,
            number::margin(rules.smallest_change),
            number::margin(rules.smallest_latency_change)
        ),
        format!(
            "A node is blamed for its pairs where {} of them are bad, a leaf switch likewise; else it is the link.",
            number::margin(rules.node_share)
        ),
        format!(
            "A suspect is measured again in {}, with partners that are known to be good; bad in {} of them confirms it.",
            number::counted(rules.retest_rounds, "round"),
            rules.retest_bad
        ),
    ]
}
