//! What was measured: of nodes, and of pairs.

use schema::{Direction, Metric};

use super::suite;
use crate::{
    cluster::{ClusterReport, Matrix, NodeReport},
    export::{
        metrics::{Family, Sample, base_unit},
        night::series::fabric,
    },
    render::cluster::words,
};

/// Names of the families of one unit: of nodes, of pairs.
fn names(metric: Metric) -> [&'static str; 2] {
    match metric {
        Metric::Bandwidth => [
            "rdma_bench_cluster_node_bandwidth_bytes_per_second",
            "rdma_bench_cluster_pair_bandwidth_bytes_per_second",
        ],
        Metric::MessageRate => [
            "rdma_bench_cluster_node_message_rate_messages_per_second",
            "rdma_bench_cluster_pair_message_rate_messages_per_second",
        ],
        _ => ["rdma_bench_cluster_node_latency_seconds", "rdma_bench_cluster_pair_latency_seconds"],
    }
}

/// Metrics of one unit are one family, told apart by a label.
const UNITS: [fn(Metric) -> bool; 3] = [
    |metric| metric == Metric::Bandwidth,
    |metric| metric == Metric::MessageRate,
    |metric| metric.direction() == Direction::LowerIsBetter,
];

/// What makes a number of a cluster; a node or a pair is added.
fn labels(report: &ClusterReport, matrix: &Matrix) -> Vec<(&'static str, String)> {
    vec![
        suite(report),
        ("fabric", report.head.fabric.map_or("", fabric).to_owned()),
        ("workload", matrix.measure.name.clone()),
        ("msg_bytes", matrix.measure.msg_bytes.get().to_string()),
        ("metric", matrix.measure.metric.to_string()),
    ]
}

/// A family a unit.
fn by_unit<'r>(
    report: &'r ClusterReport,
    which: usize,
    help: &'static str,
    samples: impl Fn(usize, &'r Matrix) -> Vec<Sample>,
) -> Vec<Family> {
    let family = |of: &fn(Metric) -> bool| {
        let mine = || report.matrices.iter().enumerate().filter(|(_, matrix)| of(matrix.measure.metric));
        let metric = mine().next()?.1.measure.metric;
        let samples = mine().flat_map(|(at, matrix)| samples(at, matrix)).collect();
        Some(Family::gauge(names(metric)[which], Some(base_unit(metric).1), help, samples))
    };
    UNITS.iter().filter_map(family).collect()
}

fn node_labels(
    report: &ClusterReport,
    matrix: &Matrix,
    node: &NodeReport,
    way: &str,
) -> Vec<(&'static str, String)> {
    let mut all = labels(report, matrix);
    let leaf = node.leaf.clone().unwrap_or_default();
    all.extend([("node", node.name.clone()), ("leaf", leaf), ("way", way.to_owned())]);
    all
}

/// Values of nodes, and how far off their peers they are.
pub(super) fn of_nodes(report: &ClusterReport) -> Vec<Family> {
    let values = |at: usize, matrix: &Matrix| -> Vec<Sample> {
        let divisor = base_unit(matrix.measure.metric).0;
        let of = |node: &NodeReport| {
            let measure = node.measures.get(at).copied();
            [("sends", measure.and_then(|of| of.sends)), ("receives", measure.and_then(|of| of.receives))]
                .map(|(way, value)| Some((node_labels(report, matrix, node, way), value? / divisor)))
        };
        report.nodes.iter().flat_map(of).flatten().collect()
    };
    let off = report.matrices.iter().enumerate().flat_map(|(at, matrix)| {
        report.nodes.iter().flat_map(move |node| {
            let measure = node.measures.get(at).copied();
            [
                ("sends", measure.and_then(|of| of.sends_change)),
                ("receives", measure.and_then(|of| of.receives_change)),
            ]
            .map(|(way, share)| Some((node_labels(report, matrix, node, way), share?)))
        })
    });
    let mut all =
        by_unit(report, 0, "Median over what a node sends to its peers, or receives from them.", values);
    all.push(Family::gauge(
        "rdma_bench_cluster_node_change_ratio",
        Some("ratio"),
        "How far a node is off its peers, with its sign: -0.05 is 5 % lower.",
        off.flatten().collect(),
    ));
    all
}

/// Values of pairs.
pub(super) fn of_pairs(report: &ClusterReport) -> Vec<Family> {
    by_unit(report, 1, "Median of the valid runs of a pair.", |_, matrix| {
        let divisor = base_unit(matrix.measure.metric).0;
        let cells = matrix.values.iter().enumerate().flat_map(|(row, values)| {
            values.iter().enumerate().filter_map(move |(column, value)| Some((row, column, (*value)?)))
        });
        let sample = |(row, column, value): (usize, usize, f64)| {
            let mut all = labels(report, matrix);
            let name = |rank: usize| words::node_name(report, rank as u32);
            all.extend([("source", name(row)), ("destination", name(column))]);
            (all, value / divisor)
        };
        cells.map(sample).collect()
    })
}
