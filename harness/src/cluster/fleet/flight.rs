//! One pair of a round on its way: what was asked of its two agents, what they answered, and what it comes to.

use std::time::Instant;

use schema::{RunRecord, Side};
use serde::Deserialize;

use super::Rank;
use crate::{
    agent::{
        ended::{SAME_RELEASE, last_words},
        protocol::End,
    },
    cluster::PairTask,
    run::{
        ends::{Fates, read_record},
        failure::{Failure, Started},
    },
};

/// How far a pair is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Its responder is to say where it listens.
    Serving,
    /// Its requester is to say that it stands ready.
    Preparing,
    /// Its requester stands ready.
    Holding,
    /// Its requester was told when to post.
    Measuring,
    /// Its requester has ended; its responder is to do so.
    Concluding,
    /// What still runs of it was told to end.
    Stopping,
    /// Nothing runs of it.
    Done,
}

/// One pair of a round on its way.
pub(super) struct Flight<'t> {
    pub(super) task: &'t PairTask,
    /// Number of its run.
    pub(super) run: u32,
    pub(super) token: String,
    pub(super) started: Started,
    pub(super) fates: Fates,
    pub(super) step: Step,
    /// When it is given up in this step.
    pub(super) deadline: Instant,
    /// Why there is no record.
    failure: Option<Failure>,
    /// How its responder ended, if it did by itself.
    pub(super) responder_end: Option<End>,
}

impl<'t> Flight<'t> {
    /// A pair that nothing was asked for yet.
    pub(super) fn new(task: &'t PairTask, run: u32, token: String) -> Self {
        let started = Started::now();
        Flight {
            task,
            run,
            token,
            deadline: started.instant,
            started,
            fates: Fates::default(),
            step: Step::Serving,
            failure: None,
            responder_end: None,
        }
    }

    /// The node of a side.
    pub(super) fn rank(&self, side: Side) -> Rank {
        match side {
            Side::Requester => self.task.requester,
            Side::Responder => self.task.responder,
        }
    }

    /// Which side a node is; none if it has no part in it.
    pub(super) fn side(&self, rank: Rank) -> Option<Side> {
        [Side::Requester, Side::Responder].into_iter().find(|side| self.rank(*side) == rank)
    }

    /// Whether the barrier waits for it.
    pub(super) fn is_unready(&self) -> bool {
        matches!(self.step, Step::Serving | Step::Preparing)
    }

    /// Notes why there will be no record; the first reason stands.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// What it comes to.
    pub(super) fn record(&mut self) -> RunRecord {
        let spec = &self.task.spec;
        let read = match (self.failure.take(), &self.fates.ends[Side::Requester as usize]) {
            (Some(failure), _) => Err(failure),
            (None, Some(end)) => read_record(spec, end, self.responder_end.as_ref()),
            (None, None) => Err(Failure::launch(Side::Requester, "it was ended before it measured", "")),
        };
        read.unwrap_or_else(|failure| failure.record(spec, &self.started))
    }
}

/// What `verbs-bench run --hold --json` says when it stands ready.
#[derive(Deserialize)]
struct Ready {
    holding: bool,
}

/// Reads the line by which a requester says that it stands ready.
pub(super) fn stands_ready(line: &str) -> Result<(), Failure> {
    match serde_json::from_str(line) {
        Ok(Ready { holding: true }) => Ok(()),
        _ => {
            let cause = format!("verbs-bench did not say that it stands ready, but: {}", last_words(line));
            Err(Failure::launch(Side::Requester, cause, SAME_RELEASE))
        }
    }
}
