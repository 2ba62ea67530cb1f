//! What the news of a round mean for its pairs, and the want of news.

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Instant};

use schema::{HostEvidence, Side};

use super::{
    super::{
        Rank,
        ear::News,
        flight::{Step, stands_ready},
    },
    Round, SIDES,
};
use crate::{
    agent::protocol::{End, Order, Report},
    run::{
        ends::{does_not_listen, farewell, gave_no_record, listening, not_started},
        failure::Failure,
    },
};

impl Round<'_, '_> {
    /// Waits for the next news, and does what it asks for.
    pub(super) fn attend(&mut self) {
        match self.fleet.hear(self.look_at) {
            None => self.look(),
            Some(News::Interrupted) => {
                self.interrupted = true;
                for pair in 0..self.flights.len() {
                    self.stop(pair);
                }
            }
            Some(News::Lost(rank)) => self.lose(rank),
            Some(News::Report(rank, report)) => self.take(rank, report),
        }
    }

    /// Gives up what has taken too long.
    fn look(&mut self) {
        let now = Instant::now();
        for pair in 0..self.flights.len() {
            let flight = &self.flights[pair];
            if flight.step != Step::Done && flight.deadline <= now {
                self.expire(pair);
            }
        }
        let open = self.flights.iter().filter(|flight| flight.step != Step::Done);
        let next = open.map(|flight| flight.deadline).filter(|deadline| *deadline > now).min();
        self.look_at = next.unwrap_or(now + self.fleet.limits.silence);
    }

    fn expire(&mut self, pair: usize) {
        let limits = self.fleet.limits.clone();
        match self.flights[pair].step {
            Step::Serving => self.give_up(pair, does_not_listen(limits.process)),
            Step::Preparing => {
                let cause = format!(
                    "verbs-bench was not ready to post within {} s, and the other pairs did not wait longer",
                    limits.ready.as_secs_f32()
                );
                let advice = "see what keeps it: measure this pair by itself with `rdma-harness run`";
                self.give_up(pair, Failure::launch(Side::Requester, cause, advice));
            }
            Step::Measuring => self.give_up(pair, gave_no_record()),
            // Its record is there; its responder does not notice, and is ended.
            Step::Concluding => self.stop(pair),
            Step::Stopping => {
                let hung: Vec<Rank> = SIDES
                    .into_iter()
                    .filter(|side| self.flights[pair].fates.runs(*side))
                    .map(|side| self.flights[pair].rank(side))
                    .collect();
                for rank in hung {
                    let within = limits.stop.as_secs_f32();
                    let why =
                        format!("its agent did not end a process within {within} s: hung or overloaded");
                    self.fleet.lose(rank, why);
                }
            }
            // It waits for the others, who have limits of their own.
            Step::Holding | Step::Done => {}
        }
    }

    /// A node is lost, and with it whatever it had a part in.
    fn lose(&mut self, rank: Rank) {
        let cause = format!("its node is lost: {}", self.fleet.why_away(rank));
        let advice = "its agent turns the host back by itself unless it was killed; see `rdma-harness tune status` there";
        for pair in self.of_node.get(&rank).cloned().unwrap_or_default() {
            let flight = &mut self.flights[pair];
            if flight.step == Step::Done {
                continue;
            }
            if let Some(side) = flight.side(rank) {
                flight.fates.started[side as usize] = false; // nothing more is heard of it
                flight.fail(Failure::launch(side, cause.as_str(), advice));
            }
            self.stop(pair);
        }
    }

    /// What a node tells of one of its runs; of a round that is over, nothing is wanted.
    fn take(&mut self, rank: Rank, report: Report) {
        let run = match &report {
            Report::Said { run, .. } | Report::NotStarted { run, .. } | Report::Ended { run, .. } => *run,
            _ => return,
        };
        let pair = run.wrapping_sub(self.first_run) as usize;
        let Some(side) = self.flights.get(pair).and_then(|flight| flight.side(rank)) else { return };
        match report {
            Report::Said { line, .. } => self.said(pair, side, &line),
            Report::NotStarted { cause, .. } => {
                self.flights[pair].fates.started[side as usize] = false;
                self.give_up(pair, not_started(side, &cause));
            }
            Report::Ended { end, evidence, .. } => self.ended(pair, side, end, *evidence),
            _ => {}
        }
    }

    fn said(&mut self, pair: usize, side: Side, line: &str) {
        let flight = &self.flights[pair];
        match (flight.step, side) {
            (Step::Serving, Side::Responder) => match listening(line) {
                Ok(peer) => {
                    let (run, token) = (flight.run, flight.token.clone());
                    let spec = Box::new(flight.task.spec.clone());
                    self.ask(pair, Side::Requester, &Order::Measure { run, token, peer, spec, hold: true });
                    self.go_to(pair, Step::Preparing, self.ready_by);
                }
                Err(failure) => self.give_up(pair, failure),
            },
            (Step::Preparing, Side::Requester) => match stands_ready(line) {
                Ok(()) => self.go_to(pair, Step::Holding, self.ready_by),
                Err(failure) => self.give_up(pair, failure),
            },
            _ => {} // one that is being ended
        }
    }

    fn ended(&mut self, pair: usize, side: Side, end: End, evidence: HostEvidence) {
        let flight = &mut self.flights[pair];
        flight.fates.evidence[side as usize] = Some(evidence);
        flight.fates.ends[side as usize] = Some(end.clone());
        match (flight.step, side) {
            (Step::Serving, _) => {
                let status = ExitStatus::from_raw(end.status);
                self.give_up(pair, Failure::ended(side, status, &end.stderr));
            }
            (Step::Preparing | Step::Holding | Step::Measuring, Side::Requester) => {
                let patience = farewell(&end, self.fleet.limits.process);
                self.go_to(pair, Step::Concluding, Instant::now() + patience);
                self.settle(pair);
            }
            // The responder ended first: the requester notices by itself and says what it means.
            (Step::Preparing | Step::Holding | Step::Measuring | Step::Concluding, Side::Responder) => {
                flight.responder_end = Some(end);
                self.settle(pair);
            }
            _ => self.settle(pair),
        }
    }
}
