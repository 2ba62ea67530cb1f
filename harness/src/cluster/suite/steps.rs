//! Every round of a suite in the order it is made: what `cluster plan` shows is what `cluster run` does.

use std::time::Duration;

use schema::Directions;
use serde::Serialize;

use super::Suite;
use crate::{
    cluster::pattern::{PatternError, PlannedPair, PlannedRound, Seat, schedule},
    plan,
};

/// One round to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Which it is, in words: `step 3 of 7, part 1 of 2, the other way`.
    pub label: String,
    /// Which of [`Suite::workloads`].
    pub workload: u32,
    /// What starts together, as it is to be made.
    pub pairs: Vec<PlannedPair>,
}

impl Suite {
    /// The rounds over these nodes: each pass over the pattern is drawn anew, each of its rounds is made with every workload, and with
    /// each in both directions, one right after the other.
    ///
    /// # Errors
    /// When the pattern can't be laid out over these nodes.
    pub fn steps(&self, nodes: &[Seat<'_>], seed: u64) -> Result<Vec<Step>, PatternError> {
        let mut steps = Vec::new();
        for pass in 0..self.repeat {
            let rounds = schedule(&self.pattern, nodes, seed.wrapping_add(u64::from(pass)))?;
            for mut part in rounds.into_iter().flat_map(|round| round.split(self.at_once)) {
                if self.repeat > 1 {
                    part.label = format!("pass {}, {}", pass + 1, part.label);
                }
                for workload in 0..self.workloads.len() as u32 {
                    self.add_directions(&part, workload, &mut steps);
                }
            }
        }
        Ok(steps)
    }

    /// Time that rounds take without what is measured again; none where a workload ends after a count of messages.
    pub fn time_of(&self, steps: &[Step]) -> Option<Duration> {
        steps.iter().map(|step| plan::run_time(&self.workloads[step.workload as usize].spec)).sum()
    }

    fn add_directions(&self, round: &PlannedRound, workload: u32, steps: &mut Vec<Step>) {
        steps.push(Step { label: round.label.clone(), workload, pairs: round.pairs.clone() });
        if self.directions == Directions::Both {
            let label = format!("{}, the other way", round.label);
            steps.push(Step { label, workload, pairs: round.swapped().pairs });
        }
    }
}
