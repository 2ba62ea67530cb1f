//! What the script of the page knows: names and numbers of nodes and measures as JSON, and columns of numbers beside it, one number
//! a cell of the map or a run of a pair.

use std::collections::HashMap;

use schema::{Bytes, Cluster, Direction, Metric, PairOutcome, PairPoint, PairRole, RoundPart};
use serde::Serialize;

use super::packed::{Column, Packed};
use crate::{
    cluster::{ClusterReport, Matrix, NodeReport},
    render::cluster::words,
};

/// Names, and where the columns are.
#[derive(Serialize)]
pub(super) struct Data<'r> {
    cluster: i64,
    nodes: Vec<Node<'r>>,
    measures: Vec<Measured>,
    rounds: Vec<RoundOf<'r>>,
    runs: Runs,
}

#[derive(Serialize)]
struct Node<'r> {
    name: &'r str,
    leaf: Option<&'r str>,
    /// Whether it was there to the end, else in words what became of it.
    gone: Option<String>,
}

/// A measure of all pairs.
#[derive(Serialize)]
struct Measured {
    name: String,
    metric: Metric,
    workload: u32,
    higher_is_better: bool,
    /// Deviation below which nothing is said.
    margin: f64,
    median: Option<f64>,
    /// A row a requester.
    values: Column,
    residuals: Column,
    /// By rank: what it sends and receives, and how far each is off.
    nodes: Vec<[Option<f64>; 4]>,
    /// By rank: pairs that were measured.
    pairs: Vec<u32>,
}

#[derive(Serialize)]
struct RoundOf<'r> {
    label: &'r str,
    workload: u32,
    retest: bool,
    started_at_unix_ms: u64,
}

/// A number a run, in the order they were made.
#[derive(Serialize)]
struct Runs {
    sequence: Column,
    round: Column,
    requester: Column,
    responder: Column,
    /// 0 measured, 1 invalid, 2 could not run; 4 more for a congestor.
    outcome: Column,
    late_ns: Column,
    /// What the runs of a workload measured; a number a run of that workload.
    points: Vec<PointsOf>,
    /// Why and what was remarked: of a run by its place, texts by theirs; the first is why, or -1.
    said: Vec<(u32, Vec<i32>)>,
    texts: Vec<String>,
}

#[derive(Serialize)]
struct PointsOf {
    workload: u32,
    msg_bytes: Bytes,
    metric: Metric,
    values: Column,
}

/// What the script knows of a cluster: the JSON, and the columns as base64.
pub(super) fn data(cluster: &Cluster, report: &ClusterReport) -> (String, String) {
    let mut packed = Packed::default();
    let data = Data {
        cluster: report.head.id,
        nodes: report.nodes.iter().map(node).collect(),
        measures: report
            .matrices
            .iter()
            .enumerate()
            .map(|(at, of)| measured(report, at, of, &mut packed))
            .collect(),
        rounds: cluster
            .rounds
            .iter()
            .map(|round| RoundOf {
                label: &round.label,
                workload: round.workload,
                retest: round.part == RoundPart::Retest,
                started_at_unix_ms: round.started_at_unix_ms,
            })
            .collect(),
        runs: runs(cluster, &mut packed),
    };
    let json = serde_json::to_string(&data).expect("names, numbers and lists of them");
    // Nothing in a name ends the element that the JSON stands in.
    (json.replace('<', "\\u003c"), packed.text())
}

fn node(of: &NodeReport) -> Node<'_> {
    let (badge, why) = words::state(&of.state);
    let gone = (!why.is_empty()).then(|| format!("{}: {why}", badge.word));
    Node { name: &of.name, leaf: of.leaf.as_deref(), gone }
}

fn measured(report: &ClusterReport, at: usize, of: &Matrix, packed: &mut Packed) -> Measured {
    let measure = &of.measure;
    let numbers = |node: &NodeReport| {
        node.measures
            .get(at)
            .map_or([None; 4], |of| [of.sends, of.sends_change, of.receives, of.receives_change])
    };
    Measured {
        name: words::measure(measure),
        metric: measure.metric,
        workload: measure.workload,
        higher_is_better: measure.metric.direction() == Direction::HigherIsBetter,
        margin: words::margin(&report.rules, measure.metric),
        median: of.median,
        values: packed.floats(of.values.iter().flatten().copied()),
        residuals: packed.floats(of.residuals.iter().flatten().map(|residual| residual.map(f64::from))),
        nodes: report.nodes.iter().map(numbers).collect(),
        pairs: report.nodes.iter().map(|node| node.measures.get(at).map_or(0, |of| of.pairs)).collect(),
    }
}

fn runs(cluster: &Cluster, packed: &mut Packed) -> Runs {
    let outcome = |run: &schema::PairRun| {
        let outcome = match run.outcome {
            PairOutcome::Measured => 0,
            PairOutcome::Invalid { .. } => 1,
            PairOutcome::CouldNotRun { .. } => 2,
        };
        outcome + if run.role == PairRole::Congestor { 4 } else { 0 }
    };
    let (texts, said) = texts(cluster);
    let runs = || cluster.runs.iter();
    Runs {
        sequence: packed.integers(runs().map(|run| run.sequence)),
        round: packed.integers(runs().map(|run| run.round)),
        requester: packed.integers(runs().map(|run| run.requester)),
        responder: packed.integers(runs().map(|run| run.responder)),
        outcome: packed.integers(runs().map(outcome)),
        late_ns: packed.floats(runs().map(|run| run.late_ns.map(|ns| ns as f64))),
        points: points(cluster, packed),
        said,
        texts,
    }
}

fn points(cluster: &Cluster, packed: &mut Packed) -> Vec<PointsOf> {
    let mut all = Vec::new();
    for (workload, of) in (0..).zip(&cluster.workloads) {
        let ours = |run: &&schema::PairRun| {
            cluster.rounds.get(run.round as usize).is_some_and(|round| round.workload == workload)
        };
        let runs: Vec<&schema::PairRun> = cluster.runs.iter().filter(ours).collect();
        for msg_bytes in &of.spec.msg_bytes {
            for metric in PairPoint::METRICS {
                let value = |run: &&schema::PairRun| {
                    run.points.iter().find(|point| point.msg_bytes == *msg_bytes)?.get(metric)
                };
                if runs.iter().any(|run| value(run).is_some()) {
                    let values = packed.floats(runs.iter().map(value));
                    all.push(PointsOf { workload, msg_bytes: *msg_bytes, metric, values });
                }
            }
        }
    }
    all
}

/// Texts of runs, each once, and which run says which.
fn texts(cluster: &Cluster) -> (Vec<String>, Vec<(u32, Vec<i32>)>) {
    let mut texts: Vec<String> = Vec::new();
    let mut known: HashMap<String, i32> = HashMap::new();
    let mut place = |text: &str| {
        *known.entry(text.to_owned()).or_insert_with(|| {
            texts.push(text.to_owned());
            texts.len() as i32 - 1
        })
    };
    let mut said = Vec::new();
    for (n, run) in (0..).zip(&cluster.runs) {
        let why = match &run.outcome {
            PairOutcome::Measured => None,
            PairOutcome::Invalid { why } | PairOutcome::CouldNotRun { why } => Some(why),
        };
        if why.is_some() || !run.remarks.is_empty() {
            let why = why.map_or(-1, |why| place(why));
            said.push((n, std::iter::once(why).chain(run.remarks.iter().map(|text| place(text))).collect()));
        }
    }
    (texts, said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cluster_report, measured_cluster};

    #[test]
    fn a_text_that_many_runs_say_is_there_once() {
        let cluster = measured_cluster();
        let (texts, said) = texts(&cluster);
        let mut each = texts.clone();
        each.sort();
        each.dedup();
        assert_eq!(each.len(), texts.len());
        for (run, places) in said {
            let remarks = &cluster.runs[run as usize].remarks;
            let told: Vec<&String> = places[1..].iter().map(|place| &texts[*place as usize]).collect();
            assert_eq!(told, remarks.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_name_ends_its_element() {
        let mut report = cluster_report();
        report.nodes[0].name = "</script><script>".into();
        let (json, _) = data(&measured_cluster(), &report);
        assert!(!json.contains('<'));
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["nodes"][0]["name"], "</script><script>");
    }
}
