//! Which nodes are measured with which, and which of it at the same time: one file a pattern.
//!
//! Pure: a pattern, the nodes with the switches above them, and a seed come in; rounds come out, the same ones every time.

mod bisection;
mod custom;
mod error;
mod fan;
mod hop;
mod leaf;
mod pairs;
mod round;
mod screen;
mod shift;
#[cfg(test)]
mod tests;
mod tree;
mod victim;

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use schema::{ClusterNode, PatternKind};

use super::{Rank, WantedNode};

pub use custom::CustomRounds;
pub use error::PatternError;
pub use round::{PlannedPair, PlannedRound};

/// A pattern with what it needs to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    /// Every pair once.
    Pairs,
    /// Every node in one pair.
    Screen,
    /// Every node sends to the one `d` further on, for every `d`.
    Shift,
    /// Half of the nodes against the other.
    Bisection {
        /// In so many matchings.
        matchings: u32,
    },
    /// Several nodes send to one.
    Incast {
        /// How many.
        senders: u32,
    },
    /// One node sends to several.
    Outcast {
        /// How many.
        receivers: u32,
    },
    /// Every pair below each leaf switch.
    Leaf,
    /// Every pair, those with the fewest switches between them first.
    Hop,
    /// Pairs by themselves, and with others that load their leaf.
    Victim {
        /// Nodes that load it; none is as many as there are, up to [`MOST_CONGESTORS`].
        congestors: Option<u32>,
    },
    /// As a file says.
    Custom(CustomRounds),
}

/// Congestors of a victim where nobody says how many: enough to fill one link several times over.
pub const MOST_CONGESTORS: u32 = 8;

impl Pattern {
    /// Its name.
    pub fn kind(&self) -> PatternKind {
        match self {
            Pattern::Pairs => PatternKind::Pairs,
            Pattern::Screen => PatternKind::Screen,
            Pattern::Shift => PatternKind::Shift,
            Pattern::Bisection { .. } => PatternKind::Bisection,
            Pattern::Incast { .. } => PatternKind::Incast,
            Pattern::Outcast { .. } => PatternKind::Outcast,
            Pattern::Leaf => PatternKind::Leaf,
            Pattern::Hop => PatternKind::Hop,
            Pattern::Victim { .. } => PatternKind::Victim,
            Pattern::Custom(_) => PatternKind::Custom,
        }
    }

    /// Whether it says itself which node posts, so that a second direction would be another pattern, or the same again.
    pub fn is_one_way(&self) -> bool {
        matches!(
            self,
            Pattern::Shift | Pattern::Incast { .. } | Pattern::Outcast { .. } | Pattern::Victim { .. }
        )
    }

    /// Whether what its pairs do at the same time is what it measures, so that its rounds must not be split.
    pub fn is_together(&self) -> bool {
        self.is_one_way() || matches!(self, Pattern::Bisection { .. })
    }
}

/// A node as a pattern sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat<'n> {
    /// Its name.
    pub name: &'n str,
    /// The switches above it, the outermost first and its leaf last; empty where nobody told.
    pub switches: &'n [String],
}

impl<'n> From<&'n ClusterNode> for Seat<'n> {
    fn from(node: &'n ClusterNode) -> Self {
        Seat { name: &node.name, switches: &node.switches }
    }
}

impl<'n> From<&'n WantedNode> for Seat<'n> {
    fn from(node: &'n WantedNode) -> Self {
        Seat { name: &node.name, switches: &node.switches }
    }
}

/// Lays out the rounds of a pattern over nodes, which are numbered in their order.
///
/// # Errors
/// When there are too few nodes, when the pattern goes by switches and those are not known, or when a file names other nodes.
pub fn schedule(pattern: &Pattern, nodes: &[Seat<'_>], seed: u64) -> Result<Vec<PlannedRound>, PatternError> {
    if nodes.len() < 2 {
        return Err(PatternError::TooFew { pattern: pattern.kind(), needs: 2, nodes: nodes.len() });
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let ranks: Vec<Rank> = (0..nodes.len() as Rank).collect();
    match pattern {
        Pattern::Pairs => Ok(pairs::rounds(ranks, &mut rng)),
        Pattern::Screen => Ok(screen::rounds(nodes, &mut rng)),
        Pattern::Shift => Ok(shift::rounds(nodes.len() as Rank)),
        Pattern::Bisection { matchings } => Ok(bisection::rounds(nodes, *matchings, &mut rng)),
        Pattern::Incast { senders } => fan::incast(nodes, *senders, &mut rng),
        Pattern::Outcast { receivers } => fan::outcast(nodes, *receivers, &mut rng),
        Pattern::Leaf => leaf::rounds(nodes, &mut rng),
        Pattern::Hop => hop::rounds(nodes, &mut rng),
        Pattern::Victim { congestors } => victim::rounds(nodes, *congestors, &mut rng),
        Pattern::Custom(custom) => custom.rounds(nodes),
    }
}

/// The nodes of `nodes` that are in no pair of any round.
pub fn left_out(rounds: &[PlannedRound], nodes: usize) -> Vec<Rank> {
    let mut seen = vec![false; nodes];
    for pair in rounds.iter().flat_map(|round| &round.pairs) {
        seen[pair.requester as usize] = true;
        seen[pair.responder as usize] = true;
    }
    (0..nodes as Rank).filter(|rank| !seen[*rank as usize]).collect()
}
