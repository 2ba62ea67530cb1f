//! A screen: every node in one pair, all at once, to see whether a closer look is worth it.
//!
//! A node of one half of the cluster meets one of the other, so that the pairs cross as much of the fabric as pairs can; which one is
//! drawn, so that the next screen, with another seed, has other partners. Neighbours would leave every uplink out.

use rand_chacha::ChaCha8Rng;

use super::{
    PlannedPair, PlannedRound, Seat,
    bisection::{Halves, halves},
};

/// One round; with an odd number of nodes a second, in which the one that was left over meets one that has been measured.
pub(super) fn rounds(nodes: &[Seat<'_>], rng: &mut ChaCha8Rng) -> Vec<PlannedRound> {
    let Halves { lower, upper } = halves(nodes, rng);
    let pairs = lower.iter().zip(&upper).map(|(a, b)| PlannedPair::measured(*a, *b)).collect();
    let mut rounds = vec![PlannedRound { label: "screen".into(), pairs }];
    if let Some(last) = upper.get(lower.len()) {
        let pairs = vec![PlannedPair::measured(lower[0], *last)];
        rounds
            .push(PlannedRound { label: format!("screen, {} by itself", nodes[*last as usize].name), pairs });
    }
    rounds
}
