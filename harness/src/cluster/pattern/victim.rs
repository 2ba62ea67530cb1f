//! What others do to a pair: it by itself, and again while other nodes send to a neighbour below its responder's leaf.
//!
//! The neighbour's link is full, not the responder's: what the pair loses, it loses in the switches that both have in common. Where no
//! switches are known, the whole cluster counts as one leaf.

use rand_chacha::ChaCha8Rng;

use super::{MOST_CONGESTORS, PatternError, PlannedPair, PlannedRound, Seat, screen};
use crate::{cluster::Rank, draw::shuffle};

/// The pair, the neighbour, and one that sends to it.
const FEWEST_NODES: usize = 4;

/// The pairs of a screen, each way: two rounds each.
pub(super) fn rounds(
    nodes: &[Seat<'_>],
    asked: Option<u32>,
    rng: &mut ChaCha8Rng,
) -> Result<Vec<PlannedRound>, PatternError> {
    if nodes.len() < FEWEST_NODES {
        let pattern = schema::PatternKind::Victim;
        return Err(PatternError::TooFew { pattern, needs: FEWEST_NODES, nodes: nodes.len() });
    }
    let most = nodes.len() - (FEWEST_NODES - 1);
    let congestors = match asked {
        None => most.min(MOST_CONGESTORS as usize),
        Some(asked) if asked as usize <= most => asked as usize,
        Some(asked) => {
            return Err(PatternError::TooMany { key: "congestors", asked, most, nodes: nodes.len() });
        }
    };
    let mut rounds = Vec::new();
    for pair in screen::rounds(nodes, rng).into_iter().flat_map(|round| round.pairs) {
        for (requester, responder) in [(pair.requester, pair.responder), (pair.responder, pair.requester)] {
            rounds.extend(alone_and_loaded(nodes, (requester, responder), congestors, rng)?);
        }
    }
    Ok(rounds)
}

fn alone_and_loaded(
    nodes: &[Seat<'_>],
    (requester, responder): (Rank, Rank),
    congestors: usize,
    rng: &mut ChaCha8Rng,
) -> Result<[PlannedRound; 2], PatternError> {
    let seat = |rank: Rank| nodes[rank as usize];
    let mut others: Vec<Rank> =
        (0..nodes.len() as Rank).filter(|rank| ![requester, responder].contains(rank)).collect();
    shuffle(&mut others, rng);
    let leaf = seat(responder).switches;
    let Some(place) = others.iter().position(|rank| seat(*rank).switches == leaf) else {
        return Err(PatternError::AloneBelowLeaf { node: seat(responder).name.to_owned() });
    };
    let neighbour = others.remove(place);
    // From elsewhere first: what they send then comes through the leaf's uplinks.
    others.sort_by_key(|rank| seat(*rank).switches == leaf);
    let victim = PlannedPair::measured(requester, responder);
    let load = others.into_iter().take(congestors).map(|rank| PlannedPair::congestor(rank, neighbour));
    let names = format!("{} to {}", seat(requester).name, seat(responder).name);
    let beside = format!("{names} while {congestors} send to {}", seat(neighbour).name);
    Ok([
        PlannedRound { label: format!("{names} alone"), pairs: vec![victim] },
        PlannedRound { label: beside, pairs: std::iter::once(victim).chain(load).collect() },
    ])
}
