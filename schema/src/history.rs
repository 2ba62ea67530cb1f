//! History: what a suite of scenarios measured night after night, and what people said about it.
//!
//! The replicate of a campaign is a run; here it is a night. A night's value of a series is the median of its runs.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{metric::Metric, outcome::Side, record::Fabric, units::Bytes};

/// A device on a host: one end of a series.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Endpoint {
    /// Name of the host; empty where a foreign log does not tell it.
    pub host: String,
    /// Name of the device, for example `mlx5_0` or `soft`; empty where a foreign log does not tell it.
    pub device: String,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |name: &str| if name.is_empty() { "?".to_owned() } else { name.to_owned() };
        f.pad(&format!("{}:{}", known(&self.host), known(&self.device)))
    }
}

/// What makes two nights' values values of one thing. Everything that may change without making it another thing is in the
/// [`Configuration`] of the night.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SeriesKey {
    /// What measured: `verbs-bench`, or the tool of imported logs, such as `perftest`.
    pub engine: String,
    /// What carried the messages.
    pub fabric: Fabric,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the variant.
    pub variant: String,
    /// Message size.
    pub msg_bytes: Bytes,
    /// What is compared.
    pub metric: Metric,
    /// The side that posts.
    pub requester: Endpoint,
    /// The side that is written to.
    pub responder: Endpoint,
}

/// `scenario/workload/variant/64Ki/bandwidth/node1:mlx5_0/node2:mlx5_0`: what people name a series by, in part or in whole.
impl fmt::Display for SeriesKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SeriesKey { scenario, workload, variant, msg_bytes, metric, requester, responder, .. } = self;
        let engine = if self.engine == "verbs-bench" { String::new() } else { format!("{}:", self.engine) };
        f.pad(&format!(
            "{engine}{scenario}/{workload}/{variant}/{msg_bytes}/{metric}/{requester}/{responder}"
        ))
    }
}

/// What may change between two nights without making a series another one: `requester.firmware` -> `20.31.1014`. A night with
/// another configuration than the night before begins an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Configuration(pub BTreeMap<String, String>);

/// One fact that differs between two configurations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationChange {
    /// Its name, for example `requester.firmware`.
    pub what: String,
    /// Before; null where it was not known.
    pub from: Option<String>,
    /// After; null where it is not known.
    pub to: Option<String>,
}

impl Configuration {
    /// What differs from an earlier configuration, by name.
    pub fn changes_from(&self, earlier: &Configuration) -> Vec<ConfigurationChange> {
        let names: std::collections::BTreeSet<&String> = self.0.keys().chain(earlier.0.keys()).collect();
        let change = |name: &String| {
            let (from, to) = (earlier.0.get(name).cloned(), self.0.get(name).cloned());
            (from != to).then(|| ConfigurationChange { what: name.clone(), from, to })
        };
        names.into_iter().filter_map(change).collect()
    }
}

/// Where the values of a night come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Runs of our own, kept as campaigns.
    Measured,
    /// Logs of another tool.
    Imported,
    /// Pairs of a cluster, rolled up by node, leaf switch or pair.
    Cluster,
}

/// What a campaign of a night was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NightPart {
    /// The runs every night makes.
    First,
    /// Runs made again the same night, because the first looked wrong.
    Confirm,
}

/// A campaign made in a night.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NightCampaign {
    /// Its number in the store.
    pub campaign: i64,
    /// What it was for.
    pub part: NightPart,
}

/// One carrying out of a suite, or one day of imported logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Night {
    /// Identity in the store.
    pub id: i64,
    /// Name of the suite.
    pub suite: String,
    /// Where its values come from.
    pub origin: Origin,
    /// Start, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
    /// End, ms since 1970 UTC; null for a night that did not come to its end.
    pub ended_at_unix_ms: Option<u64>,
    /// Its campaigns; empty for imported logs and clusters.
    pub campaigns: Vec<NightCampaign>,
    /// The cluster whose pairs its values are of; null for others.
    #[serde(default)]
    pub cluster: Option<i64>,
}

/// What a value must reach whatever the history says, and where that number comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The worst value that is still right, in [`Metric::unit`]: a floor for bandwidth and message rate, a ceiling for latency.
    pub worst: f64,
    /// How it was come by: `93 % of 98.0 Gb/s, the payload of a 100 Gb/s RoCE v2 link at path MTU 4096`.
    pub basis: String,
}

/// What a night says about a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NightValue {
    /// The night.
    pub night: i64,
    /// The median of `runs`, in [`Metric::unit`]; null where too few were valid.
    pub value: Option<f64>,
    /// The valid runs, in time order, in [`Metric::unit`].
    pub runs: Vec<f64>,
    /// Runs that did not complete, or whose numbers are not used.
    pub failed_runs: u32,
    /// Why they did not, the first of them in words; null where all did.
    pub failure: Option<String>,
    /// The runs made again the same night, in [`Metric::unit`]; empty where none were.
    pub confirm_runs: Vec<f64>,
    /// Which of [`History::configurations`].
    pub configuration: i64,
    /// What it must reach; null where the suite sets no limit.
    pub limit: Option<Limit>,
    /// What is wrong with link or counters this night, in words: a port below its rate, symbol errors, a flap.
    pub faults: Vec<String>,
}

/// A series: one thing, measured night after night.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Identity in the store.
    pub id: i64,
    /// What it is.
    pub key: SeriesKey,
    /// In the order of [`History::nights`]; a night that did not measure it has none.
    pub values: Vec<NightValue>,
}

/// A remark of a person, drawn into charts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// Identity in the store.
    pub id: i64,
    /// The night it is about.
    pub night: i64,
    /// The series it is about; null for all.
    pub series: Option<i64>,
    /// What it says.
    pub text: String,
    /// When it was written, ms since 1970 UTC.
    pub written_at_unix_ms: u64,
}

/// A person's word that a change is known: it is drawn, and raises no alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acknowledgement {
    /// Identity in the store.
    pub id: i64,
    /// The series.
    pub series: i64,
    /// The first night of the changed level.
    pub night: i64,
    /// Why it is known.
    pub reason: String,
    /// When it was written, ms since 1970 UTC.
    pub written_at_unix_ms: u64,
}

/// A night that others are compared with, by a name that a person gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Its name.
    pub name: String,
    /// The night.
    pub night: i64,
    /// When it was pinned, ms since 1970 UTC.
    pub set_at_unix_ms: u64,
}

/// By which question a finding was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// The value does not reach its limit, or link or counters are wrong. No history is asked.
    Limit,
    /// The value is off a pinned baseline.
    Baseline,
    /// The night stands out from the nights before, and did so again when it was measured again.
    Fence,
    /// The level of the series changed, and stayed changed.
    ChangePoint,
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It takes another night, or another measurement, to say so.
    Suspected,
    /// It is said.
    Confirmed,
}

/// Which way a value went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// For the worse.
    Regressed,
    /// For the better.
    Improved,
}

/// What was said of a series in a night, kept so that a later night knows what is new.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reported {
    /// The night it was said in.
    pub night: i64,
    /// The series.
    pub series: i64,
    /// By which question.
    pub found_by: FoundBy,
    /// How sure.
    pub certainty: Certainty,
    /// Which way.
    pub trend: Trend,
    /// The first night of the changed level.
    pub since: i64,
}

/// Everything a suite has measured, and what was said about it: what verdicts on nights are computed from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Name of the suite.
    pub suite: String,
    /// In time order.
    pub nights: Vec<Night>,
    /// Configurations of the values, by the number values refer to them with.
    pub configurations: BTreeMap<i64, Configuration>,
    /// In the order they were first measured.
    pub series: Vec<Series>,
    /// Remarks of people.
    pub notes: Vec<Note>,
    /// Changes that are known.
    pub acknowledgements: Vec<Acknowledgement>,
    /// Pinned nights.
    pub baselines: Vec<Baseline>,
    /// What was said in earlier nights.
    pub reported: Vec<Reported>,
}

/// Name of a fact of one side in a [`Configuration`].
pub fn side_fact(side: Side, fact: &str) -> String {
    format!("{side}.{fact}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(facts: &[(&str, &str)]) -> Configuration {
        Configuration(facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn what_changed_is_named_with_both_values() {
        let before = configuration(&[("kernel", "6.1"), ("requester.firmware", "20.31"), ("gone", "x")]);
        let after = configuration(&[("kernel", "6.1"), ("requester.firmware", "20.32"), ("new", "y")]);
        let changes = after.changes_from(&before);
        let told: Vec<(&str, Option<&str>, Option<&str>)> = changes
            .iter()
            .map(|change| (change.what.as_str(), change.from.as_deref(), change.to.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("gone", Some("x"), None),
                ("new", None, Some("y")),
                ("requester.firmware", Some("20.31"), Some("20.32"))
            ]
        );
        assert!(after.changes_from(&after).is_empty());
    }

    #[test]
    fn a_series_is_named_by_what_it_is() {
        let end = |host: &str| Endpoint { host: host.into(), device: "mlx5_0".into() };
        let mut key = SeriesKey {
            engine: "verbs-bench".into(),
            fabric: Fabric::Verbs,
            scenario: "nightly-write".into(),
            workload: "write".into(),
            variant: "deep".into(),
            msg_bytes: Bytes(65_536),
            metric: Metric::Bandwidth,
            requester: end("node1"),
            responder: end("node2"),
        };
        assert_eq!(key.to_string(), "nightly-write/write/deep/64Ki/bandwidth/node1:mlx5_0/node2:mlx5_0");
        key.engine = "perftest".into();
        key.responder = Endpoint { host: String::new(), device: String::new() };
        assert_eq!(key.to_string(), "perftest:nightly-write/write/deep/64Ki/bandwidth/node1:mlx5_0/?:?");
    }
}
