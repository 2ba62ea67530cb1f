//! All pairs by a round-robin tournament: no schedule of disjoint pairs has fewer rounds.
//!
//! The circle method: one seat stays, the others move on by one each round, and who sits opposite is met. With an odd number the
//! seat that stays is empty, and whoever would meet it rests.

use rand_chacha::ChaCha8Rng;

use super::{PlannedPair, PlannedRound};
use crate::{cluster::Rank, draw::shuffle};

/// Every pair once: n - 1 rounds of n/2 pairs for even n, n rounds of (n - 1)/2 for odd n. Seats are drawn, so that neighbours in a
/// rack do not load the fabric in step.
pub(super) fn rounds(mut ranks: Vec<Rank>, rng: &mut ChaCha8Rng) -> Vec<PlannedRound> {
    shuffle(&mut ranks, rng);
    numbered(tournament(&ranks))
}

/// Rounds with their number in words.
pub(super) fn numbered(rounds: Vec<Vec<PlannedPair>>) -> Vec<PlannedRound> {
    let of = rounds.len();
    let number = |(n, pairs)| PlannedRound { label: format!("step {} of {of}", n + 1), pairs };
    rounds.into_iter().enumerate().map(number).collect()
}

/// The tournament of these players; each posts in half of its pairs, give or take one.
pub(super) fn tournament(players: &[Rank]) -> Vec<Vec<PlannedPair>> {
    let meetings = meetings(players.len());
    let pair = |(a, b): (usize, usize)| PlannedPair::measured(players[a], players[b]);
    meetings.into_iter().map(|round| round.into_iter().map(pair).collect()).collect()
}

/// Who meets whom among `count`, by position.
pub(super) fn meetings(count: usize) -> Vec<Vec<(usize, usize)>> {
    if count < 2 {
        return Vec::new();
    }
    let even = count.is_multiple_of(2);
    let circle = if even { count - 1 } else { count };
    let round = |round: usize| {
        let opposite =
            (1..=(circle - 1) / 2).map(|off| ((round + off) % circle, (round + circle - off) % circle));
        let stays = even.then_some(if round.is_multiple_of(2) { (circle, round) } else { (round, circle) });
        stays.into_iter().chain(opposite).collect()
    };
    (0..circle).map(round).collect()
}
