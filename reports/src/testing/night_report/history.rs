//! Twenty nights between three hosts, written down by hand: one series for each thing that can be said about one.

use schema::{
    Acknowledgement, Baseline, Bytes, Certainty, Configuration, Endpoint, Fabric, FoundBy, History, Limit,
    Metric, Night, NightCampaign, NightPart, NightValue, Note, Origin, Reported, SCHEMA_VERSION, Series,
    SeriesKey, Trend,
};

use Metric::{Bandwidth, MessageRate, P50, P99};

/// 2026-11-11 02:00 UTC, ms: the first night; the others follow day by day.
const FIRST_NIGHT_UNIX_MS: u64 = 1_794_362_400_000;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Number of the first night. Not 1, so that a night's number is never taken for its position.
pub(super) const FIRST: i64 = 101;
/// Number of the last night.
pub(super) const LAST: i64 = 120;
/// The first night with the newer firmware of node1.
pub(super) const NEW_FIRMWARE: i64 = 110;

/// Numbers of the series, by what is said of them.
pub(super) mod series {
    pub(in super::super) const STEPPED_DOWN: i64 = 1;
    pub(in super::super) const STEPPED_DOWN_TOO: i64 = 2;
    pub(in super::super) const BELOW_ITS_LIMIT: i64 = 3;
    pub(in super::super) const OUTSIDE_THE_FENCE: i64 = 4;
    pub(in super::super) const OUTSIDE_THE_FENCE_ONCE: i64 = 5;
    pub(in super::super) const STEPPED_LATELY: i64 = 6;
    pub(in super::super) const OFF_THE_BASELINE: i64 = 7;
    pub(in super::super) const IMPROVED: i64 = 8;
    pub(in super::super) const KNOWN: i64 = 9;
    pub(in super::super) const NEW: i64 = 10;
    pub(in super::super) const NOT_MEASURED: i64 = 11;
    pub(in super::super) const STEADY: i64 = 12;
}

/// What a series is, its level, and what the level was multiplied with from which night on.
struct Told(i64, &'static str, &'static str, u64, Metric, [&'static str; 2], f64, &'static [(i64, f64)]);

const TOLD: [Told; 12] = [
    Told(1, "write", "deep", 65_536, Bandwidth, ["node1", "node2"], 97.4e9, &[(110, 1.012), (117, 0.961)]),
    Told(2, "write", "deep", 65_536, Bandwidth, ["node1", "node3"], 97.2e9, &[(110, 1.012), (117, 0.966)]),
    Told(3, "read", "deep", 65_536, Bandwidth, ["node2", "node3"], 96.8e9, &[(120, 0.51)]),
    Told(4, "write", "deep", 64, MessageRate, ["node2", "node3"], 61.5e6, &[(120, 0.91)]),
    Told(5, "send", "deep", 64, MessageRate, ["node2", "node3"], 48.2e6, &[(120, 0.93)]),
    Told(6, "write-latency", "plain", 64, P99, ["node3", "node1"], 2_210.0, &[(120, 1.08)]),
    Told(7, "read-latency", "plain", 4096, P50, ["node2", "node3"], 3_420.0, &[(115, 1.038)]),
    Told(8, "write-latency", "plain", 64, P50, ["node1", "node2"], 1_480.0, &[(110, 0.995), (118, 0.952)]),
    Told(9, "send", "deep", 65_536, Bandwidth, ["node3", "node2"], 95.9e9, &[(112, 0.972)]),
    Told(10, "atomic", "plain", 8, MessageRate, ["node1", "node2"], 11.8e6, &[]),
    Told(11, "write", "deep", 1_048_576, Bandwidth, ["node3", "node1"], 98.0e9, &[]),
    Told(12, "write", "deep", 1_048_576, Bandwidth, ["node2", "node3"], 98.0e9, &[]),
];

/// How far a night is off its level, night after night: about 0.3 %.
const WOBBLE: [f64; 7] = [0.0012, -0.0031, 0.0024, -0.0008, 0.0037, -0.0019, -0.0027];
/// How far each run of a night is off the night's value; the third is the median.
const RUNS: [f64; 5] = [-0.0011, 0.0016, 0.0, -0.0004, 0.0007];

/// The nights, nothing judged.
pub fn night_history() -> History {
    let configuration = |firmware: &str| {
        let facts = [("kernel", "6.1.0-41-amd64"), ("path_mtu", "4096"), ("requester.firmware", firmware)];
        Configuration(facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    };
    History {
        schema_version: SCHEMA_VERSION,
        suite: "nightly".into(),
        nights: (FIRST..=LAST).map(night).collect(),
        configurations: [(1, configuration("20.41.1000")), (2, configuration("20.43.1014"))].into(),
        series: TOLD.iter().map(Told::series).collect(),
        notes: vec![
            note(1, 110, None, "firmware of node1 updated"),
            note(2, 117, Some(series::STEPPED_DOWN), "cable of node1 was swapped in the afternoon"),
        ],
        acknowledgements: vec![Acknowledgement {
            id: 1,
            series: series::KNOWN,
            night: 112,
            reason: "node3 moved to the second leaf switch".into(),
            written_at_unix_ms: at(113),
        }],
        baselines: vec![Baseline { name: "acceptance".into(), night: 111, set_at_unix_ms: at(112) }],
        reported: vec![Reported {
            night: 118,
            series: series::STEPPED_DOWN,
            found_by: FoundBy::ChangePoint,
            certainty: Certainty::Suspected,
            trend: Trend::Regressed,
            since: 117,
        }],
    }
}

fn at(night: i64) -> u64 {
    FIRST_NIGHT_UNIX_MS + (night - FIRST) as u64 * DAY_MS
}

fn night(id: i64) -> Night {
    let first = NightCampaign { campaign: 2 * id, part: NightPart::First };
    let again = NightCampaign { campaign: 2 * id + 1, part: NightPart::Confirm };
    Night {
        id,
        suite: "nightly".into(),
        origin: Origin::Measured,
        started_at_unix_ms: at(id),
        ended_at_unix_ms: Some(at(id) + 41 * 60 * 1000),
        campaigns: if id == LAST { vec![first, again] } else { vec![first] },
        cluster: None,
    }
}

fn note(id: i64, night: i64, series: Option<i64>, text: &str) -> Note {
    Note { id, night, series, text: text.into(), written_at_unix_ms: at(night) + DAY_MS / 3 }
}

impl Told {
    fn series(&self) -> Series {
        let Told(id, workload, variant, msg_bytes, metric, ends, ..) = self;
        let [requester, responder] =
            ends.map(|host| Endpoint { host: host.to_owned(), device: "mlx5_0".to_owned() });
        let key = SeriesKey {
            engine: "verbs-bench".into(),
            fabric: Fabric::Verbs,
            scenario: if metric.quantile().is_some() { "nightly-latency" } else { "nightly-rate" }.into(),
            workload: (*workload).into(),
            variant: (*variant).into(),
            msg_bytes: Bytes(*msg_bytes),
            metric: *metric,
            requester,
            responder,
        };
        let first = if *id == series::NEW { 116 } else { FIRST };
        Series { id: *id, key, values: (first..=LAST).map(|night| self.value(night)).collect() }
    }

    fn value(&self, night: i64) -> NightValue {
        let Told(id, .., metric, ends, level, steps) = self;
        let step = steps.iter().rev().find(|(from, _)| night >= *from).map_or(1.0, |(_, factor)| *factor);
        let wobble = WOBBLE[(night + 3 * id) as usize % WOBBLE.len()];
        let about = |share: f64| (level * step * (1.0 + wobble + share)).round();
        let missing = *id == series::NOT_MEASURED && night == LAST;
        let again = match *id {
            _ if night != LAST => None,
            series::OUTSIDE_THE_FENCE => Some(0.002),
            // Back to where it was: what stood out did not do so again.
            series::OUTSIDE_THE_FENCE_ONCE => Some(0.07),
            _ => None,
        };
        NightValue {
            night,
            value: (!missing).then(|| about(0.0)),
            runs: if missing { Vec::new() } else { RUNS.map(about).to_vec() },
            failed_runs: if missing { 5 } else { 0 },
            failure: missing
                .then(|| "connecting to node1: connection refused (is its agent installed?)".into()),
            confirm_runs: again.map_or(Vec::new(), |share| RUNS.map(|run| about(share + run)).to_vec()),
            configuration: if ends[0] == "node1" && night >= NEW_FIRMWARE { 2 } else { 1 },
            limit: (*metric == Bandwidth).then(|| Limit {
                worst: 91.14e9,
                basis: "93 % of 98.0 Gb/s, the payload of a 100 Gb/s RoCE v2 link at path MTU 4096".into(),
            }),
            faults: if *id == series::BELOW_ITS_LIMIT && night == LAST {
                vec!["node3:mlx5_0 port 1 runs at 50 Gb/s, 100 Gb/s is what it can".into()]
            } else {
                Vec::new()
            },
        }
    }
}
