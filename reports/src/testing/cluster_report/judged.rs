//! What is said about the measurement.

use schema::{Bytes, Certainty, Cluster, Metric, NodeState, PairOutcome, RoundPart, SCHEMA_VERSION};

use super::measured::{ABSENT, LINK, LOST, ODD, SLOW, awkward_cluster, fine_cluster, measured_cluster};
use crate::{
    cluster::{
        ClusterCounts, ClusterFinding, ClusterHead, ClusterReport, ClusterRules, ClusterVerdict, Effect,
        FindingKind, GroupReport, Matrix, Measure, NodeReport, NotRun, RetestReport, RoundsReport, Subject,
        model::NodeMeasure,
    },
    compare::median,
};

/// What is said about [`measured_cluster`].
pub fn cluster_report() -> ClusterReport {
    of(&measured_cluster(), ClusterVerdict::Slow, findings())
}

/// What is said about [`fine_cluster`].
pub fn fine_cluster_report() -> ClusterReport {
    of(&fine_cluster(), ClusterVerdict::Fine, Vec::new())
}

/// What is said about [`awkward_cluster`].
pub fn awkward_cluster_report() -> ClusterReport {
    let cluster = awkward_cluster();
    let mut report = of(&cluster, ClusterVerdict::Slow, findings());
    for finding in &mut report.findings {
        finding.subject.leaf =
            finding.subject.leaf.take().map(|_| cluster.nodes[0].leaf().unwrap_or("").into());
        for effect in &mut finding.effects {
            effect.measure.name = format!("pairs/{}", cluster.workloads[0].workload);
        }
        finding.evidence.push(cluster.nodes[0].name.clone());
        finding.sentence = finding.sentence.replace("node3", &cluster.nodes[2].name);
    }
    report
}

fn of(cluster: &Cluster, verdict: ClusterVerdict, findings: Vec<ClusterFinding>) -> ClusterReport {
    let matrices: Vec<Matrix> = measures().into_iter().map(|measure| matrix(cluster, measure)).collect();
    let ran =
        |is: fn(&PairOutcome) -> bool| cluster.runs.iter().filter(|run| is(&run.outcome)).count() as u32;
    let present = cluster.nodes.iter().filter(|node| node.state == NodeState::Present).count() as u32;
    ClusterReport {
        schema_version: SCHEMA_VERSION,
        head: ClusterHead {
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
        },
        verdict,
        limits: Vec::new(),
        counts: ClusterCounts {
            nodes: cluster.nodes.len() as u32,
            present,
            bad_nodes: u32::from(verdict == ClusterVerdict::Slow),
            runs: cluster.runs.len() as u32,
            invalid: ran(|outcome| matches!(outcome, PairOutcome::Invalid { .. })),
            could_not_run: ran(|outcome| matches!(outcome, PairOutcome::CouldNotRun { .. })),
        },
        nodes: (0..cluster.nodes.len()).map(|rank| node(cluster, rank, &matrices, &findings)).collect(),
        leaves: leaves(cluster, &matrices),
        hops: hops(cluster, &matrices),
        rounds: rounds(cluster),
        not_run: if verdict == ClusterVerdict::Fine { Vec::new() } else { not_run() },
        rules: rules(),
        matrices,
        findings,
    }
}

/// As they were when this was written down, whatever they are now.
fn rules() -> ClusterRules {
    ClusterRules {
        smallest_change: 0.05,
        smallest_latency_change: 0.10,
        outlier_z: 5.0,
        node_share: 0.6,
        retest_rounds: 3,
        retest_bad: 2,
    }
}

fn measures() -> Vec<Measure> {
    let measure = |workload, name: &str, msg_bytes, metric| Measure {
        workload,
        name: format!("pairs/{name}"),
        msg_bytes: Bytes(msg_bytes),
        metric,
    };
    vec![
        measure(0, "write", 65_536, Metric::Bandwidth),
        measure(0, "write", 65_536, Metric::MessageRate),
        measure(1, "write-latency", 64, Metric::P50),
        measure(1, "write-latency", 64, Metric::P99),
    ]
}

fn matrix(cluster: &Cluster, measure: Measure) -> Matrix {
    let n = cluster.nodes.len();
    let mut values = vec![vec![None; n]; n];
    for run in &cluster.runs {
        let round = &cluster.rounds[run.round as usize];
        let counts = round.part == RoundPart::Pattern && run.outcome == PairOutcome::Measured;
        if let Some(point) = run.points.first().filter(|_| counts && round.workload == measure.workload) {
            values[run.requester as usize][run.responder as usize] = point.get(measure.metric);
        }
    }
    let all: Vec<f64> = values.iter().flatten().copied().flatten().collect();
    let whole = median(&all);
    let level = |cells: Vec<Option<f64>>| median(&cells.into_iter().flatten().collect::<Vec<f64>>());
    let rows: Vec<Option<f64>> = values.iter().map(|row| level(row.clone())).collect();
    let columns: Vec<Option<f64>> =
        (0..n).map(|column| level(values.iter().map(|row| row[column]).collect())).collect();
    let residual = |row: usize, column: usize| {
        let expected = rows[row]? * columns[column]? / whole?;
        Some((values[row][column]? / expected - 1.0) as f32)
    };
    let residuals = (0..n).map(|row| (0..n).map(|column| residual(row, column)).collect()).collect();
    Matrix { unit: measure.metric.unit().to_owned(), measure, median: whole, values, residuals }
}

fn node(cluster: &Cluster, rank: usize, matrices: &[Matrix], findings: &[ClusterFinding]) -> NodeReport {
    let of = &cluster.nodes[rank];
    let mine = |(n, finding): (usize, &ClusterFinding)| {
        finding.subject.nodes.contains(&(rank as u32)).then_some(n as u32)
    };
    let measure = |matrix: &Matrix| {
        let sent: Vec<f64> = matrix.values[rank].iter().copied().flatten().collect();
        let received: Vec<f64> = matrix.values.iter().filter_map(|row| row[rank]).collect();
        let change = |value: Option<f64>| Some(value? / matrix.median? - 1.0);
        NodeMeasure {
            sends: median(&sent),
            receives: median(&received),
            sends_change: change(median(&sent)),
            receives_change: change(median(&received)),
            pairs: (sent.len() + received.len()) as u32,
        }
    };
    NodeReport {
        rank: rank as u32,
        name: of.name.clone(),
        host: of.host.clone(),
        device: of.device.clone(),
        leaf: of.leaf().map(str::to_owned),
        state: of.state.clone(),
        findings: findings.iter().enumerate().filter_map(mine).collect(),
        measures: matrices.iter().map(measure).collect(),
    }
}

fn group(
    name: String,
    nodes: Vec<u32>,
    matrices: &[Matrix],
    holds: impl Fn(usize, usize) -> bool,
) -> GroupReport {
    let cells = |matrix: &Matrix| -> Vec<f64> {
        let n = matrix.values.len();
        let all = (0..n).flat_map(|row| (0..n).map(move |column| (row, column)));
        all.filter(|(row, column)| holds(*row, *column))
            .filter_map(|(row, column)| matrix.values[row][column])
            .collect()
    };
    GroupReport {
        name,
        nodes,
        medians: matrices.iter().map(|matrix| median(&cells(matrix))).collect(),
        pairs: matrices.first().map_or(0, |matrix| cells(matrix).len() as u32),
    }
}

fn leaves(cluster: &Cluster, matrices: &[Matrix]) -> Vec<GroupReport> {
    let mut names: Vec<&str> = cluster.nodes.iter().filter_map(|node| node.leaf()).collect();
    names.sort_unstable();
    names.dedup();
    let below = |rank: usize, name: &str| cluster.nodes[rank].leaf() == Some(name);
    let of = |name: &str| {
        let nodes = (0..cluster.nodes.len()).filter(|rank| below(*rank, name)).map(|rank| rank as u32);
        group(name.to_owned(), nodes.collect(), matrices, |a, b| below(a, name) || below(b, name))
    };
    names.into_iter().map(of).collect()
}

fn hops(cluster: &Cluster, matrices: &[Matrix]) -> Vec<GroupReport> {
    let between = |a: usize, b: usize| cluster.nodes[a].hops(&cluster.nodes[b]);
    let of = |(hops, name): (u32, &str)| {
        group(name.to_owned(), Vec::new(), matrices, |a, b| a != b && between(a, b) == Some(hops))
    };
    [(1, "1 switch"), (3, "3 switches")].map(of).into()
}

fn rounds(cluster: &Cluster) -> RoundsReport {
    let count = |part| cluster.rounds.iter().filter(|round| round.part == part).count() as u32;
    let skews: Vec<f64> =
        cluster.rounds.iter().filter_map(|round| round.skew_ns).map(|skew| skew.get() as f64).collect();
    let worked: Vec<f64> = cluster.rounds.iter().map(|round| round.controller_ns.get() as f64).collect();
    let nanos = |value: Option<f64>| value.map(|ns| schema::Nanos(ns as u64));
    let longest = |all: &[f64]| all.iter().copied().reduce(f64::max);
    RoundsReport {
        made: [RoundPart::Pattern, RoundPart::Retest]
            .map(|part| (part, count(part)))
            .into_iter()
            .filter(|(_, rounds)| *rounds > 0)
            .collect(),
        median_skew_ns: nanos(median(&skews)),
        max_skew_ns: nanos(longest(&skews)),
        skew_uncertainty_ns: cluster.rounds.first().and_then(|round| round.skew_uncertainty_ns),
        median_controller_ns: nanos(median(&worked)),
        max_controller_ns: nanos(longest(&worked)),
    }
}

fn not_run() -> Vec<NotRun> {
    let not_run = |nodes: &[u32], why: &str, runs| NotRun { nodes: nodes.into(), why: why.into(), runs };
    vec![
        not_run(&[ABSENT], "never came: the scheduler says: drained (bad fan)", 28),
        not_run(&[LOST], "was lost: its agent has said nothing for 15 s", 6),
        not_run(&[6, 3], "no completion within 10 s (requester)", 1),
    ]
}

fn findings() -> Vec<ClusterFinding> {
    let [bandwidth, rate, p50, _] = measures().try_into().expect("there are four");
    let effect = |measure: &Measure, change: f64, peers: f64, z, bad_pairs, pairs| Effect {
        measure: measure.clone(),
        change,
        value: peers * (1.0 + change),
        peers,
        z,
        bad_pairs,
        pairs,
    };
    let finding = |kind, nodes: &[u32], certainty, sentence: &str, advice: &str| ClusterFinding {
        kind,
        subject: Subject { nodes: nodes.into(), leaf: None },
        certainty,
        effects: Vec::new(),
        retest: None,
        evidence: Vec::new(),
        sentence: sentence.into(),
        advice: advice.into(),
    };
    vec![
        ClusterFinding {
            effects: vec![
                effect(&p50, 0.282, 1_502.0, 31.0, 9, 11),
                effect(&bandwidth, -0.220, 95.9e9, -28.4, 11, 11),
                effect(&rate, -0.220, 183e3, -28.4, 11, 11),
            ],
            retest: Some(RetestReport { rounds: 3, bad: 3 }),
            evidence: vec![
                "pcie_width is 8; 6 of 7 nodes have 16".into(),
                "3,412 local_ack_timeout_err in 22 runs".into(),
            ],
            ..finding(
                FindingKind::Node,
                &[SLOW],
                Certainty::Confirmed,
                "node3 sends and receives 22 % less than its peers in 11 of 11 pairs: the host, not a link",
                "Look at the slot and the cable of node3: rdma-harness doctor on node3 tells what is odd there.",
            )
        },
        ClusterFinding {
            effects: vec![effect(&bandwidth, -0.300, 94.2e9, -17.9, 1, 1)],
            retest: Some(RetestReport { rounds: 3, bad: 2 }),
            ..finding(
                FindingKind::Link,
                &LINK,
                Certainty::Confirmed,
                "node1 to node6 carries 30 % less than both nodes do with others: the way between them",
                "Look at the counters of the switch ports between node1 and node6.",
            )
        },
        ClusterFinding {
            effects: vec![effect(&p50, 0.121, 1_502.0, 6.2, 4, 5)],
            retest: Some(RetestReport { rounds: 1, bad: 1 }),
            ..finding(
                FindingKind::NodeReceives,
                &[LOST],
                Certainty::Suspected,
                "node5 is reached 12 % later than its peers in 4 of 5 pairs; it was lost before that could be confirmed",
                "Measure it again when it is back.",
            )
        },
        ClusterFinding {
            evidence: vec!["firmware is 20.41.1000; 6 of 7 nodes have 20.43.1014".into()],
            ..finding(
                FindingKind::OddConfiguration,
                &[ODD],
                Certainty::Confirmed,
                "node2 has another firmware than its peers",
                "Bring its firmware to that of the others, or say why it differs.",
            )
        },
    ]
}
