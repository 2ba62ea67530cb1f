//! The requester's part of every message size: data check, search, measurement, data check, counts.

use std::time::Instant;

use schema::{
    Bytes, Nanos, Point, RunRecord, RunSpec, Stage, Stop,
    record::{Counts, PaceReport, Probe},
    spec::Pace,
};

use super::{
    correlate::{Checked, Correlation},
    crew::Crew,
    hold::Hold,
    merge::{Measured, merge},
    point,
    requester::SIDE,
    search::Search,
    talk::Talk,
    work::Output,
};
use crate::{
    connect::Work,
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
    /// Where its start comes from, until it has come; none begins at once.
    pub(super) hold: Option<&'a mut Hold>,
    /// When the first measurement begins that both sides are ready for.
    pub(super) moment: Option<Instant>,
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
        self.stand_ready(index)?;
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
}

pub(super) fn measure(stop: Stop, messages_per_sec: Option<f64>) -> Work {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_a_share_of_the_run_and_no_longer_than_it() {
        let probe = |ms: u64| probe_stop(Stop::DurationNs(Nanos(ms * 1_000_000)));
        assert_eq!(probe(2_000), Stop::DurationNs(Nanos(500_000_000)));
        assert_eq!(probe(400), Stop::DurationNs(PROBE_AT_LEAST));
        assert_eq!(probe(100), Stop::DurationNs(Nanos(100_000_000)));
    }
}
