//! The rounds of a cluster, made and kept one by one: those of the pattern, then those that measure again what stands out.
//!
//! A round is kept as it ends, and what is missing is seen from what is kept: a cluster that was stopped or killed anywhere goes on
//! with the next round. A node that is lost costs its own pairs, which are recorded as what could not run, and no time.

mod again;
mod observer;
mod remark;
mod resume;
mod round;
mod rounds;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use reports::cluster::ClusterRules;
use schema::{Cluster, Nanos, NodeState, PairRun, Round, RoundPart, SoftModel};

use super::{Crew, suite::Step};
use crate::{
    interrupt::Interrupt,
    store::{KeptPair, Store, StoreError},
    words,
};

pub use observer::{ClusterObserver, RoundProgress};
pub use resume::{ResumeClusterError, Resumed, find};
pub use rounds::Rounds;

/// A cluster at work.
pub struct Measuring<'m, C: Crew> {
    /// Where it is kept.
    pub store: &'m mut Store,
    /// Who makes the rounds.
    pub crew: &'m mut C,
    /// Who is told.
    pub observer: &'m mut dyn ClusterObserver,
    /// The wish to stop.
    pub interrupt: &'m Interrupt,
    /// The rounds of the pattern, and how many pairs run at the same time.
    pub rounds: &'m Rounds,
    /// By rank: what is said of a node's end of the link, on the software NIC.
    pub ends: &'m [Option<SoftModel>],
    /// By what suspects are found.
    pub rules: &'m ClusterRules,
}

/// How it came to its end for now.
#[derive(Debug)]
pub enum Measured {
    /// Every round was made; nothing is left to be asked. The store does not have its end yet.
    Whole(Box<Cluster>),
    /// Someone asked to stop; the rounds that were made are kept.
    Interrupted,
}

impl<C: Crew> Measuring<'_, C> {
    /// Makes what is missing of a cluster that was begun.
    ///
    /// # Errors
    /// When the store says no; what it has is whole rounds.
    pub fn carry_out(self, cluster: i64) -> Result<Measured, StoreError> {
        let cluster = self.store.cluster(cluster)?;
        let mut at_work = AtWork { all: self, cluster, since: Instant::now(), made: 0 };
        at_work.keep_nodes()?;
        let whole = at_work.pattern()? && at_work.again()?;
        Ok(if whole { Measured::Whole(Box::new(at_work.cluster)) } else { Measured::Interrupted })
    }
}

/// The same, with how far it has come.
struct AtWork<'m, C: Crew> {
    all: Measuring<'m, C>,
    cluster: Cluster,
    /// When the round before had ended: what is done between two rounds belongs to the later one.
    since: Instant,
    /// Rounds made since it began, or went on.
    made: u32,
}

impl<C: Crew> AtWork<'_, C> {
    /// Makes the missing rounds of the pattern; false when it was interrupted.
    fn pattern(&mut self) -> Result<bool, StoreError> {
        let steps = &self.all.rounds.steps;
        let kept = self.cluster.rounds.iter().filter(|round| round.part == RoundPart::Pattern).count();
        let begun = Instant::now();
        self.all.observer.begins(steps.len() as u32, kept as u32);
        for (number, step) in steps.iter().enumerate().skip(kept) {
            let progress = RoundProgress {
                part: RoundPart::Pattern,
                number: number as u32 + 1,
                of: steps.len() as u32,
                made: self.made,
                elapsed: begun.elapsed(),
            };
            if !self.make(&progress, step)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes a round and keeps it; false when it was interrupted.
    fn make(&mut self, progress: &RoundProgress, step: &Step) -> Result<bool, StoreError> {
        let all = &mut self.all;
        all.observer.starts(progress, step);
        let started_at_unix_ms = words::unix_ms();
        let tasks = round::tasks(&self.cluster, step, all.ends);
        let Some(result) = round::measure(all.crew, &tasks, all.interrupt) else { return Ok(false) };
        let wall = self.since.elapsed();
        self.since = Instant::now();
        let round = Round {
            number: self.cluster.rounds.len() as u32,
            part: progress.part,
            label: step.label.clone(),
            workload: step.workload,
            started_at_unix_ms,
            wall_ns: nanos(wall),
            skew_ns: result.skew_ns,
            skew_uncertainty_ns: result.skew_uncertainty_ns,
            controller_ns: nanos(wall.saturating_sub(result.waited)),
        };
        let first = self.cluster.runs.len() as u32;
        let runs: Vec<PairRun> = (first..)
            .zip(tasks.iter().zip(&result.pairs))
            .map(|(sequence, (task, pair))| round::run(sequence, round.number, task, pair, all.crew.nodes()))
            .collect();
        let pairs: Vec<KeptPair<'_>> = runs
            .iter()
            .zip(&result.pairs)
            .map(|(run, pair)| KeptPair { run, record: &pair.record })
            .collect();
        all.store.keep_round(self.cluster.id, &round, &pairs)?;
        if let Some(pair) = result.pairs.first().filter(|_| self.cluster.fabric.is_none()) {
            self.cluster.fabric = Some(pair.record.fabric);
            self.cluster.fabric_label = Some(pair.record.fabric_label.clone());
        }
        self.made += 1;
        all.observer.ended(progress, &round, &runs);
        self.cluster.rounds.push(round);
        self.cluster.runs.extend(runs);
        self.keep_nodes()?;
        Ok(true)
    }

    /// Keeps what is known of the nodes by now, and tells of those that were lost.
    fn keep_nodes(&mut self) -> Result<(), StoreError> {
        let nodes = self.all.crew.nodes();
        if nodes == self.cluster.nodes {
            return Ok(());
        }
        for (now, before) in nodes.iter().zip(&self.cluster.nodes) {
            if let NodeState::Lost { why, .. } = &now.state
                && now.state != before.state
            {
                self.all.observer.lost(&now.name, why);
            }
        }
        self.all.store.keep_cluster_nodes(self.cluster.id, nodes)?;
        self.cluster.nodes = nodes.to_vec();
        Ok(())
    }
}

impl RoundProgress {
    /// Time left for the rounds of this part, judging by those that have ended; none before the first has.
    pub fn time_left(&self) -> Option<Duration> {
        let left = self.of - (self.number - 1);
        (self.made > 0).then(|| self.elapsed / self.made * left)
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(duration.as_nanos() as u64)
}
