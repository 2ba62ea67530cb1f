//! Pairs below one leaf switch: a tournament under each of them, all leaves at the same time.

use rand_chacha::ChaCha8Rng;
use schema::PatternKind;

use super::{
    PatternError, PlannedRound, Seat,
    pairs::{numbered, tournament},
    tree::{Groups, in_step, must_be_known},
};
use crate::{cluster::Rank, draw::shuffle};

/// As many rounds as the largest leaf takes.
pub(super) fn rounds(nodes: &[Seat<'_>], rng: &mut ChaCha8Rng) -> Result<Vec<PlannedRound>, PatternError> {
    must_be_known(PatternKind::Leaf, nodes)?;
    let mut leaves = Groups::new();
    for (rank, node) in (0 as Rank..).zip(nodes) {
        leaves.entry(node.switches).or_default().push(rank);
    }
    let tournaments = leaves.into_values().map(|mut ranks| {
        shuffle(&mut ranks, rng);
        tournament(&ranks)
    });
    let rounds = in_step(tournaments.collect());
    if rounds.is_empty() { Err(PatternError::NoLeafOfTwo) } else { Ok(numbered(rounds)) }
}
