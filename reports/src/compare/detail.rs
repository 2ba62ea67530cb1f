//! Numbers of a point beside its metrics: shown with their runs, never judged. A run that does not have one has no row for it.

use schema::{Metric, Point, Test, histogram::LatencySummary};

/// One number beside the metrics.
pub struct Detail {
    /// Its name in exports: `own_completion_p50`.
    pub key: &'static str,
    /// Its name in reports.
    pub name: &'static str,
    /// The metric whose unit it has; none for a plain count.
    pub like: Option<Metric>,
    of: fn(&Point) -> Option<f64>,
}

impl Detail {
    /// The number in a point; none where it was not measured or not published.
    pub fn of(&self, point: &Point) -> Option<f64> {
        (self.of)(point)
    }

    /// Its unit in exports.
    pub fn unit(&self) -> &'static str {
        self.like.map_or("messages", Metric::unit)
    }
}

fn ns(value: Option<u64>) -> Option<f64> {
    value.map(|ns| ns as f64)
}

/// A latency of the other direction.
fn back(point: &Point, of: fn(&LatencySummary) -> Option<u64>) -> Option<f64> {
    ns(of(&point.reverse.as_ref()?.latency_ns))
}

macro_rules! details {
    ($($key:literal $name:literal $like:expr, |$point:ident| $of:expr;)*) => {
        &[$(Detail { key: $key, name: $name, like: $like, of: |$point| $of }),*]
    };
}

/// All, in the order of reports.
pub const DETAILS: &[Detail] = details! {
    "forward_bandwidth" "bandwidth, requester to responder" Some(Metric::Bandwidth),
        |point| point.reverse.as_ref().and(point.bandwidth_bits_per_sec);
    "reverse_bandwidth" "bandwidth, responder to requester" Some(Metric::Bandwidth),
        |point| point.reverse.as_ref().map(|reverse| reverse.bandwidth_bits_per_sec);
    "reverse_p50" "p50 latency, responder to requester" Some(Metric::P50),
        |point| back(point, |latency| latency.p50);
    "reverse_p99" "p99 latency, responder to requester" Some(Metric::P99),
        |point| back(point, |latency| latency.p99);
    "own_completion_p50" "p50 of own completions" Some(Metric::P50),
        |point| ns(own(point)?.p50);
    "own_completion_p99" "p99 of own completions" Some(Metric::P99),
        |point| ns(own(point)?.p99);
    "asked_rate" "rate asked" Some(Metric::MessageRate),
        |point| point.pace.as_ref().map(|pace| pace.asked_messages_per_sec);
    "achieved_rate" "rate achieved" Some(Metric::MessageRate),
        |point| point.pace.as_ref().map(|pace| pace.achieved_messages_per_sec);
    "late_messages" "messages posted late" None,
        |point| point.pace.as_ref().map(|pace| pace.late_messages as f64);
    "max_lateness" "behind schedule at worst" Some(Metric::P50),
        |point| point.pace.as_ref().map(|pace| pace.max_lateness_ns.get() as f64);
    "lost_messages" "messages lost" None,
        |point| point.counts.and_then(|counts| counts.lost()).map(|lost| lost as f64);
    "nic_p50" "p50 in the NIC and on the path" Some(Metric::P50),
        |point| ns(point.nic_time.as_ref()?.nic_latency_ns.p50);
    "nic_p99" "p99 in the NIC and on the path" Some(Metric::P99),
        |point| ns(point.nic_time.as_ref()?.nic_latency_ns.p99);
    "software_p50" "p50 from completion to poll" Some(Metric::P50),
        |point| ns(point.nic_time.as_ref()?.software_latency_ns.p50);
    "software_p99" "p99 from completion to poll" Some(Metric::P99),
        |point| ns(point.nic_time.as_ref()?.software_latency_ns.p99);
};

/// The own completions of a latency test.
fn own(point: &Point) -> Option<&LatencySummary> {
    point.completion_latency_ns.as_ref().filter(|_| point.test == Test::Latency)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn value(point: &Point, key: &str) -> Option<f64> {
        DETAILS.iter().find(|detail| detail.key == key).expect("a detail").of(point)
    }

    #[test]
    fn a_plain_point_has_none_and_a_loaded_one_its_own() {
        let plain = testing::point_of_bandwidth(schema::Bytes(64), 1e9);
        assert!(DETAILS.iter().all(|detail| detail.of(&plain).is_none()));
        let campaign = testing::named("loaded").expect("a sample");
        let point = &campaign.runs[0].record.points[0];
        assert_eq!(value(point, "lost_messages"), Some(11.0));
        assert_eq!(value(point, "asked_rate"), Some(250_000.0));
        assert_eq!(value(point, "forward_bandwidth"), point.bandwidth_bits_per_sec);
        assert_eq!(value(point, "own_completion_p50"), None, "of a latency test only");
        let there_and_back =
            value(point, "forward_bandwidth").unwrap() + value(point, "reverse_bandwidth").unwrap();
        assert_eq!(Metric::Bandwidth.of(point), Some(there_and_back));
    }
}
