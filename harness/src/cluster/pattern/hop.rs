//! Every pair once, by the number of switches between its nodes: all pairs below a leaf, then those one level of switches apart, and
//! so on, so that each class of ways is measured by itself.

use std::collections::{BTreeMap, BTreeSet};

use rand_chacha::ChaCha8Rng;
use schema::{PatternKind, cluster::hops};

use super::{
    PatternError, PlannedPair, PlannedRound, Seat,
    tree::{across, at_level, branches, in_step, must_be_known},
};

/// Rounds of disjoint pairs, the nearest class first; last are those whose nodes have no switch in common, as far as is known.
pub(super) fn rounds(nodes: &[Seat<'_>], rng: &mut ChaCha8Rng) -> Result<Vec<PlannedRound>, PatternError> {
    must_be_known(PatternKind::Hop, nodes)?;
    let hops_of = |pair: &PlannedPair| {
        let [a, b] = [pair.requester, pair.responder].map(|rank| nodes[rank as usize].switches);
        hops(a, b).unwrap_or(u32::MAX)
    };
    let deepest = nodes.iter().map(|node| node.switches.len()).max().unwrap_or(0);
    let mut classes: BTreeMap<u32, Vec<Vec<PlannedPair>>> = BTreeMap::new();
    for level in (0..=deepest).rev() {
        let below = at_level(nodes, level).into_values();
        let rounds = in_step(below.map(|below| across(&branches(nodes, &below, level, rng))).collect());
        // Where branches differ in depth, pairs that part at one level differ in the number of switches.
        let of_level: BTreeSet<u32> = rounds.iter().flatten().map(hops_of).collect();
        for class in of_level {
            let of_class = |round: &Vec<PlannedPair>| {
                round.iter().copied().filter(|pair| hops_of(pair) == class).collect::<Vec<_>>()
            };
            let of_class = rounds.iter().map(of_class).filter(|round| !round.is_empty());
            classes.entry(class).or_default().extend(of_class);
        }
    }
    Ok(classes.into_iter().flat_map(|(class, rounds)| labelled(class, rounds)).collect())
}

fn labelled(class: u32, rounds: Vec<Vec<PlannedPair>>) -> Vec<PlannedRound> {
    let (way, of) = (way(class), rounds.len());
    let label = |(n, pairs)| PlannedRound { label: format!("{way}, step {} of {of}", n + 1), pairs };
    rounds.into_iter().enumerate().map(label).collect()
}

fn way(class: u32) -> String {
    match class {
        1 => "1 switch".into(),
        u32::MAX => "no common switch known".into(),
        more => format!("{more} switches"),
    }
}
