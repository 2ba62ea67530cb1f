//! A round: every pair is made ready at its own pace, all that are ready post at one moment, and each ends at its own.
//!
//! Nobody's failure holds the others up: who is not ready in time is left out, and whatever a pair is waited for has a limit.

mod conclude;
mod news;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use schema::Side;

use super::{
    Fleet, Rank,
    flight::{Flight, Step},
};
use crate::{
    agent::{protocol::Order, token},
    cluster::{PairTask, RoundResult},
    interrupt::Interrupt,
    run::{
        ends::{planned_time, serve_order},
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
}
