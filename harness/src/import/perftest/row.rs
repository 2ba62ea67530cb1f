//! One row of numbers, from a table or from JSON, as a measurement.

use schema::{Bytes, Metric, histogram::MIN_TAIL_SAMPLES};

use super::{columns::BandwidthUnit, facts::Facts, title::Title};
use crate::import::{Log, Measurement, Remark};

/// A row as printed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Row {
    /// Line in the file, from 1.
    pub(super) line: usize,
    /// Message size.
    pub(super) bytes: u64,
    /// Messages measured; none where the log does not tell.
    pub(super) iterations: Option<u64>,
    /// Bandwidth, and what it counts in.
    pub(super) bandwidth: Option<(f64, BandwidthUnit)>,
    /// Millions of messages a second.
    pub(super) message_rate: Option<f64>,
    /// Median latency, us.
    pub(super) typical: Option<f64>,
    /// 99th percentile, us.
    pub(super) p99: Option<f64>,
    /// 99.9th percentile, us.
    pub(super) p99_9: Option<f64>,
    /// Numbers that are kept and not compared, by name.
    pub(super) facts: Vec<(String, String)>,
}

/// Rounding of the last printed digit: bandwidth has two decimals, the rate of messages six.
const BANDWIDTH_STEP: f64 = 0.005;
const RATE_STEP: f64 = 0.000_000_5;

/// Adds a row to a log.
pub(super) fn add(log: &mut Log, title: Title, facts: &Facts, row: &Row) {
    let mut values = Vec::new();
    if title.bandwidth {
        let (bits, messages) = row.rates();
        values.extend([(Metric::Bandwidth, bits), (Metric::MessageRate, messages)]);
    } else {
        values.extend(row.latencies(&mut log.remarks));
    }
    if values.is_empty() {
        return;
    }
    let broken =
        values.iter().find(|(_, value)| !value.is_some_and(|value| value.is_finite() && value > 0.0));
    let failure = broken.map(|(metric, value)| match value {
        Some(value) => format!("perftest printed {value} for {metric}, which is no measurement"),
        None => format!("perftest printed no {metric}"),
    });
    if let Some(why) = &failure {
        log.remarks.push(Remark { line: row.line, what: format!("{why}; the run counts as failed") });
        values.iter_mut().for_each(|(_, value)| *value = None);
    }
    let iterations = row.iterations.map(|iterations| ("iterations".to_owned(), iterations.to_string()));
    log.measurements.push(Measurement {
        line: row.line,
        at_unix_ms: None,
        engine: "perftest".into(),
        fabric: facts.fabric(),
        scenario: None,
        workload: title.workload(),
        variant: facts.variant(title),
        msg_bytes: Bytes(row.bytes),
        requester: facts.requester(),
        responder: schema::Endpoint { host: String::new(), device: String::new() },
        configuration: facts.configuration(),
        values,
        failure,
        facts: facts.0.clone().into_iter().chain(row.facts.iter().cloned()).chain(iterations).collect(),
    });
}

impl Row {
    /// Bits and messages a second. Both are one measurement, printed twice: where the two agree, the one that was rounded less
    /// gives both. 0.05 Gb/s has one digit and its rate of messages five; 1 MiB at 80 Mb/s is the other way round.
    fn rates(&self) -> (Option<f64>, Option<f64>) {
        let rate = self.message_rate.map(|millions| millions * 1e6);
        let Some((printed, unit)) = self.bandwidth else { return (None, rate) };
        let bits = printed * unit.bits_per_sec();
        let bits_per_message = self.bytes as f64 * 8.0;
        let (Some(millions), true) = (self.message_rate, bits.is_finite() && bits > 0.0) else {
            return (Some(bits), rate);
        };
        let by_rate = millions * 1e6 * bits_per_message;
        let (rounding, rate_rounding) = (BANDWIDTH_STEP / printed * bits, RATE_STEP * 1e6 * bits_per_message);
        if (by_rate - bits).abs() > 1.01 * (rounding + rate_rounding) {
            (Some(bits), rate)
        } else if rate_rounding < rounding {
            (Some(by_rate), rate)
        } else {
            (Some(bits), Some(bits / bits_per_message))
        }
    }

    /// Median and percentiles in ns. A percentile with too few samples beyond it is left out: with perftest's default of 1,000
    /// iterations its 99.9th is the largest but one.
    fn latencies(&self, remarks: &mut Vec<Remark>) -> Vec<(Metric, Option<f64>)> {
        let mut left_out = |what: &str| remarks.push(Remark { line: self.line, what: what.to_owned() });
        let Some(typical) = self.typical else {
            left_out(
                "no median: with -D perftest prints only an average, which is not compared; the row is left out",
            );
            return Vec::new();
        };
        let mut values = vec![(Metric::P50, Some(typical * 1e3))];
        for (metric, value, quantile) in [(Metric::P99, self.p99, 0.99), (Metric::P99_9, self.p99_9, 0.999)] {
            let Some(value) = value else { continue };
            let beyond = self.iterations.map_or(0.0, |iterations| iterations as f64 * (1.0 - quantile));
            // A thousand times 0.01 is ten, whatever floating point says.
            if beyond + 1e-6 >= MIN_TAIL_SAMPLES {
                values.push((metric, Some(value * 1e3)));
            } else {
                left_out(&format!(
                    "{metric} of {value} us is left out: fewer than {MIN_TAIL_SAMPLES} samples lie beyond it"
                ));
            }
        }
        values
    }
}
