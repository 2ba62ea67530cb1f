//! What could not be measured, nodes first: it says nothing about speed.

use std::collections::BTreeMap;

use schema::{NodeState, PairOutcome, PairRole, PairRun, RoundPart};

use super::{model::NotRun, scene::Scene};

/// Runs of a pair with one workload.
#[derive(Default)]
struct Tried<'c> {
    measured: bool,
    failed: Vec<&'c PairRun>,
}

/// Nodes that were not there to the end, nodes that hardly a run worked with, and pairs that have no valid run of a workload.
pub(super) fn of(scene: &Scene) -> Vec<NotRun> {
    let pairs = tried(scene);
    let nodes = scene.nodes();
    let (mut failed, mut all) = (vec![0u32; nodes], vec![0u32; nodes]);
    for ((_, a, b), tried) in &pairs {
        for rank in [a, b] {
            all[*rank as usize] += 1;
            failed[*rank as usize] += u32::from(!tried.measured);
        }
    }
    let mostly = |rank: usize| {
        failed[rank] > 1 && f64::from(failed[rank]) >= scene.rules.node_share * f64::from(all[rank])
    };
    // Where most nodes hardly work, it is none of them by itself.
    let many = (0..nodes).filter(|rank| mostly(*rank)).count() * 2 > nodes;
    let mut folded: BTreeMap<Vec<u32>, NotRun> = BTreeMap::new();
    for (rank, node) in scene.cluster.nodes.iter().enumerate() {
        if let NodeState::Absent { why } | NodeState::Lost { why, .. } = &node.state {
            folded.insert(vec![rank as u32], NotRun { nodes: vec![rank as u32], why: why.clone(), runs: 0 });
        }
    }
    let gone = |rank: &u32| scene.cluster.nodes[*rank as usize].state != NodeState::Present;
    for ((_, a, b), tried) in pairs.iter().filter(|(_, tried)| !tried.measured) {
        let ends = [*a, *b];
        let blamed = ends.iter().find(|rank| gone(rank)).or_else(|| {
            ends.iter()
                .filter(|rank| !many && mostly(**rank as usize))
                .max_by_key(|rank| failed[**rank as usize])
        });
        let key = blamed.map_or(ends.to_vec(), |rank| vec![*rank]);
        let why = tried.failed.first().map_or("", |run| why(run));
        let entry = folded.entry(key.clone());
        entry.or_insert_with(|| NotRun { nodes: key, why: why.to_owned(), runs: 0 }).runs +=
            tried.failed.len() as u32;
    }
    let mut not_run: Vec<NotRun> = folded.into_values().collect();
    not_run.sort_by_key(|one| one.nodes.len());
    not_run
}

fn tried<'c>(scene: &Scene<'c>) -> BTreeMap<(u32, u32, u32), Tried<'c>> {
    let mut pairs: BTreeMap<(u32, u32, u32), Tried> = BTreeMap::new();
    let nodes = scene.nodes() as u32;
    for run in scene.cluster.runs.iter().filter(|run| run.role == PairRole::Measured) {
        let Some(round) = scene.cluster.rounds.get(run.round as usize) else { continue };
        if round.part != RoundPart::Pattern || run.requester >= nodes || run.responder >= nodes {
            continue;
        }
        let pair = pairs.entry((round.workload, run.requester, run.responder)).or_default();
        match run.outcome {
            PairOutcome::Measured => pair.measured = true,
            _ => pair.failed.push(run),
        }
    }
    pairs
}

fn why(run: &PairRun) -> &str {
    match &run.outcome {
        PairOutcome::Measured => "",
        PairOutcome::Invalid { why } | PairOutcome::CouldNotRun { why } => why,
    }
}
