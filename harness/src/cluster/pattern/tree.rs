//! The switches above the nodes, as the tree that patterns go by.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use schema::PatternKind;

use super::{PatternError, PlannedPair, Seat, pairs::meetings};
use crate::{cluster::Rank, draw::shuffle};

/// Nodes by a switch: the way to it from the outermost on, and what is below it.
pub(super) type Groups<'n> = BTreeMap<&'n [String], Vec<Rank>>;

/// Refuses nodes whose switches are not known.
pub(super) fn must_be_known(pattern: PatternKind, nodes: &[Seat<'_>]) -> Result<(), PatternError> {
    let unknown = nodes.iter().filter(|node| node.switches.is_empty());
    let unknown: Vec<String> = unknown.map(|node| node.name.to_owned()).collect();
    if unknown.is_empty() { Ok(()) } else { Err(PatternError::NoTopology { pattern, nodes: unknown }) }
}

/// Nodes by the switch at a level, from 0, which is above all of them; nodes that are plugged in further up are in none.
pub(super) fn at_level<'n>(nodes: &[Seat<'n>], level: usize) -> Groups<'n> {
    let mut groups = Groups::new();
    for (rank, node) in (0..).zip(nodes) {
        if let Some(way) = node.switches.get(..level) {
            groups.entry(way).or_default().push(rank);
        }
    }
    groups
}

/// The nodes below a switch that is at a level, as those of each switch further down, each in an order that is drawn; a node that is
/// plugged into it is by itself.
pub(super) fn branches(
    nodes: &[Seat<'_>],
    below: &[Rank],
    level: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<Rank>> {
    let mut alone = Vec::new();
    let mut deeper: BTreeMap<&String, Vec<Rank>> = BTreeMap::new();
    for rank in below {
        match nodes[*rank as usize].switches.get(level) {
            None => alone.push(vec![*rank]),
            Some(switch) => deeper.entry(switch).or_default().push(*rank),
        }
    }
    alone.extend(deeper.into_values());
    shuffle(&mut alone, rng);
    alone.iter_mut().for_each(|branch| shuffle(branch, rng));
    alone
}

/// Every pair of nodes of different branches once, in rounds of disjoint pairs: a tournament of the branches, and within each of its
/// meetings as many rounds as the larger branch of any has nodes.
pub(super) fn across(branches: &[Vec<Rank>]) -> Vec<Vec<PlannedPair>> {
    let mut rounds = Vec::new();
    for meetings in meetings(branches.len()) {
        let larger = |(a, b): &(usize, usize)| branches[*a].len().max(branches[*b].len());
        for step in 0..meetings.iter().map(larger).max().unwrap_or(0) {
            rounds.push(
                meetings.iter().flat_map(|(a, b)| matched(&branches[*a], &branches[*b], step)).collect(),
            );
        }
    }
    rounds
}

/// Step `step` of everyone of one branch with everyone of another; each posts in about half of its pairs.
fn matched(one: &[Rank], other: &[Rank], step: usize) -> Vec<PlannedPair> {
    let (few, many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if step >= many.len() {
        return Vec::new();
    }
    let pair = |(n, rank): (usize, &Rank)| {
        let opposite = many[(n + step) % many.len()];
        if step.is_multiple_of(2) {
            PlannedPair::measured(*rank, opposite)
        } else {
            PlannedPair::measured(opposite, *rank)
        }
    };
    few.iter().enumerate().map(pair).collect()
}

/// Rounds of parts that have no node in common, in step: the first of each at the same time, and so on.
pub(super) fn in_step(parts: Vec<Vec<Vec<PlannedPair>>>) -> Vec<Vec<PlannedPair>> {
    let mut all: Vec<Vec<PlannedPair>> = Vec::new();
    for part in parts {
        all.resize_with(all.len().max(part.len()), Vec::new);
        for (round, pairs) in all.iter_mut().zip(part) {
            round.extend(pairs);
        }
    }
    all
}
