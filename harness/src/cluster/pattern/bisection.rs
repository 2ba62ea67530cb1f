//! Bisection: half of the nodes sends to the other half, all at once, in matchings that are drawn.
//!
//! Where the switches are known, nodes below one switch are in the same half as far as the numbers allow, so that what is sent crosses
//! the middle of the fabric.

use rand_chacha::ChaCha8Rng;

use super::{PlannedPair, PlannedRound, Seat};
use crate::{cluster::Rank, draw::shuffle};

/// The two halves of a cluster, each in an order that is drawn; the upper has one node more where the number is odd.
pub(super) struct Halves {
    pub(super) lower: Vec<Rank>,
    pub(super) upper: Vec<Rank>,
}

pub(super) fn halves(nodes: &[Seat<'_>], rng: &mut ChaCha8Rng) -> Halves {
    let mut lower: Vec<Rank> = (0..nodes.len() as Rank).collect();
    lower.sort_by_key(|rank| nodes[*rank as usize].switches); // stable: by rank below one leaf
    let mut upper = lower.split_off(nodes.len() / 2);
    shuffle(&mut lower, rng);
    shuffle(&mut upper, rng);
    Halves { lower, upper }
}

/// Matchings, no pair in two of them until every pair was in one.
pub(super) fn rounds(nodes: &[Seat<'_>], matchings: u32, rng: &mut ChaCha8Rng) -> Vec<PlannedRound> {
    let mut rounds = Vec::new();
    while rounds.len() < matchings as usize {
        let Halves { lower, upper } = halves(nodes, rng);
        let mut offsets: Vec<usize> = (0..upper.len()).collect();
        shuffle(&mut offsets, rng);
        for offset in offsets.into_iter().take(matchings as usize - rounds.len()) {
            let opposite =
                |(n, rank): (usize, &Rank)| PlannedPair::measured(*rank, upper[(n + offset) % upper.len()]);
            let pairs = lower.iter().enumerate().map(opposite).collect();
            rounds
                .push(PlannedRound { label: format!("matching {} of {matchings}", rounds.len() + 1), pairs });
        }
    }
    rounds
}
