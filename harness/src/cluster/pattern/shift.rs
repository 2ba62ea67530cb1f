//! Shift: every node sends to the one `d` further on and is sent to by the one `d` before it, all at once, for every `d`.
//!
//! It loads the whole fabric, and every node with both directions; every pair is measured each way. Who is next to whom goes by rank,
//! as schedulers number nodes: small steps stay below a switch, large ones leave it.

use super::{PlannedPair, PlannedRound};
use crate::cluster::Rank;

/// n - 1 rounds of n pairs.
pub(super) fn rounds(nodes: Rank) -> Vec<PlannedRound> {
    let round = |step: Rank| PlannedRound {
        label: format!("shift by {step}"),
        pairs: (0..nodes).map(|rank| PlannedPair::measured(rank, (rank + step) % nodes)).collect(),
    };
    (1..nodes).map(round).collect()
}
