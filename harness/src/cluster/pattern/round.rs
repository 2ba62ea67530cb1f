//! A round as planned: pairs that start together.

use schema::PairRole;
use serde::Serialize;

use crate::cluster::Rank;

/// A round of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedRound {
    /// Which step of the pattern it is, in words: `step 3 of 7`.
    pub label: String,
    /// What starts together.
    pub pairs: Vec<PlannedPair>,
}

/// A pair of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PlannedPair {
    /// The node that posts.
    pub requester: Rank,
    /// The node that is written to.
    pub responder: Rank,
    /// What it is in the round.
    pub role: PairRole,
}

impl PlannedPair {
    /// A pair that is measured.
    pub fn measured(requester: Rank, responder: Rank) -> Self {
        PlannedPair { requester, responder, role: PairRole::Measured }
    }

    /// A pair that loads the fabric beside what is measured.
    pub fn congestor(requester: Rank, responder: Rank) -> Self {
        PlannedPair { requester, responder, role: PairRole::Congestor }
    }
}

impl PlannedRound {
    /// The same round with what is measured going the other way; load beside it stays as it is.
    pub fn swapped(&self) -> PlannedRound {
        let swap = |pair: &PlannedPair| match pair.role {
            PairRole::Measured => PlannedPair::measured(pair.responder, pair.requester),
            PairRole::Congestor => *pair,
        };
        PlannedRound { label: self.label.clone(), pairs: self.pairs.iter().map(swap).collect() }
    }

    /// The round in as few parts as have no more than `at_once` pairs each, about as many in every part.
    pub fn split(self, at_once: Option<u32>) -> Vec<PlannedRound> {
        let most = at_once.map_or(usize::MAX, |most| most.max(1) as usize);
        let parts = self.pairs.len().div_ceil(most);
        if parts <= 1 {
            return vec![self];
        }
        let size = self.pairs.len().div_ceil(parts);
        let parts = self.pairs.len().div_ceil(size);
        let part = |(n, pairs): (usize, &[PlannedPair])| PlannedRound {
            label: format!("{}, part {} of {parts}", self.label, n + 1),
            pairs: pairs.to_vec(),
        };
        self.pairs.chunks(size).enumerate().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round(pairs: u32) -> PlannedRound {
        let pairs = (0..pairs).map(|n| PlannedPair::measured(2 * n, 2 * n + 1)).collect();
        PlannedRound { label: "step 1 of 1".into(), pairs }
    }

    #[test]
    fn parts_are_about_as_large_as_each_other_and_say_which_they_are() {
        let parts = round(5).split(Some(4));
        let shown: Vec<(&str, usize)> =
            parts.iter().map(|part| (part.label.as_str(), part.pairs.len())).collect();
        assert_eq!(shown, [("step 1 of 1, part 1 of 2", 3), ("step 1 of 1, part 2 of 2", 2)]);
        assert_eq!(round(5).split(Some(5)), [round(5)]);
        assert_eq!(round(5).split(None), [round(5)]);
    }

    #[test]
    fn what_is_measured_is_swapped_and_what_loads_is_not() {
        let pairs = vec![PlannedPair::measured(0, 1), PlannedPair::congestor(2, 3)];
        let swapped = PlannedRound { label: String::new(), pairs }.swapped();
        assert_eq!(swapped.pairs, [PlannedPair::measured(1, 0), PlannedPair::congestor(2, 3)]);
    }

    proptest! {
        #[test]
        fn a_split_loses_no_pair_and_keeps_to_its_bound(pairs in 1u32..200, at_once in 1u32..50) {
            let parts = round(pairs).split(Some(at_once));
            prop_assert!(parts.iter().all(|part| !part.pairs.is_empty() && part.pairs.len() <= at_once as usize));
            prop_assert_eq!(parts.len(), (pairs as usize).div_ceil(at_once as usize));
            let all: Vec<PlannedPair> = parts.into_iter().flat_map(|part| part.pairs).collect();
            prop_assert_eq!(all, round(pairs).pairs);
        }
    }
}
