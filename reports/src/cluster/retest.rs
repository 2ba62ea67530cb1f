//! Plans whom to measure again with whom: suspects with nodes that nothing is said against, links as they are; several at a time,
//! and none twice in a round.

use std::collections::BTreeSet;

use super::{
    again::{Again, Standing},
    claim::{Claim, Part},
};

/// Pairs across a leaf that are measured at a time to try it.
const PAIRS_OF_A_LEAF: usize = 4;

/// The rounds of an attempt, from 0: disjoint pairs, requester first. Empty when enough is known, or nobody is left to be measured
/// with.
pub(super) fn rounds(again: &Again, claims: &[Claim], attempt: u32) -> Vec<Vec<(u32, u32)>> {
    let mut plan = Plan { again, claims, attempt: attempt as usize, rounds: Vec::new() };
    for part in wanted(again, claims, attempt) {
        match part {
            Part::Leaves(leaf) => plan.leaf(leaf, true),
            Part::Enters(leaf) => plan.leaf(leaf, false),
            Part::Sends(node) => plan.node(node, true),
            Part::Receives(node) => plan.node(node, false),
            Part::Way(a, b) => plan.way(a, b),
        }
    }
    let rank = |pair: &(usize, usize)| (pair.0 as u32, pair.1 as u32);
    plan.rounds.iter().map(|round| round.iter().map(rank).collect()).collect()
}

/// What is still open, each part once: leaves first, as they take a round of their own to begin with.
fn wanted(again: &Again, claims: &[Claim], attempt: u32) -> BTreeSet<Part> {
    let mut wanted = BTreeSet::new();
    let can =
        |claim: &&Claim| claim.measure < again.scene.first_loaded && attempt < again.needed(claim).rounds;
    for claim in claims.iter().filter(can) {
        let standing = again.stands(claim.part, claim).0;
        if standing == Standing::Cleared {
            continue;
        }
        let open = |part: &Part| again.stands(*part, claim).0 == Standing::Open;
        wanted.extend((standing == Standing::Open).then_some(claim.part));
        wanted.extend(again.untold_ends(claim).into_iter().filter(open));
    }
    wanted
}

struct Plan<'p, 'a, 'c> {
    again: &'p Again<'a, 'c>,
    claims: &'p [Claim],
    attempt: usize,
    rounds: Vec<Vec<(usize, usize)>>,
}

impl Plan<'_, '_, '_> {
    fn free(&self, round: usize, node: usize) -> bool {
        let busy = |pairs: &Vec<(usize, usize)>| pairs.iter().any(|(a, b)| *a == node || *b == node);
        !self.rounds.get(round).is_some_and(busy)
    }

    fn put(&mut self, round: usize, pair: (usize, usize)) {
        if round == self.rounds.len() {
            self.rounds.push(Vec::new());
        }
        self.rounds[round].push(pair);
    }

    fn way(&mut self, a: usize, b: usize) {
        if !self.again.scene.present(a) || !self.again.scene.present(b) {
            return;
        }
        let first = (0..=self.rounds.len()).find(|round| self.free(*round, a) && self.free(*round, b));
        self.put(first.unwrap_or(self.rounds.len()), (a, b));
    }

    fn node(&mut self, node: usize, sends: bool) {
        if !self.again.scene.present(node) {
            return;
        }
        for round in 0..=self.rounds.len() {
            if !self.free(round, node) {
                continue;
            }
            if let Some(partner) = self.partner(round, node, sends, |_| true) {
                let pair = if sends { (node, partner) } else { (partner, node) };
                return self.put(round, pair);
            }
        }
    }

    /// One round for a leaf, so that its pairs are measured under the same load as one another.
    fn leaf(&mut self, leaf: usize, out: bool) {
        let scene = self.again.scene;
        let round = self.rounds.len();
        let mut members: Vec<usize> =
            scene.leaves[leaf].nodes.iter().copied().filter(|node| scene.present(*node)).collect();
        if members.is_empty() {
            return;
        }
        let turn = self.attempt * PAIRS_OF_A_LEAF % members.len();
        members.rotate_left(turn);
        for node in members.into_iter().take(PAIRS_OF_A_LEAF) {
            let outside = |other: usize| scene.leaf_of[other] != Some(leaf);
            if let Some(partner) = self.partner(round, node, out, outside) {
                let pair = if out { (node, partner) } else { (partner, node) };
                self.put(round.min(self.rounds.len()), pair);
            }
        }
    }

    /// Who is good, free in a round, and not suspected of the way to `node`: first those at the distance at which most pairs
    /// were measured, each attempt another.
    fn partner(&self, round: usize, node: usize, sends: bool, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let scene = self.again.scene;
        let (nodes, common) = (scene.nodes(), self.again.common);
        let start = node + 1 + self.attempt * (nodes / 3 + 1);
        let pair = |other: usize| if sends { (node, other) } else { (other, node) };
        let suspected = |other: usize| {
            let (a, b) = pair(other);
            self.claims.iter().any(|claim| claim.part == Part::Way(a, b))
        };
        let can = |other: &usize| {
            *other != node
                && self.again.good[*other]
                && scene.present(*other)
                && self.free(round, *other)
                && fits(*other)
                && !suspected(*other)
        };
        let candidates: Vec<usize> = (0..nodes).map(|step| (start + step) % nodes).filter(can).collect();
        let near = candidates.iter().find(|other| {
            let (a, b) = pair(**other);
            scene.class(a, b) == common
        });
        near.or(candidates.first()).copied()
    }
}
