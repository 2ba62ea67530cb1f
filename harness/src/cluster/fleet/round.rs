//! A round: every pair is made ready at its own pace, all that are ready post at one moment, and each ends at its own.
//!
//! Nobody's failure holds the others up: who is not ready in time is left out, and whatever a pair is waited for has a limit.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use schema::{HostEvidence, Nanos, Side};

use super::{
    Fleet, Rank,
    ear::News,
    flight::{Flight, Step, stands_ready},
};
use crate::{
    agent::{
        protocol::{End, Order, Report},
        token,
    },
    cluster::{PairResult, PairTask, RoundResult},
    evidence,
    interrupt::Interrupt,
    run::{
        ends::{
            does_not_listen, farewell, gave_no_record, listening, not_started, planned_time, serve_order,
        },
        failure::Failure,
    },
    words,
};

/// What telling one more requester when to post takes, generously.
const A_START_TAKES: Duration = Duration::from_micros(200);
const SIDES: [Side; 2] = [Side::Requester, Side::Responder];

/// A round under way.
struct Round<'f, 't> {
    fleet: &'f mut Fleet,
    flights: Vec<Flight<'t>>,
    /// Pairs that a node has a part in.
    of_node: BTreeMap<Rank, Vec<usize>>,
    first_run: u32,
    /// When the requesters are to stand ready.
    ready_by: Instant,
    /// No pair is given up before.
    look_at: Instant,
    /// Pairs that the barrier waits for, and pairs of which anything may run.
    unready: usize,
    open: usize,
    /// The moment at which all post, by our CLOCK_MONOTONIC, ns.
    moment_ns: Option<u64>,
    interrupted: bool,
}

/// Makes a round; none when it was interrupted, and nothing of it runs then.
pub(super) fn carry_out(fleet: &mut Fleet, tasks: &[PairTask], interrupt: &Interrupt) -> Option<RoundResult> {
    let now = Instant::now();
    let first_run = fleet.next_run;
    fleet.next_run = fleet.next_run.wrapping_add(tasks.len() as u32);
    let mut round = Round {
        ready_by: now + fleet.limits.ready,
        fleet,
        flights: Vec::new(),
        of_node: BTreeMap::new(),
        first_run,
        look_at: now,
        unready: tasks.len(),
        open: tasks.len(),
        moment_ns: None,
        interrupted: false,
    };
    for task in tasks {
        round.begin(task);
    }
    while round.open > 0 {
        round.start_if_all_are_ready();
        round.attend();
    }
    (!round.interrupted && !interrupt.is_raised()).then(|| round.conclude())
}

impl<'t> Round<'_, 't> {
    /// Starts the responder of a pair.
    fn begin(&mut self, task: &'t PairTask) {
        let pair = self.flights.len();
        let run = self.first_run.wrapping_add(pair as u32);
        let token = token::draw();
        let text = token.as_ref().cloned().unwrap_or_default();
        self.flights.push(Flight::new(task, run, text));
        for rank in [task.requester, task.responder] {
            self.of_node.entry(rank).or_default().push(pair);
        }
        if let Err(error) = token {
            let cause = format!("drawing a token: {error}");
            return self.give_up(pair, Failure::launch(Side::Requester, cause, "check getrandom(2)"));
        }
        for side in SIDES {
            let rank = self.flights[pair].rank(side);
            if !self.fleet.is_here(rank) {
                return self.give_up(pair, Failure::launch(side, self.fleet.why_away(rank), ""));
            }
        }
        let Some(address) = self.fleet.members[task.responder as usize].address else {
            let cause =
                format!("nobody tells at which address {} is reached", self.fleet.name(task.responder));
            return self.give_up(pair, Failure::launch(Side::Responder, cause, ""));
        };
        let serve = serve_order(run, &self.flights[pair].token, address, &task.spec);
        self.ask(pair, Side::Responder, &serve);
        self.go_to(pair, Step::Serving, Instant::now() + self.fleet.limits.process);
    }

    /// Asks for a process of a pair.
    fn ask(&mut self, pair: usize, side: Side, order: &Order) {
        let flight = &mut self.flights[pair];
        flight.fates.started[side as usize] = true;
        self.fleet.order(flight.rank(side), order);
    }

    /// Brings a pair to a step that lasts until a deadline at most.
    fn go_to(&mut self, pair: usize, step: Step, deadline: Instant) {
        let flight = &mut self.flights[pair];
        let was_unready = flight.is_unready();
        (flight.step, flight.deadline) = (step, deadline);
        self.unready -= usize::from(was_unready && !flight.is_unready());
        self.open -= usize::from(step == Step::Done);
        self.look_at = self.look_at.min(deadline);
    }

    /// There will be no record of a pair; ends what runs of it.
    fn give_up(&mut self, pair: usize, failure: Failure) {
        self.flights[pair].fail(failure);
        self.stop(pair);
    }

    /// Ends what runs of a pair.
    fn stop(&mut self, pair: usize) {
        if matches!(self.flights[pair].step, Step::Stopping | Step::Done) {
            return self.settle(pair);
        }
        let flight = &self.flights[pair];
        for side in SIDES.into_iter().filter(|side| flight.fates.runs(*side)) {
            self.fleet.order(flight.rank(side), &Order::Stop { run: flight.run });
        }
        self.go_to(pair, Step::Stopping, Instant::now() + self.fleet.limits.stop);
        self.settle(pair);
    }

    /// A pair of which nothing runs any more, or is to run, is done.
    fn settle(&mut self, pair: usize) {
        let flight = &self.flights[pair];
        let over = matches!(flight.step, Step::Concluding | Step::Stopping);
        if over && !flight.fates.open() {
            self.go_to(pair, Step::Done, flight.deadline);
        }
    }

    /// Names the moment at which all post, once nobody is waited for any more.
    fn start_if_all_are_ready(&mut self) {
        if self.unready > 0 || self.moment_ns.is_some() {
            return;
        }
        let holds = |pair: &usize| self.flights[*pair].step == Step::Holding;
        let ready: Vec<usize> = (0..self.flights.len()).filter(holds).collect();
        let clock = |pair: &usize| self.fleet.members[self.flights[*pair].task.requester as usize].clock;
        // A way that took so long once may do so again, and more.
        let longest = ready.iter().filter_map(clock).map(|clock| 2 * clock.trip_ns()).max().unwrap_or(0);
        let ahead =
            self.fleet.limits.ahead + A_START_TAKES * ready.len() as u32 + Duration::from_nanos(longest);
        let moment_ns = words::monotonic_ns() + ahead.as_nanos() as u64;
        self.moment_ns = Some(moment_ns);
        for pair in ready {
            let flight = &self.flights[pair];
            let requester = flight.task.requester;
            // One whose clock is not known posts at once.
            let clock = self.fleet.members[requester as usize].clock;
            let at_monotonic_ns = clock.map_or(0, |clock| clock.theirs(moment_ns));
            self.fleet.order(requester, &Order::Start { run: flight.run, at_monotonic_ns });
            let planned = planned_time(&flight.task.spec) + self.fleet.limits.margin;
            self.go_to(pair, Step::Measuring, Instant::now() + ahead + planned);
        }
    }

    /// Waits for the next news, and does what it asks for.
    fn attend(&mut self) {
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
                let status = std::os::unix::process::ExitStatusExt::from_raw(end.status);
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

    /// What the round comes to.
    fn conclude(self) -> RoundResult {
        let Round { fleet, mut flights, moment_ns, .. } = self;
        fleet.verify();
        let mut pairs = Vec::with_capacity(flights.len());
        let mut uncertainty_ns = 0;
        for flight in &mut flights {
            let mut record = flight.record();
            for side in SIDES {
                if let Some(evidence) = flight.fates.evidence[side as usize].take() {
                    let tuning = fleet.knobs_of(flight.rank(side), side);
                    record.evidence.push(HostEvidence { tuning, ..evidence });
                }
            }
            evidence::judge(&mut record);
            let clock = fleet.members.get(flight.task.requester as usize).and_then(|member| member.clock);
            let late_ns = match (clock, moment_ns, &record.start_up) {
                (Some(clock), Some(moment), Some(start_up)) => {
                    uncertainty_ns = clock.uncertainty_ns(moment).max(uncertainty_ns);
                    Some(clock.since(moment, start_up.first_post_monotonic_ns))
                }
                _ => None,
            };
            pairs.push(PairResult { record, late_ns });
        }
        let skew_ns = skew(&pairs);
        RoundResult {
            pairs,
            skew_ns: skew_ns.map(Nanos),
            skew_uncertainty_ns: skew_ns.map(|_| Nanos(2 * uncertainty_ns)),
            waited: fleet.waited,
        }
    }
}

/// From the first pair's first post to the last pair's; none with fewer than two that posted.
fn skew(pairs: &[PairResult]) -> Option<u64> {
    let late = || pairs.iter().filter_map(|pair| pair.late_ns);
    (late().count() >= 2).then(|| late().max().unwrap_or(0).abs_diff(late().min().unwrap_or(0)))
}
