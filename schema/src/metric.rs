//! What is compared between variants, and the gates a scenario declares on it.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    record::Point,
    spec::Test,
    units::{Bytes, UnitError},
};

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Bandwidth, message rate.
    HigherIsBetter,
    /// Latency.
    LowerIsBetter,
}

/// One number of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Metric {
    /// Payload bits per second, both directions together.
    #[serde(rename = "bandwidth")]
    Bandwidth,
    /// Messages per second, both directions together.
    #[serde(rename = "message_rate")]
    MessageRate,
    /// Median latency.
    #[serde(rename = "p50")]
    P50,
    /// 90th percentile.
    #[serde(rename = "p90")]
    P90,
    /// 99th percentile.
    #[serde(rename = "p99")]
    P99,
    /// 99.9th percentile.
    #[serde(rename = "p99.9")]
    P99_9,
    /// 99.99th percentile: reported, never gated.
    #[serde(rename = "p99.99")]
    P99_99,
}

impl Metric {
    /// All, in the order of reports.
    pub const ALL: [Metric; 7] = [
        Metric::Bandwidth,
        Metric::MessageRate,
        Metric::P50,
        Metric::P90,
        Metric::P99,
        Metric::P99_9,
        Metric::P99_99,
    ];

    /// The quantile of a latency metric.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Metric::Bandwidth | Metric::MessageRate => None,
            Metric::P50 => Some(0.5),
            Metric::P90 => Some(0.9),
            Metric::P99 => Some(0.99),
            Metric::P99_9 => Some(0.999),
            Metric::P99_99 => Some(0.9999),
        }
    }

    /// Which way is better.
    pub fn direction(self) -> Direction {
        match self.quantile() {
            None => Direction::HigherIsBetter,
            Some(_) => Direction::LowerIsBetter,
        }
    }

    /// The unit of [`Metric::of`].
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Bandwidth => "bit/s",
            Metric::MessageRate => "msg/s",
            _ => "ns",
        }
    }

    /// A change smaller than this share does not matter, unless a gate says otherwise.
    pub fn default_margin(self) -> f64 {
        match self {
            Metric::Bandwidth => 0.02,
            Metric::MessageRate | Metric::P50 | Metric::P90 => 0.03,
            Metric::P99 => 0.05,
            Metric::P99_9 | Metric::P99_99 => 0.10,
        }
    }

    /// The number of this metric in a point, in [`Metric::unit`]; none where it was not measured or not published.
    pub fn of(self, point: &Point) -> Option<f64> {
        let ns = |value: Option<u64>| value.map(|ns| ns as f64);
        match self {
            Metric::Bandwidth => point.total_bandwidth_bits_per_sec(),
            Metric::MessageRate => point.total_messages_per_sec(),
            Metric::P50 => ns(point.latency_ns.p50),
            Metric::P90 => ns(point.latency_ns.p90),
            Metric::P99 => ns(point.latency_ns.p99),
            Metric::P99_9 => ns(point.latency_ns.p99_9),
            Metric::P99_99 => ns(point.latency_ns.p99_99),
        }
    }

    /// What a test is judged by when a scenario declares no gate.
    pub fn primary(test: Test) -> Metric {
        match test {
            Test::Bandwidth => Metric::Bandwidth,
            Test::Latency => Metric::P50,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Metric::Bandwidth => "bandwidth",
            Metric::MessageRate => "message_rate",
            Metric::P50 => "p50",
            Metric::P90 => "p90",
            Metric::P99 => "p99",
            Metric::P99_9 => "p99.9",
            Metric::P99_99 => "p99.99",
        })
    }
}

impl FromStr for Metric {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Metric::ALL.into_iter().find(|metric| metric.to_string() == text).ok_or_else(|| {
            UnitError(format!(
                "unknown metric `{text}`; known are {}",
                Metric::ALL.map(|metric| metric.to_string()).join(", ")
            ))
        })
    }
}

/// A declared question: this metric of these points decides the verdict of the campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// What is compared.
    pub metric: Metric,
    /// Name of the workload; absent is every workload that has the metric.
    pub workload: Option<String>,
    /// Message size; absent is every size of the workload.
    pub msg_bytes: Option<Bytes>,
    /// Changes below this share do not matter, for example 0.02.
    pub margin: f64,
}
