//! The requester's part of one order: begin it on both sides, lead the workers through it, and have the data compared.

use std::time::{Duration, Instant};

use schema::{
    Nanos, RunSpec, Stage, Stop, Test,
    record::{Counts, DataCheck},
};

use super::{
    measure::{Run, measure},
    point,
    requester::{ANSWER_TIMEOUT, SETUP_TIMEOUT, SIDE, with_memory},
    work::Output,
};
use crate::{
    connect::{Message, Order, Stopped, Work},
    engine::pattern,
    fault::{At, Fault},
};

/// An order that both sides have worked on.
pub(super) struct Round {
    /// The order.
    pub(super) order: Order,
    /// What our workers brought back.
    pub(super) ours: Vec<Output>,
    /// What the responder says of its own.
    pub(super) theirs: Stopped,
}

impl Run<'_, '_> {
    /// Sends every slot once and has every byte compared; none where the spec switched it off.
    pub(super) fn check(
        &mut self,
        index: u32,
        generation: u8,
        counts: &mut Counts,
    ) -> Result<Option<DataCheck>, Fault> {
        if !self.spec.data_check {
            return Ok(None);
        }
        let round = self.round(index, Work::Check { generation }, counts)?;
        self.compare(&round).map(Some)
    }

    /// Compares on both sides what an order left in memory.
    pub(super) fn compare(&mut self, round: &Round) -> Result<DataCheck, Fault> {
        self.talk.send(&Message::Check, Stage::Verify)?;
        let ours = self.crew.compare(&round.order, &round.ours, &round.theirs.sent);
        let timeout = with_memory(self.spec, SETUP_TIMEOUT);
        let theirs = match self.talk.receive("the check of the data", timeout, Stage::Verify)? {
            Message::Checked(check) => check,
            other => return Err(self.talk.out_of_turn(&other, Stage::Verify)),
        };
        let check = match (ours, theirs) {
            (Some(ours), Some(theirs)) => pattern::both(ours, theirs),
            (ours, theirs) => ours
                .or(theirs)
                .ok_or_else(|| Fault::new(Stage::Verify, SIDE, "neither side checked the data"))?,
        };
        verify(check)
    }

    /// Has both sides make ready for the first measurement, and stands ready until it is told when to begin; once, where it
    /// is to.
    pub(super) fn stand_ready(&mut self, point: u32) -> Result<(), Fault> {
        let Some(hold) = self.hold.take() else { return Ok(()) };
        let order = Order { point, work: measure(self.spec.stop, None), after_ns: None };
        self.crew.prepare(&order)?;
        self.talk.send(&Message::Await(order), Stage::WarmUp)?;
        self.talk.expect("ready", with_memory(self.spec, ANSWER_TIMEOUT), Stage::WarmUp)?;
        let since = Instant::now();
        self.talk.beginning.held(Duration::ZERO);
        let told = hold.until_told(self.talk.stream());
        let told =
            told.map_err(|error| format!("it stood ready for its start: {error}")).at(Stage::WarmUp, SIDE)?;
        let moment = told.ok_or_else(|| self.talk.interrupted(Stage::WarmUp))?;
        self.talk.beginning.held(moment.saturating_duration_since(since));
        self.moment = Some(moment);
        Ok(())
    }

    /// Has both sides work on an order.
    pub(super) fn round(&mut self, point: u32, work: Work, counts: &mut Counts) -> Result<Round, Fault> {
        let moment = self.moment.take();
        let mut order = Order { point, work, after_ns: None };
        let (begins, stage) = match work {
            Work::Check { .. } => (Stage::Verify, Stage::Verify),
            Work::Measure { .. } => (Stage::WarmUp, Stage::Measure),
        };
        match moment {
            None => self.crew.prepare(&order)?,
            Some(moment) => order.after_ns = Some(nanos(moment.saturating_duration_since(Instant::now()))),
        }
        self.talk.send(&Message::Start(order), begins)?;
        self.talk.expect("started", with_memory(self.spec, ANSWER_TIMEOUT), begins)?;
        let patience = self.patience_for_the_responder(&work);
        let talk = &mut *self.talk;
        let shift = self.crew.shift(&order, moment, |floor| {
            let Some(sent) = talk.await_senders(floor, stage)? else { return Ok(None) };
            talk.send(&Message::Stop(sent), stage)?;
            match talk.receive_at_work(floor, "stopped", patience, Stage::Drain)? {
                None => Ok(None),
                Some(Message::Stopped(theirs)) => {
                    floor.finish(theirs.sent.clone());
                    Ok(Some(*theirs))
                }
                Some(other) => Err(talk.out_of_turn(&other, Stage::Drain)),
            }
        });
        let (ours, theirs) = shift.map_err(|fault| self.talk.with_last_words(fault))?;
        if let Some(first) = ours.iter().map(|output| output.began).min() {
            self.talk.beginning.first_post(first);
        }
        point::count(counts, &ours, &theirs);
        Ok(Round { order, ours, theirs })
    }

    /// A responder that sends too may need as long again, and for a count as long as it takes.
    fn patience_for_the_responder(&self, work: &Work) -> Duration {
        match work {
            Work::Measure { stop, .. } if self.spec.bidirectional && self.spec.test == Test::Bandwidth => {
                ANSWER_TIMEOUT.saturating_add(lasts(self.spec, stop))
            }
            _ => ANSWER_TIMEOUT,
        }
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// How long WarmUp and Measure of an order last.
pub(super) fn lasts(spec: &RunSpec, stop: &Stop) -> Duration {
    match stop {
        Stop::DurationNs(Nanos(ns)) => Duration::from_nanos(ns.saturating_add(spec.warmup_ns.get())),
        // As long as it takes: keep-alive notices a peer that is gone.
        Stop::Iterations(_) => Duration::from_secs(7 * 24 * 3600),
    }
}

fn verify(check: DataCheck) -> Result<DataCheck, Fault> {
    let wrong_qps = check.sequences.map_or(0, |sequences| sequences.wrong_qps);
    if check.wrong_bytes.get() == 0 && wrong_qps == 0 {
        return Ok(check);
    }
    let cause = format!(
        "{} of {} bytes did not arrive as they were sent, and {wrong_qps} QPs were out of order",
        check.wrong_bytes.get(),
        check.checked_bytes.get()
    );
    Err(Fault::new(Stage::Verify, SIDE, cause)
        .advise("the device, its driver or the memory corrupts data: do not trust it"))
}

#[cfg(test)]
mod tests {
    use schema::{Bytes, record::SequenceCheck};

    use super::*;

    #[test]
    fn one_wrong_byte_or_one_qp_out_of_order_fails_the_run() {
        let check = |wrong, wrong_qps| DataCheck {
            checked_bytes: Bytes(64),
            wrong_bytes: Bytes(wrong),
            sequences: Some(SequenceCheck { checked_qps: 2, wrong_qps }),
        };
        assert!(verify(check(0, 0)).is_ok());
        assert!(verify(check(1, 0)).unwrap_err().cause.contains("1 of 64 bytes"));
        assert!(verify(check(0, 1)).unwrap_err().cause.contains("1 QPs"));
    }
}
