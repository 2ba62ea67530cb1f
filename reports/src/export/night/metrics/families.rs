//! The metrics of a night and what they mean.

use schema::{Certainty, Metric, Trend};

use crate::{
    export::{
        metrics::{Family, Sample, base_unit},
        night::series::{fabric, measured},
    },
    history::{NightFinding, NightReport, NightVerdict, SeriesReport, SeriesState},
};

/// Everything that is told of a night.
pub(super) fn families(report: &NightReport) -> Vec<Family> {
    let mut all = of_the_night(report);
    all.extend(of_series(report));
    all
}

fn of_the_night(report: &NightReport) -> Vec<Family> {
    let suite = || ("suite", report.suite.clone());
    let alone = |value: f64| vec![(vec![suite()], value)];
    let each = |label: &'static str, counts: &[(&str, f64)]| -> Vec<Sample> {
        counts.iter().map(|(name, value)| (vec![suite(), (label, (*name).to_owned())], *value)).collect()
    };
    let is = |verdict: NightVerdict| f64::from(u8::from(report.verdict == verdict));
    let verdicts = [
        ("fine", is(NightVerdict::Fine)),
        ("regression", is(NightVerdict::Regression)),
        ("could_not_run", is(NightVerdict::CouldNotRun)),
        ("inconclusive", is(NightVerdict::Inconclusive)),
    ];
    let night = vec![suite(), ("night", report.night.id.to_string())];
    let seconds = |unix_ms: u64| unix_ms as f64 / 1e3;
    let end = report.night.ended_at_unix_ms.map_or(Vec::new(), |end| alone(seconds(end)));
    vec![
        Family {
            name: "rdma_bench_night",
            unit: None,
            help: "The night that all values are of, by its number in the store.",
            info: true,
            samples: vec![(night, 1.0)],
        },
        Family::gauge(
            "rdma_bench_night_verdict",
            None,
            "1 for the verdict on the night, 0 for the others.",
            each("verdict", &verdicts),
        ),
        Family::gauge(
            "rdma_bench_night_exit_code",
            None,
            "Exit code of the night: 0 fine, 1 regression, 3 could not run, 4 inconclusive.",
            alone(f64::from(report.verdict.exit_code())),
        ),
        Family::gauge(
            "rdma_bench_night_start_timestamp_seconds",
            Some("seconds"),
            "When the night began, since 1970 UTC.",
            alone(seconds(report.night.started_at_unix_ms)),
        ),
        Family::gauge(
            "rdma_bench_last_run_timestamp_seconds",
            Some("seconds"),
            "When the night came to its end, since 1970 UTC; absent where it did not.",
            end,
        ),
        Family::gauge(
            "rdma_bench_findings",
            None,
            "Findings of the night, by their kind.",
            each("kind", &finding_counts(report)),
        ),
        Family::gauge(
            "rdma_bench_series",
            None,
            "Series of the suite, by their state.",
            each("state", &state_counts(report)),
        ),
    ]
}

fn finding_counts(report: &NightReport) -> [(&'static str, f64); 5] {
    let count =
        |is: &dyn Fn(&NightFinding) -> bool| report.findings.iter().filter(|one| is(one)).count() as f64;
    let open = |trend, certainty| {
        count(&|one| one.acknowledged.is_none() && one.trend == trend && one.certainty == certainty)
    };
    [
        ("regression", open(Trend::Regressed, Certainty::Confirmed)),
        ("suspected_regression", open(Trend::Regressed, Certainty::Suspected)),
        ("improvement", open(Trend::Improved, Certainty::Confirmed)),
        ("suspected_improvement", open(Trend::Improved, Certainty::Suspected)),
        ("acknowledged", count(&|one| one.acknowledged.is_some())),
    ]
}

fn state_counts(report: &NightReport) -> [(&'static str, f64); 7] {
    let counts = report.counts;
    [
        ("steady", counts.steady),
        ("learning", counts.learning),
        ("suspected", counts.suspected),
        ("regressed", counts.regressed),
        ("improved", counts.improved),
        ("acknowledged", counts.acknowledged),
        ("not_measured", counts.not_measured),
    ]
    .map(|(state, count)| (state, f64::from(count)))
}

/// The metrics of one unit, and what they are called.
struct Unit {
    of: fn(Metric) -> bool,
    value: [&'static str; 2],
    level: [&'static str; 2],
}

const UNITS: [Unit; 3] = [
    Unit {
        of: |metric| metric == Metric::Bandwidth,
        value: ["rdma_bench_bandwidth_bytes_per_second", "Payload, the median of the night's runs."],
        level: ["rdma_bench_bandwidth_level_bytes_per_second", "Payload, the level of the recent nights."],
    },
    Unit {
        of: |metric| metric == Metric::MessageRate,
        value: ["rdma_bench_message_rate_messages_per_second", "Messages, the median of the night's runs."],
        level: [
            "rdma_bench_message_rate_level_messages_per_second",
            "Messages, the level of the recent nights.",
        ],
    },
    Unit {
        of: |metric| metric.quantile().is_some(),
        value: [
            "rdma_bench_latency_seconds",
            "Latency at the percentile of the label metric, the median of the night's runs.",
        ],
        level: [
            "rdma_bench_latency_level_seconds",
            "Latency at the percentile of the label metric, the level of the recent nights.",
        ],
    },
];

fn of_series(report: &NightReport) -> Vec<Family> {
    let levels = || report.series.iter().filter_map(|series| Some((series, series.fence?)));
    let mut all = Vec::new();
    for Unit { of, value, level } in &UNITS {
        let in_base = |metric, value: f64| value / base_unit(metric).0;
        let unit = Metric::ALL.into_iter().find(|metric| of(*metric)).map(|metric| base_unit(metric).1);
        let values = measured(report)
            .filter(|(series, ..)| of(series.key.metric))
            .map(|(series, _, value)| (labels(report, series), in_base(series.key.metric, value)));
        all.push(Family::gauge(value[0], unit, value[1], values.collect()));
        let levels = levels()
            .filter(|(series, _)| of(series.key.metric))
            .map(|(series, fence)| (labels(report, series), in_base(series.key.metric, fence.level)));
        all.push(Family::gauge(level[0], unit, level[1], levels.collect()));
    }
    let share = |of: fn(&crate::history::FenceReport) -> f64| -> Vec<Sample> {
        levels().map(|(series, fence)| (labels(report, series), of(&fence))).collect()
    };
    let states = report.series.iter().map(|series| {
        let mut labels = labels(report, series);
        labels.push(("state", state(&series.state).to_owned()));
        (labels, 1.0)
    });
    all.extend([
        Family::gauge(
            "rdma_bench_change_ratio",
            Some("ratio"),
            "How far the night is from the level of the recent nights, with its sign: -0.05 is 5 % lower.",
            share(|fence| fence.distance),
        ),
        Family::gauge(
            "rdma_bench_fence_ratio",
            Some("ratio"),
            "A night further from the level than this stands out.",
            share(|fence| fence.fence),
        ),
        Family::gauge(
            "rdma_bench_series_state",
            None,
            "1 for the state of the series; other states have no sample.",
            states.collect(),
        ),
    ]);
    all
}

/// What makes a series; the same for each of its metrics, so that they join without `on`.
fn labels(report: &NightReport, series: &SeriesReport) -> Vec<(&'static str, String)> {
    let key = &series.key;
    vec![
        ("suite", report.suite.clone()),
        ("engine", key.engine.clone()),
        ("fabric", fabric(key.fabric).to_owned()),
        ("scenario", key.scenario.clone()),
        ("workload", key.workload.clone()),
        ("variant", key.variant.clone()),
        ("msg_bytes", key.msg_bytes.get().to_string()),
        ("metric", key.metric.to_string()),
        ("source", key.requester.to_string()),
        ("destination", key.responder.to_string()),
    ]
}

fn state(state: &SeriesState) -> &'static str {
    match state {
        SeriesState::Steady => "steady",
        SeriesState::Learning { .. } => "learning",
        SeriesState::Suspected => "suspected",
        SeriesState::Regressed => "regressed",
        SeriesState::Improved => "improved",
        SeriesState::Acknowledged => "acknowledged",
        SeriesState::NotMeasured { .. } => "not_measured",
    }
}
