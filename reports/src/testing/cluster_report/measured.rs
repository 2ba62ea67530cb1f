//! The measurement: eight nodes below two leaves, one of which never came and one of which was lost half way.

use std::collections::BTreeMap;

use schema::{
    Bytes, Cluster, ClusterNode, ClusterWorkload, Configuration, Directions, Fabric, LauncherKind, Metric,
    Nanos, NodeAudit, NodeState, Op, PairOutcome, PairPoint, PairRole, PairRun, PatternKind, Round,
    RoundPart, RunSpec, SCHEMA_VERSION, Test,
};

use super::AWKWARD;
use crate::testing::STARTED_AT_UNIX_MS;

/// Nodes that were asked for.
const NODES: u32 = 8;
/// The node that sends and receives less than it should.
pub(super) const SLOW: u32 = 2;
/// The requester and responder of the link that carries less than it should.
pub(super) const LINK: [u32; 2] = [0, 5];
/// The node of another firmware.
pub(super) const ODD: u32 = 1;
/// The node that was lost.
pub(super) const LOST: u32 = 4;
/// The node that never came.
pub(super) const ABSENT: u32 = 7;
/// The first round without the lost node.
const LOST_IN: u32 = 20;
/// From one round to the next, ms.
const ROUND_MS: u64 = 4_000;

/// Every pair of eight nodes, measured both ways by two workloads.
pub fn measured_cluster() -> Cluster {
    let mut cluster = with_nothing_wrong();
    cluster.nodes[LOST as usize].state = NodeState::Lost {
        why: "its agent has said nothing for 15 s".into(),
        at_unix_ms: STARTED_AT_UNIX_MS + u64::from(LOST_IN) * ROUND_MS + 1_500,
    };
    cluster.nodes[ABSENT as usize].state =
        NodeState::Absent { why: "the scheduler says: drained (bad fan)".into() };
    cluster.nodes[ABSENT as usize].host = None;
    cluster.nodes[ABSENT as usize].audit = None;
    if let Some(audit) = &mut cluster.nodes[ODD as usize].audit {
        audit.facts.0.insert("firmware".into(), "20.41.1000".into());
    }
    cluster.runs.clear();
    for number in 0..cluster.rounds.len() as u32 {
        runs_of(&mut cluster, number);
    }
    retest(&mut cluster);
    cluster
}

/// The same with nothing wrong.
pub fn fine_cluster() -> Cluster {
    let mut cluster = with_nothing_wrong();
    for number in 0..cluster.rounds.len() as u32 {
        runs_of(&mut cluster, number);
    }
    for run in &mut cluster.runs {
        let workload = cluster.rounds[run.round as usize].workload;
        run.outcome = PairOutcome::Measured;
        run.points = vec![point(workload, run.requester, run.responder, run.round, 1.0)];
        run.late_ns = Some(late(run.requester, run.round));
        run.remarks.clear();
    }
    cluster
}

/// The first with names that are hard to write down.
pub fn awkward_cluster() -> Cluster {
    let mut cluster = measured_cluster();
    cluster.suite = AWKWARD[0].into();
    cluster.nodes[0].name = AWKWARD[1].into();
    cluster.nodes[1].name = AWKWARD[2].into();
    cluster.nodes[2].name = AWKWARD[3].into();
    cluster.workloads[0].workload = AWKWARD[1].into();
    for node in &mut cluster.nodes[..4] {
        node.switches = vec!["spine".into(), AWKWARD[2].into()];
    }
    for run in cluster.runs.iter_mut().filter(|run| !run.remarks.is_empty()) {
        run.remarks.push(AWKWARD[1].into());
    }
    cluster
}

fn with_nothing_wrong() -> Cluster {
    Cluster {
        schema_version: SCHEMA_VERSION,
        id: 12,
        suite: "rack-pairs".into(),
        question: "Is every node and every link of this rack as fast as its peers?".into(),
        launcher: LauncherKind::Slurm,
        pattern: PatternKind::Pairs,
        directions: Directions::Both,
        seed: 7,
        started_at_unix_ms: STARTED_AT_UNIX_MS,
        ended_at_unix_ms: Some(STARTED_AT_UNIX_MS + 40 * ROUND_MS),
        fabric: Some(Fabric::Verbs),
        fabric_label: Some("verbs".into()),
        workloads: workloads(),
        nodes: (0..NODES).map(node).collect(),
        rounds: rounds(),
        runs: Vec::new(),
    }
}

fn workloads() -> Vec<ClusterWorkload> {
    let workload = |name: &str, test, msg_bytes: u64, metrics: &[Metric]| {
        let mut spec = RunSpec::new(test);
        spec.op = Op::Write;
        spec.msg_bytes = vec![Bytes(msg_bytes)];
        ClusterWorkload {
            scenario: "pairs".into(),
            variant: "plain".into(),
            workload: name.into(),
            spec,
            metrics: metrics.to_vec(),
        }
    };
    vec![
        workload("write", Test::Bandwidth, 65_536, &[Metric::Bandwidth, Metric::MessageRate]),
        workload("write-latency", Test::Latency, 64, &[Metric::P50, Metric::P99]),
    ]
}

fn node(rank: u32) -> ClusterNode {
    let name = format!("node{}", rank + 1);
    let facts = [("firmware", "20.43.1014"), ("pcie_width", if rank == SLOW { "8" } else { "16" })];
    let facts: BTreeMap<String, String> =
        facts.into_iter().map(|(fact, value)| (fact.to_owned(), value.to_owned())).collect();
    ClusterNode {
        host: Some(name.clone()),
        place: format!("slurm:{name}"),
        name,
        device: "mlx5_0".into(),
        switches: vec!["spine".into(), if rank < NODES / 2 { "leaf1" } else { "leaf2" }.into()],
        state: NodeState::Present,
        audit: Some(NodeAudit { facts: Configuration(facts), findings: Vec::new() }),
    }
}

/// Steps of a tournament, each both ways and by both workloads.
fn rounds() -> Vec<Round> {
    let steps = NODES - 1;
    (0..steps * 4)
        .map(|number| Round {
            number,
            part: RoundPart::Pattern,
            label: format!("step {} of {steps}", number / 4 + 1),
            workload: number % 2,
            started_at_unix_ms: STARTED_AT_UNIX_MS + u64::from(number) * ROUND_MS,
            wall_ns: Nanos(3_200_000_000 + u64::from(number) * 1_000_000),
            skew_ns: Some(Nanos(18_000 + u64::from(number * 37 % 23) * 2_900)),
            skew_uncertainty_ns: Some(Nanos(41_000)),
            controller_ns: Nanos(2_100_000 + u64::from(number * 13 % 7) * 300_000),
        })
        .collect()
}

/// The pairs of a step: the last node stays, the others go round.
fn pairs(step: u32) -> Vec<(u32, u32)> {
    let around = NODES - 1;
    let turned = |by: u32| (step + by) % around;
    let others = (1..NODES / 2).map(|by| (turned(by), turned(around - by)));
    std::iter::once((step, NODES - 1)).chain(others).collect()
}

fn runs_of(cluster: &mut Cluster, number: u32) {
    for (a, b) in pairs(number / 4) {
        let (requester, responder) = if (number / 2).is_multiple_of(2) { (a, b) } else { (b, a) };
        let run = run(cluster, number, requester, responder);
        cluster.runs.push(run);
    }
}

fn run(cluster: &Cluster, round: u32, requester: u32, responder: u32) -> PairRun {
    let workload = cluster.rounds[round as usize].workload;
    let has = |rank| requester == rank || responder == rank;
    let could_not = |why: &str| PairOutcome::CouldNotRun { why: why.into() };
    let outcome = if has(ABSENT) {
        could_not("node8 never came: the scheduler says: drained (bad fan)")
    } else if has(LOST) && round >= LOST_IN {
        could_not("node5 was lost: its agent has said nothing for 15 s")
    } else if round == 9 && has(LINK[1]) {
        PairOutcome::Invalid { why: "the requester's CPU was interrupted for 4.1 % of the run".into() }
    } else {
        PairOutcome::Measured
    };
    let numbers = !matches!(outcome, PairOutcome::CouldNotRun { .. });
    let bad = [has(SLOW).then_some(0.78), ([requester, responder] == LINK).then_some(0.7)];
    let factor: f64 = bad.into_iter().flatten().product();
    let errors = 100 + 17 * round;
    let remark = format!(
        "{}: {errors} local_ack_timeout_err",
        if requester == SLOW { "requester" } else { "responder" }
    );
    PairRun {
        sequence: cluster.runs.len() as u32,
        round,
        role: PairRole::Measured,
        requester,
        responder,
        points: if numbers { vec![point(workload, requester, responder, round, factor)] } else { Vec::new() },
        late_ns: numbers.then(|| late(requester, round)),
        remarks: if numbers && has(SLOW) { vec![remark] } else { Vec::new() },
        outcome,
    }
}

fn late(requester: u32, round: u32) -> i64 {
    i64::from(requester * 3 + round * 11 % 17) * 2_000 - 4_000
}

/// What two nodes come to; a factor below 1 is slow by any metric.
fn point(workload: u32, requester: u32, responder: u32, round: u32, factor: f64) -> PairPoint {
    let wobble = f64::from((requester * 31 + responder * 17 + round * 7) % 19) / 19.0 - 0.5;
    let near = (requester < NODES / 2) == (responder < NODES / 2);
    let speed = factor * (1.0 + 0.012 * wobble) * if near { 1.0 } else { 0.97 };
    let none = PairPoint {
        msg_bytes: Bytes(0),
        bandwidth_bits_per_sec: None,
        messages_per_sec: None,
        p50_ns: None,
        p99_ns: None,
    };
    if workload == 0 {
        let bits = (97.4e9 * speed).round();
        let messages = (bits / (8.0 * 65_536.0)).round();
        let (bandwidth_bits_per_sec, messages_per_sec) = (Some(bits), Some(messages));
        PairPoint { msg_bytes: Bytes(65_536), bandwidth_bits_per_sec, messages_per_sec, ..none }
    } else {
        let (p50_ns, p99_ns) = (Some((1_480.0 / speed).round()), Some((2_310.0 / speed).round()));
        PairPoint { msg_bytes: Bytes(64), p50_ns, p99_ns, ..none }
    }
}

/// Three rounds in which the slow node and the slow link are measured again.
fn retest(cluster: &mut Cluster) {
    for again in 0..3 {
        let number = cluster.rounds.len() as u32;
        let round = Round {
            number,
            part: RoundPart::Retest,
            label: format!("retest {} of 3", again + 1),
            workload: 0,
            started_at_unix_ms: STARTED_AT_UNIX_MS + u64::from(number) * ROUND_MS,
            ..cluster.rounds[0].clone()
        };
        cluster.rounds.push(round);
        for (requester, responder) in [(SLOW, 3), (LINK[0], LINK[1])] {
            let run = run(cluster, number, requester, responder);
            cluster.runs.push(run);
        }
    }
}
