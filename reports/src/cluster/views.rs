//! Head, counts, matrices and nodes of a report.

use schema::{Cluster, NodeState, PairOutcome, PairRole, RoundPart};

use super::{
    Analysis,
    claim::Judged,
    model::{ClusterCounts, ClusterFinding, ClusterHead, FindingKind, Matrix, NodeMeasure, NodeReport},
    polish::as_change,
    robust,
};

pub(super) fn head(cluster: &Cluster) -> ClusterHead {
    ClusterHead {
        id: cluster.id,
        suite: cluster.suite.clone(),
        question: cluster.question.clone(),
        launcher: cluster.launcher,
        pattern: cluster.pattern,
        directions: cluster.directions,
        seed: cluster.seed,
        started_at_unix_ms: cluster.started_at_unix_ms,
        ended_at_unix_ms: cluster.ended_at_unix_ms,
        fabric: cluster.fabric,
        fabric_label: cluster.fabric_label.clone(),
    }
}

pub(super) fn counts(cluster: &Cluster, findings: &[ClusterFinding]) -> ClusterCounts {
    let mut counts = ClusterCounts {
        nodes: cluster.nodes.len() as u32,
        present: cluster.nodes.iter().filter(|node| node.state == NodeState::Present).count() as u32,
        ..ClusterCounts::default()
    };
    let mut bad = vec![false; cluster.nodes.len()];
    // A link is between two nodes that are well.
    let of_nodes = findings.iter().filter(|finding| finding.alarms() && finding.kind != FindingKind::Link);
    of_nodes.flat_map(|finding| &finding.subject.nodes).for_each(|rank| bad[*rank as usize] = true);
    counts.bad_nodes = bad.into_iter().filter(|bad| *bad).count() as u32;
    for run in &cluster.runs {
        let round = cluster.rounds.get(run.round as usize);
        if run.role != PairRole::Measured || round.is_none_or(|round| round.part != RoundPart::Pattern) {
            continue;
        }
        counts.runs += 1;
        match run.outcome {
            PairOutcome::Measured => {}
            PairOutcome::Invalid { .. } => counts.invalid += 1,
            PairOutcome::CouldNotRun { .. } => counts.could_not_run += 1,
        }
    }
    counts
}

fn known(value: f64) -> Option<f64> {
    (!value.is_nan()).then_some(value)
}

pub(super) fn matrices(analysis: &Analysis) -> Vec<Matrix> {
    let nodes = analysis.scene.nodes();
    let matrix = |(number, judged): (usize, &Judged)| {
        let measure = analysis.scene.measures[number].clone();
        let metric = measure.metric;
        let values = &analysis.medians[number];
        let plain = judged.plain();
        let left = |a, b| known(plain.residual(a, b)).map(|left| as_change(metric, left) as f32);
        let mut measured: Vec<f64> = values.iter().copied().filter_map(known).collect();
        Matrix {
            unit: metric.unit().to_owned(),
            median: robust::median(&mut measured),
            values: values.chunks(nodes.max(1)).map(|row| row.iter().copied().map(known).collect()).collect(),
            residuals: (0..nodes).map(|a| (0..nodes).map(|b| left(a, b)).collect()).collect(),
            measure,
        }
    };
    analysis.judged.iter().enumerate().map(matrix).collect()
}

pub(super) fn nodes(analysis: &Analysis, findings: &[ClusterFinding]) -> Vec<NodeReport> {
    let node = |(rank, node): (usize, &schema::ClusterNode)| NodeReport {
        rank: rank as u32,
        name: node.name.clone(),
        host: node.host.clone(),
        device: node.device.clone(),
        leaf: node.leaf().map(str::to_owned),
        state: node.state.clone(),
        findings: (0u32..)
            .zip(findings)
            .filter(|(_, finding)| finding.subject.nodes.contains(&(rank as u32)))
            .map(|(number, _)| number)
            .collect(),
        measures: (0..analysis.scene.measures.len())
            .map(|measure| of_node(analysis, measure, rank))
            .collect(),
    };
    analysis.scene.cluster.nodes.iter().enumerate().map(node).collect()
}

fn of_node(analysis: &Analysis, measure: usize, node: usize) -> NodeMeasure {
    let (nodes, values) = (analysis.scene.nodes(), &analysis.medians[measure]);
    let metric = analysis.scene.measures[measure].metric;
    let line = |from: usize, step: usize| -> Vec<f64> {
        (0..nodes).filter_map(|other| known(values[from + other * step])).collect()
    };
    let (mut sends, mut receives) = (line(node * nodes, 1), line(node, nodes));
    let pairs = (sends.len() + receives.len()) as u32;
    let plain = analysis.judged[measure].plain();
    NodeMeasure {
        sends: robust::median(&mut sends),
        receives: robust::median(&mut receives),
        sends_change: plain.sends[node].map(|effect| as_change(metric, effect)),
        receives_change: plain.receives[node].map(|effect| as_change(metric, effect)),
        pairs,
    }
}
