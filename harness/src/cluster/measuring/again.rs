//! What stands out is measured again with partners that nothing is said against, until nothing is left to be asked.

use std::time::Instant;

use reports::cluster::{retest, suspects};
use schema::RoundPart;

use super::{AtWork, RoundProgress};
use crate::{
    cluster::{
        Crew, Rank,
        pattern::{PlannedPair, PlannedRound},
        suite::Step,
    },
    store::StoreError,
};

impl<C: Crew> AtWork<'_, C> {
    /// Makes the rounds that measure suspects again; false when it was interrupted. Begun anew after an interruption, it comes to the
    /// rounds that are kept, and leaves them out.
    pub(super) fn again(&mut self) -> Result<bool, StoreError> {
        let suspects = suspects(&self.cluster, self.all.rules);
        if suspects.is_empty() {
            return Ok(true);
        }
        self.all.observer.again(suspects.len());
        for attempt in 0.. {
            let rounds = retest(&self.cluster, &suspects, attempt, self.all.rules);
            if rounds.is_empty() {
                break;
            }
            let steps = self.steps(attempt, rounds);
            let (begun, made) = (Instant::now(), self.made);
            for (number, step) in steps.iter().enumerate() {
                let progress = RoundProgress {
                    part: RoundPart::Retest,
                    number: number as u32 + 1,
                    of: steps.len() as u32,
                    made: self.made - made,
                    elapsed: begun.elapsed(),
                };
                if !self.make(&progress, step)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The rounds of an attempt with every workload, without the pairs that the attempt has measured already.
    fn steps(&self, attempt: u32, rounds: Vec<Vec<(Rank, Rank)>>) -> Vec<Step> {
        let label = format!("attempt {}", attempt + 1);
        let mut steps = Vec::new();
        for pairs in rounds {
            let pairs = pairs.into_iter().map(|(a, b)| PlannedPair::measured(a, b)).collect();
            let round = PlannedRound { label: label.clone(), pairs };
            for part in round.split(self.all.rounds.at_once) {
                for workload in 0..self.cluster.workloads.len() as u32 {
                    let missing =
                        part.pairs.iter().filter(|pair| !self.has_tried(&label, workload, pair)).copied();
                    let step = Step { label: part.label.clone(), workload, pairs: missing.collect() };
                    steps.extend((!step.pairs.is_empty()).then_some(step));
                }
            }
        }
        steps
    }

    fn has_tried(&self, attempt: &str, workload: u32, pair: &PlannedPair) -> bool {
        let rounds = &self.cluster.rounds;
        let first = rounds.iter().position(|round| round.part == RoundPart::Retest);
        let Some(first) = first else { return false };
        // The runs of a retest are the last ones.
        let runs = self.cluster.runs.iter().rev().take_while(|run| run.round as usize >= first);
        let mut of_pair =
            runs.filter(|run| (run.requester, run.responder) == (pair.requester, pair.responder));
        of_pair.any(|run| {
            let round = &rounds[run.round as usize];
            let label = round.label.strip_prefix(attempt);
            round.workload == workload && label.is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
        })
    }
}
