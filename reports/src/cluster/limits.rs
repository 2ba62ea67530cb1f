//! What the pairs of a cluster can't tell, said rather than guessed.

use super::{
    Analysis,
    claim::{Judged, margin},
    polish::{FEWEST, as_change},
};

/// Share of the nodes that are worse than the middle from which the middle is in doubt.
const MANY: f64 = 0.25;

pub(super) fn of(analysis: &Analysis) -> Vec<String> {
    let mut limits: Vec<String> =
        [few_nodes(analysis), sparse(analysis), leaves(analysis)].into_iter().flatten().collect();
    limits.extend(divided(analysis));
    limits
}

fn few_nodes(analysis: &Analysis) -> Option<String> {
    let scene = &analysis.scene;
    let seen = (0..scene.nodes()).filter(|rank| analysis.judged.iter().any(|judged| touches(judged, *rank)));
    let count = seen.count();
    match count {
        0 => None,
        1..=2 => Some("two nodes have no peers: which of them is slow, or whether the way between them is, can't be told".into()),
        3 => Some("with three nodes a slow one makes most pairs slow: that one is can be seen, which it is can't be told".into()),
        _ => None,
    }
}

fn touches(judged: &Judged, rank: usize) -> bool {
    judged.fit.pairs().any(|(a, b)| a == rank || b == rank)
}

fn sparse(analysis: &Analysis) -> Option<String> {
    let untold = |judged: &Judged| {
        judged.fit.pairs().any(|(a, b)| judged.fit.sends[a].is_none() || judged.fit.receives[b].is_none())
    };
    (analysis.scene.nodes() > 3 && analysis.judged.iter().any(untold)).then(|| {
        format!(
            "some nodes were measured with fewer than {FEWEST} others one way: without measuring again it can't be told whether such a pair's node or the way between is slow"
        )
    })
}

fn leaves(analysis: &Analysis) -> Option<String> {
    (analysis.scene.leaves.len() == 2).then(|| {
        "with two leaf switches whatever crosses one crosses the other: a slow one can't be told from a slow way between them".into()
    })
}

/// Peers are a reference as long as most of them are well.
fn divided(analysis: &Analysis) -> Vec<String> {
    let scene = &analysis.scene;
    let worse = |(number, judged): (usize, &Judged)| {
        let measure = &scene.measures[number];
        let margin = margin(scene, measure.metric);
        let plain = judged.plain();
        let most = [&plain.sends, &plain.receives]
            .map(|effects| {
                let told: Vec<f64> = effects.iter().flatten().copied().collect();
                let low = told.iter().filter(|effect| **effect < margin).count();
                (low, told.len())
            })
            .into_iter()
            .max()?;
        (most.1 > 3 && most.0 as f64 > MANY * most.1 as f64).then(|| {
            let off = 100.0 * as_change(measure.metric, margin).abs();
            format!(
                "{} of {} nodes are more than {off:.0} % worse than those in the middle ({}, {}): with so many of them the middle itself may be what is wrong",
                most.0, most.1, measure.name, measure.metric
            )
        })
    };
    analysis.judged.iter().enumerate().filter_map(worse).collect()
}
