//! The requester's part of every message size: data check, search, measurement, data check, counts.

use std::time::Duration;

use schema::{
    Bytes, Nanos, Point, RunRecord, RunSpec, Stage, Stop, Test,
    record::{Counts, DataCheck, PaceReport, Probe},
    spec::Pace,
};

use super::{
    correlate::{Checked, Correlation},
    crew::Crew,
    merge::{Measured, merge},
    point,
    requester::{ANSWER_TIMEOUT, SETUP_TIMEOUT, SIDE, with_memory},
    search::Search,
    talk::Talk,
    work::Output,
};
use crate::{
    connect::{Message, Order, Stopped, Work},
    engine::pattern,
    fault::{At, Fault},
};

/// What a probe of a search takes of the duration of the measurement.
const PROBE_SHARE: u64 = 4;
/// What it takes at least, where the duration is longer.
const PROBE_AT_LEAST: Nanos = Nanos(200_000_000);

/// A connected requester.
pub(super) struct Run<'a, 's> {
    pub(super) spec: &'a RunSpec,
    pub(super) talk: &'a mut Talk,
    pub(super) crew: &'a mut Crew<'s>,
    pub(super) record: &'a mut RunRecord,
    pub(super) progress: &'a dyn Fn(&str),
    pub(super) correlation: Option<Correlation>,
    pub(super) seen: Seen,
}

/// What the workers were seen to suffer, for the record of the side.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) cpus: Vec<u32>,
    pub(super) switches: Option<u64>,
}

impl Seen {
    /// Adds what a measurement brought.
    pub(super) fn add(&mut self, outputs: &[Output], measured: &Measured) {
        self.cpus.extend(&measured.cpus_seen);
        self.cpus.sort_unstable();
        self.cpus.dedup();
        for switches in outputs.iter().filter_map(|output| output.switches) {
            *self.switches.get_or_insert(0) += switches;
        }
    }
}

/// An order that both sides have worked on.
struct Round {
    order: Order,
    ours: Vec<Output>,
    theirs: Stopped,
}

impl Run<'_, '_> {
    /// Measures every size.
    pub(super) fn measure_all(&mut self) -> Result<(), Fault> {
        let sizes = &self.spec.msg_bytes;
        for (index, &size) in sizes.iter().enumerate() {
            let (op, test) = (self.spec.op, self.spec.test);
            (self.progress)(&format!("{op} {test} {size} ({} of {})", index + 1, sizes.len()));
            let point = self.measure_point(index as u32, size)?;
            self.record.points.push(point);
        }
        Ok(())
    }

    fn measure_point(&mut self, index: u32, size: Bytes) -> Result<Point, Fault> {
        let mut counts = Counts::default();
        let before = self.check(index, 0, &mut counts)?;
        let (rate, probes) = self.rate(index, size, &mut counts)?;
        let line = match &self.correlation {
            Some(correlation) => Some(correlation.line(self.crew.clock()).at(Stage::WarmUp, SIDE)?),
            None => None,
        };
        self.crew.set_line(line);
        let round = self.round(index, measure(self.spec.stop, rate), &mut counts)?;
        let clocks = match (&self.correlation, &line) {
            (Some(correlation), Some(line)) => {
                Some(correlation.check(line, self.crew.clock()).at(Stage::Drain, SIDE)?)
            }
            _ => None,
        };
        let after = match self.spec.op.is_atomic() {
            // The counters are the check of the measurement itself.
            true if self.spec.data_check => Some(self.compare(&round)?),
            _ => self.check(index, 1, &mut counts)?,
        };
        let measured = merge(&round.ours, self.crew.clock().scale())
            .ok_or_else(|| Fault::new(Stage::Measure, SIDE, "no thread measured"))?;
        self.seen.add(&round.ours, &measured);
        point::verify_counts(self.spec, &counts)?;
        Ok(Point {
            data_check: before.zip(after).map(|(before, after)| pattern::both(before, after)),
            reverse: round.theirs.reverse,
            counts: Some(counts),
            pace: rate.map(|rate| PaceReport { probes, ..point::pace(rate, &measured) }),
            nic_time: clocks.and_then(|Checked { ticks_per_sec, error_ns }| {
                point::nic_time(&measured, ticks_per_sec, error_ns)
            }),
            ..point::point(self.spec, size, &measured)?
        })
    }

    /// The rate of the measurement: none in a closed loop, as asked, or searched for.
    fn rate(
        &mut self,
        index: u32,
        size: Bytes,
        counts: &mut Counts,
    ) -> Result<(Option<f64>, Vec<Probe>), Fault> {
        match self.spec.pace {
            Pace::Closed => Ok((None, Vec::new())),
            Pace::Open { rate, .. } => Ok((Some(rate.messages_per_sec(size)), Vec::new())),
            Pace::Search { p99_at_most_ns, .. } => {
                let stop = probe_stop(self.spec.stop);
                let (ceiling, _) = self.probe(index, stop, None, Nanos(0), counts)?;
                let mut search = Search::below(ceiling, p99_at_most_ns);
                while let Some(rate) = search.next() {
                    let (achieved, p99_ns) = self.probe(index, stop, Some(rate), p99_at_most_ns, counts)?;
                    search.tried(rate, achieved, p99_ns);
                }
                let (found, probes) = search.result();
                let advice = "ask for a longer p99, or look at what delays messages at a low rate already";
                found
                    .map(|rate| (Some(rate), probes))
                    .map_err(|cause| Fault::new(Stage::Measure, SIDE, cause).advise(advice))
            }
        }
    }

    /// Messages a second that a rate achieves, and the p99 at it. The last messages that are due may complete as late as the
    /// bound without being too slow.
    fn probe(
        &mut self,
        index: u32,
        stop: Stop,
        rate: Option<f64>,
        bound: Nanos,
        counts: &mut Counts,
    ) -> Result<(f64, Option<u64>), Fault> {
        let round = self.round(index, measure(stop, rate), counts)?;
        let measured = merge(&round.ours, self.crew.clock().scale())
            .ok_or_else(|| Fault::new(Stage::Measure, SIDE, "no thread measured"))?;
        let beyond = match stop {
            Stop::DurationNs(due) => measured.duration.get().saturating_sub(due.get()).min(bound.get()),
            Stop::Iterations(_) => 0,
        };
        let window = Nanos(measured.duration.get() - beyond);
        Ok((point::per_sec(measured.messages, window), measured.latency.quantile(0.99)))
    }

    /// Sends every slot once and has every byte compared; none where the spec switched it off.
    fn check(&mut self, index: u32, generation: u8, counts: &mut Counts) -> Result<Option<DataCheck>, Fault> {
        if !self.spec.data_check {
            return Ok(None);
        }
        let round = self.round(index, Work::Check { generation }, counts)?;
        self.compare(&round).map(Some)
    }

    /// Compares on both sides what an order left in memory.
    fn compare(&mut self, round: &Round) -> Result<DataCheck, Fault> {
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

    /// Has both sides work on an order.
    fn round(&mut self, point: u32, work: Work, counts: &mut Counts) -> Result<Round, Fault> {
        let order = Order { point, work };
        let (begins, stage) = match work {
            Work::Check { .. } => (Stage::Verify, Stage::Verify),
            Work::Measure { .. } => (Stage::WarmUp, Stage::Measure),
        };
        self.crew.prepare(&order)?;
        self.talk.send(&Message::Start(order), begins)?;
        self.talk.expect("started", with_memory(self.spec, ANSWER_TIMEOUT), begins)?;
        let patience = self.patience_for_the_responder(&work);
        let talk = &mut *self.talk;
        let shift = self.crew.shift(&order, |floor| {
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

/// How long WarmUp and Measure of an order last.
pub(super) fn lasts(spec: &RunSpec, stop: &Stop) -> Duration {
    match stop {
        Stop::DurationNs(Nanos(ns)) => Duration::from_nanos(ns.saturating_add(spec.warmup_ns.get())),
        // As long as it takes: keep-alive notices a peer that is gone.
        Stop::Iterations(_) => Duration::from_secs(7 * 24 * 3600),
    }
}

fn measure(stop: Stop, messages_per_sec: Option<f64>) -> Work {
    Work::Measure { stop, messages_per_sec }
}

fn probe_stop(stop: Stop) -> Stop {
    match stop {
        Stop::DurationNs(duration) => {
            let share = Nanos(duration.get() / PROBE_SHARE);
            Stop::DurationNs(share.max(PROBE_AT_LEAST).min(duration))
        }
        count => count,
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
    use schema::record::SequenceCheck;

    use super::*;

    #[test]
    fn a_probe_is_a_share_of_the_run_and_no_longer_than_it() {
        let probe = |ms: u64| probe_stop(Stop::DurationNs(Nanos(ms * 1_000_000)));
        assert_eq!(probe(2_000), Stop::DurationNs(Nanos(500_000_000)));
        assert_eq!(probe(400), Stop::DurationNs(PROBE_AT_LEAST));
        assert_eq!(probe(100), Stop::DurationNs(Nanos(100_000_000)));
    }

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
