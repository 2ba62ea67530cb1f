//! Incast and outcast: several nodes send to one, or one to several, each node in turn.
//!
//! Nodes are seated in a circle that is drawn, and the one whose turn it is has the next so many opposite: so every node is one of the
//! many as often as every other.

use rand_chacha::ChaCha8Rng;

use super::{PatternError, PlannedPair, PlannedRound, Seat};
use crate::{cluster::Rank, draw::shuffle};

/// `senders` nodes send to one.
pub(super) fn incast(
    nodes: &[Seat<'_>],
    senders: u32,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<PlannedRound>, PatternError> {
    fan(nodes, ("senders", senders), rng, "incast to", |one, other| PlannedPair::measured(other, one))
}

/// One node sends to `receivers`.
pub(super) fn outcast(
    nodes: &[Seat<'_>],
    receivers: u32,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<PlannedRound>, PatternError> {
    fan(nodes, ("receivers", receivers), rng, "outcast from", PlannedPair::measured)
}

fn fan(
    nodes: &[Seat<'_>],
    (key, asked): (&'static str, u32),
    rng: &mut ChaCha8Rng,
    label: &str,
    pair: fn(Rank, Rank) -> PlannedPair,
) -> Result<Vec<PlannedRound>, PatternError> {
    let most = nodes.len() - 1;
    if asked as usize > most {
        return Err(PatternError::TooMany { key, asked, most, nodes: nodes.len() });
    }
    let mut circle: Vec<Rank> = (0..nodes.len() as Rank).collect();
    shuffle(&mut circle, rng);
    let round = |(place, one): (usize, &Rank)| PlannedRound {
        label: format!("{label} {}", nodes[*one as usize].name),
        pairs: (1..=asked as usize).map(|next| pair(*one, circle[(place + next) % circle.len()])).collect(),
    };
    Ok(circle.iter().enumerate().map(round).collect())
}
