//! From a planned round to what is measured, and from what came of it to what is kept.

use std::time::Duration;

use schema::{
    Cluster, ClusterNode, Fabric, NodeState, Outcome, PairOutcome, PairPoint, PairRun, RunRecord, RunSpec,
    Side, SoftModel, Stage,
};

use super::remark;
use crate::{
    cluster::{Crew, PairResult, PairTask, Rank, RoundResult, pattern::PlannedPair, soft_link, suite::Step},
    interrupt::Interrupt,
    words,
};

/// The device whose link a spec describes.
const SOFT: &str = "soft";

/// What is asked of the crew.
pub(super) fn tasks(cluster: &Cluster, step: &Step, ends: &[Option<SoftModel>]) -> Vec<PairTask> {
    let workload = &cluster.workloads[step.workload as usize].spec;
    let task = |pair: &PlannedPair| PairTask {
        requester: pair.requester,
        responder: pair.responder,
        role: pair.role,
        spec: spec(workload, &cluster.nodes, ends, [pair.requester, pair.responder]),
    };
    step.pairs.iter().map(task).collect()
}

/// The workload between two nodes: their devices, and on the software NIC the link between them.
fn spec(workload: &RunSpec, nodes: &[ClusterNode], ends: &[Option<SoftModel>], pair: [Rank; 2]) -> RunSpec {
    let [requester, responder] = pair.map(|rank| &nodes[rank as usize].device);
    let mut spec = workload.clone();
    spec.requester.device.clone_from(requester);
    spec.responder.device.clone_from(responder);
    if requester == SOFT {
        let ends = pair.map(|rank| ends.get(rank as usize).and_then(Option::as_ref));
        spec.soft_model = soft_link(workload.soft_model.as_ref(), ends);
    }
    spec
}

/// Has the pairs measured whose nodes are there; the others are recorded without being tried. None when it was interrupted.
pub(super) fn measure<C: Crew>(
    crew: &mut C,
    tasks: &[PairTask],
    interrupt: &Interrupt,
) -> Option<RoundResult> {
    let away: Vec<Option<RunRecord>> = tasks.iter().map(|task| away(task, crew.nodes())).collect();
    let here: Vec<PairTask> =
        tasks.iter().zip(&away).filter(|(_, away)| away.is_none()).map(|(task, _)| task.clone()).collect();
    let mut result = match here.as_slice() {
        [] if interrupt.is_raised() => return None,
        [] => RoundResult {
            pairs: Vec::new(),
            skew_ns: None,
            skew_uncertainty_ns: None,
            waited: Duration::ZERO,
        },
        here => crew.measure(here, interrupt)?,
    };
    let mut measured = std::mem::take(&mut result.pairs).into_iter();
    let pair = |away: Option<RunRecord>| match away {
        Some(record) => PairResult { record, late_ns: None },
        None => measured.next().expect("a crew gives one result a task"),
    };
    result.pairs = away.into_iter().map(pair).collect();
    Some(result)
}

/// The record of a pair one of whose nodes is not there; none where both are.
fn away(task: &PairTask, nodes: &[ClusterNode]) -> Option<RunRecord> {
    let sides = [(Side::Requester, task.requester), (Side::Responder, task.responder)];
    let (side, why) = sides.into_iter().find_map(|(side, rank)| match &nodes[rank as usize].state {
        NodeState::Present => None,
        NodeState::Absent { why } | NodeState::Lost { why, .. } => Some((side, why)),
    })?;
    let outcome = Outcome::Failed { stage: Stage::Launch, side, cause: why.clone(), advice: String::new() };
    let fabric = if task.spec.requester.device == SOFT { Fabric::Soft } else { Fabric::Verbs };
    Some(RunRecord::start(task.spec.clone(), fabric, words::unix_ms(), outcome))
}

/// What findings are computed from.
pub(super) fn run(
    sequence: u32,
    round: u32,
    task: &PairTask,
    result: &PairResult,
    nodes: &[ClusterNode],
) -> PairRun {
    let PairResult { record, late_ns } = result;
    let outcome = match &record.outcome {
        Outcome::Completed if record.invalid.is_empty() => PairOutcome::Measured,
        Outcome::Completed => PairOutcome::Invalid { why: record.invalid.join("; ") },
        Outcome::Skipped { reason } => PairOutcome::CouldNotRun { why: reason.clone() },
        Outcome::Failed { stage, side, cause, .. } => {
            let rank = if *side == Side::Requester { task.requester } else { task.responder };
            let name = &nodes[rank as usize].name;
            PairOutcome::CouldNotRun { why: format!("{name} ({side}, {stage}): {cause}") }
        }
    };
    PairRun {
        sequence,
        round,
        role: task.role,
        requester: task.requester,
        responder: task.responder,
        points: match outcome {
            PairOutcome::CouldNotRun { .. } => Vec::new(),
            PairOutcome::Measured | PairOutcome::Invalid { .. } => PairPoint::of(record),
        },
        outcome,
        late_ns: *late_ns,
        remarks: remark::of(record),
    }
}
