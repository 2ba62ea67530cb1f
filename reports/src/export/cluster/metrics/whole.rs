//! The cluster as a whole: verdict, times, counts.

use schema::NodeState;

use super::suite;
use crate::{
    cluster::{ClusterReport, ClusterVerdict},
    export::metrics::{Family, Sample},
};

/// What there is one number of, or one a state.
pub(super) fn families(report: &ClusterReport) -> Vec<Family> {
    let counts = report.counts;
    let alone = |value: f64| vec![(vec![suite(report)], value)];
    let some = |value: Option<f64>| value.map_or_else(Vec::new, alone);
    let each = |label: &'static str, counts: &[(&str, f64)]| -> Vec<Sample> {
        counts
            .iter()
            .map(|(name, value)| (vec![suite(report), (label, (*name).to_owned())], *value))
            .collect()
    };
    let is = |verdict: ClusterVerdict| f64::from(u8::from(report.verdict == verdict));
    let verdicts = [
        ("fine", is(ClusterVerdict::Fine)),
        ("slow", is(ClusterVerdict::Slow)),
        ("could_not_run", is(ClusterVerdict::CouldNotRun)),
        ("inconclusive", is(ClusterVerdict::Inconclusive)),
    ];
    let state =
        |is: fn(&NodeState) -> bool| report.nodes.iter().filter(|node| is(&node.state)).count() as f64;
    let states = [
        ("present", state(|state| matches!(state, NodeState::Present))),
        ("absent", state(|state| matches!(state, NodeState::Absent { .. }))),
        ("lost", state(|state| matches!(state, NodeState::Lost { .. }))),
    ];
    let runs = [
        ("measured", counts.runs.saturating_sub(counts.invalid + counts.could_not_run)),
        ("invalid", counts.invalid),
        ("could_not_run", counts.could_not_run),
    ]
    .map(|(outcome, count)| (outcome, f64::from(count)));
    let seconds = |unix_ms: u64| unix_ms as f64 / 1e3;
    let span = |ns: Option<schema::Nanos>| some(ns.map(|ns| ns.get() as f64 / 1e9));
    vec![
        Family {
            name: "rdma_bench_cluster",
            unit: None,
            help: "The cluster that all values are of, by its number in the store.",
            info: true,
            samples: vec![(vec![suite(report), ("cluster", report.head.id.to_string())], 1.0)],
        },
        Family::gauge(
            "rdma_bench_cluster_verdict",
            None,
            "1 for the verdict on the cluster, 0 for the others.",
            each("verdict", &verdicts),
        ),
        Family::gauge(
            "rdma_bench_cluster_exit_code",
            None,
            "Exit code of the cluster: 0 fine, 1 slow, 3 could not run, 4 inconclusive.",
            alone(f64::from(report.verdict.exit_code())),
        ),
        Family::gauge(
            "rdma_bench_cluster_start_timestamp_seconds",
            Some("seconds"),
            "When the measurement began, since 1970 UTC.",
            alone(seconds(report.head.started_at_unix_ms)),
        ),
        Family::gauge(
            "rdma_bench_cluster_end_timestamp_seconds",
            Some("seconds"),
            "When the measurement came to its end, since 1970 UTC; absent where it did not.",
            some(report.head.ended_at_unix_ms.map(seconds)),
        ),
        Family::gauge(
            "rdma_bench_cluster_nodes",
            None,
            "Nodes that were asked for, by their state.",
            each("state", &states),
        ),
        Family::gauge(
            "rdma_bench_cluster_runs",
            None,
            "Runs of pairs, by how they came out.",
            each("outcome", &runs),
        ),
        Family::gauge(
            "rdma_bench_cluster_round_skew_seconds",
            Some("seconds"),
            "The longest time between the first posts of two pairs of a round.",
            span(report.rounds.max_skew_ns),
        ),
        Family::gauge(
            "rdma_bench_cluster_controller_seconds",
            Some("seconds"),
            "The longest time for which the controller itself worked in a round.",
            span(report.rounds.max_controller_ns),
        ),
    ]
}
