//! The words for nights, findings and states of series: the same in the terminal and on the page.

use schema::{Certainty, ConfigurationChange, Fabric, FoundBy, Metric, Night, Trend};

use crate::{
    history::{Change, Counts, Member, NightFinding, NightReport, NightVerdict, SeriesReport, SeriesState},
    render::{
        change::{self, Written},
        number,
        view::Badge,
        words,
    },
};

/// The verdict of a night.
pub(super) fn verdict(verdict: NightVerdict) -> Badge {
    let (word, sign, class) = match verdict {
        NightVerdict::Fine => ("Fine", "✓", "good"),
        NightVerdict::Regression => ("Regressed", "▼", "bad"),
        NightVerdict::CouldNotRun => ("Could not run", "✕", "bad"),
        NightVerdict::Inconclusive => ("Inconclusive", "?", "open"),
    };
    Badge { word, sign, class }
}

/// How a series stands.
pub(super) fn state(state: &SeriesState) -> Badge {
    let (word, sign, class) = match state {
        SeriesState::Steady => ("Steady", "=", "none"),
        SeriesState::Learning { .. } => ("Learning", "…", "none"),
        SeriesState::Suspected => ("Suspected", "?", "open"),
        SeriesState::Regressed => ("Regressed", "▼", "bad"),
        SeriesState::Improved => ("Improved", "▲", "good"),
        SeriesState::Acknowledged => ("Known", "✓", "same"),
        SeriesState::NotMeasured { .. } => ("Not measured", "✕", "bad"),
    };
    Badge { word, sign, class }
}

/// Where a state stands in a list that begins with what is worst.
pub(super) fn rank(state: &SeriesState) -> u8 {
    match state {
        SeriesState::Regressed => 0,
        SeriesState::NotMeasured { .. } => 1,
        SeriesState::Suspected => 2,
        SeriesState::Improved => 3,
        SeriesState::Acknowledged => 4,
        SeriesState::Learning { .. } => 5,
        SeriesState::Steady => 6,
    }
}

/// What a finding says, in a word.
pub(super) fn finding(finding: &NightFinding) -> Badge {
    let (word, sign, class) = match (finding.trend, finding.certainty) {
        _ if finding.acknowledged.is_some() => ("Known", "✓", "same"),
        (_, Certainty::Suspected) => ("Suspected", "?", "open"),
        (Trend::Regressed, Certainty::Confirmed) => ("Regressed", "▼", "bad"),
        (Trend::Improved, Certainty::Confirmed) => ("Improved", "▲", "good"),
    };
    Badge { word, sign, class }
}

/// By which question something was found, and how it came out.
pub(super) fn found_by(found_by: FoundBy, certainty: Certainty) -> &'static str {
    match (found_by, certainty) {
        (FoundBy::Limit, _) => "short of its limit",
        (FoundBy::Baseline, Certainty::Confirmed) => "off the pinned baseline",
        (FoundBy::Baseline, Certainty::Suspected) => "off the pinned baseline, not yet for certain",
        (FoundBy::Fence, Certainty::Confirmed) => "stands out from the nights before, measured twice",
        (FoundBy::Fence, Certainty::Suspected) => "stands out from the nights before, not confirmed",
        (FoundBy::ChangePoint, Certainty::Confirmed) => "the level changed and stayed changed",
        (FoundBy::ChangePoint, Certainty::Suspected) => "the level may have changed: it takes more nights",
    }
}

/// A change with its interval where it has one: `−5.0% (−5.4% to −4.6%)`.
pub(super) fn change(of: &Change, margin: f64) -> String {
    match (of.low, of.high) {
        (Some(low), Some(high)) => {
            let Written { change, low, high } = Written::between(of.change, [low, high], margin);
            format!("{change} ({low} to {high})")
        }
        _ => change::alone(of.change, margin),
    }
}

/// The change alone, as [`change`] writes it.
pub(super) fn change_alone(of: &Change, margin: f64) -> String {
    let text = change(of, margin);
    text.split_once(" (").map_or(text.clone(), |(change, _)| change.to_owned())
}

/// The levels on both sides of a change: `98.6 Gb/s to 93.6 Gb/s`.
pub(super) fn levels(of: &Change, metric: Metric) -> String {
    format!("{} to {}", number::value(metric, of.before), number::value(metric, of.after))
}

/// `requester.firmware 20.31 → 20.32`.
pub(super) fn configuration_change(of: &ConfigurationChange) -> String {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    format!("{} {} → {}", of.what, side(&of.from), side(&of.to))
}

/// Several at once.
pub(super) fn configuration_changes(all: &[ConfigurationChange]) -> String {
    all.iter().map(configuration_change).collect::<Vec<_>>().join("; ")
}

/// What a night changed in the configuration of any series, each once; empty where nothing changed.
pub(super) fn changed_in(report: &NightReport, night: i64) -> String {
    let epochs = report.series.iter().flat_map(|series| &series.epochs).filter(|epoch| epoch.from == night);
    let mut changes: Vec<String> =
        epochs.flat_map(|epoch| &epoch.changes).map(configuration_change).collect();
    changes.sort();
    changes.dedup();
    changes.join("; ")
}

/// A night by its number.
pub(super) fn night_of(report: &NightReport, id: i64) -> Option<&Night> {
    report.nights.iter().find(|night| night.id == id)
}

/// `night 117 (2026-11-27)`.
pub(super) fn night(report: &NightReport, id: i64) -> String {
    match night_of(report, id) {
        Some(night) => format!("night {id} ({})", number::date(night.started_at_unix_ms)),
        None => format!("night {id}"),
    }
}

/// What a night comes to, without the verdict's name: `4 regressions (3 of them new), 1 of 12 series not measured`.
pub(super) fn claim(report: &NightReport) -> String {
    let Counts { series, learning, not_measured, .. } = report.counts;
    let count = |of: &dyn Fn(&NightFinding) -> bool| report.findings.iter().filter(|f| of(f)).count() as u32;
    let alarms = count(&|finding| finding.alarms());
    let suspected = count(&|finding| {
        finding.acknowledged.is_none()
            && finding.certainty == Certainty::Suspected
            && finding.trend == Trend::Regressed
    });
    let mut said = Vec::new();
    if alarms > 0 {
        let new = match count(&|finding| finding.alarms() && finding.new) {
            0 => String::new(),
            1 if alarms == 1 => " (new)".to_owned(),
            new if new == alarms => " (all new)".to_owned(),
            new => format!(" ({new} of them new)"),
        };
        said.push(format!("{}{new}", number::counted(alarms, "regression")));
    }
    if suspected > 0 {
        said.push(number::counted(suspected, "suspected regression"));
    }
    if not_measured > 0 {
        said.push(format!("{not_measured} of {series} series not measured"));
    }
    if said.is_empty() {
        said.push(format!("nothing is wrong in {series} series"));
    }
    if learning > 0 {
        said.push(format!("{learning} too young to tell"));
    }
    said.join(", ")
}

/// The verdict on a night in one line.
pub(super) fn sentence(report: &NightReport) -> String {
    let changed = match report.configuration_changes.as_slice() {
        [] => String::new(),
        changes => format!(" Configuration changed: {}.", configuration_changes(changes)),
    };
    let Badge { word, .. } = verdict(report.verdict);
    let night = night(report, report.night.id);
    format!("{word}: {}, {night}: {}.{changed}", report.suite, claim(report))
}

/// What changed and by how much: the largest of a finding's members, or what is wrong in words.
pub(super) fn how_much(report: &NightReport, finding: &NightFinding) -> String {
    finding.members.first().map_or_else(String::new, |member| how_much_of(report, member))
}

/// The same of one member.
pub(super) fn how_much_of(report: &NightReport, member: &Member) -> String {
    let metric = series(report, member.series).map(|series| series.key.metric);
    let change =
        member.change.as_ref().zip(metric).map(|(of, metric)| {
            format!("{}, {}", change(of, report.rules.margin(metric)), levels(of, metric))
        });
    let parts: Vec<String> = change.into_iter().chain(member.cause.clone()).collect();
    parts.join("; ")
}

/// Where: the first series of a finding, and how many more there are.
pub(super) fn place(report: &NightReport, finding: &NightFinding) -> String {
    let name =
        |id| series(report, id).map_or_else(|| format!("series {id}"), |series| series.key.to_string());
    let first = finding.members.first().map_or_else(String::new, |member| name(member.series));
    let more = match finding.members.len() {
        0 | 1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    let shared = match (&finding.endpoint, finding.members.len()) {
        (Some(end), 2..) => format!(", all at {end}"),
        _ => String::new(),
    };
    format!("{first}{more}{shared}")
}

/// How a finding, or a member of it, was found, or why it is known.
pub(super) fn how(finding: &NightFinding, by: FoundBy, certainty: Certainty) -> String {
    match &finding.acknowledged {
        Some(reason) => format!("acknowledged: {reason}"),
        None => found_by(by, certainty).to_owned(),
    }
}

/// A finding in one line without its badge: since when, where, how much, how it was found.
pub(super) fn finding_line(report: &NightReport, finding: &NightFinding) -> String {
    let new = if finding.new { ", new" } else { "" };
    let since = night(report, finding.since);
    let how = how(finding, finding.found_by, finding.certainty);
    let parts = [place(report, finding), how_much(report, finding), how];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("since {since}{new}: {}", parts.join(": "))
}

/// What is said about the last value of a series: the value, or why there is none.
pub(super) fn last(series: &SeriesReport) -> String {
    match (&series.state, series.points.last().and_then(|point| point.value)) {
        (SeriesState::NotMeasured { .. }, _) | (_, None) => "none".to_owned(),
        (_, Some(value)) => number::value(series.key.metric, value),
    }
}

/// The coefficient of variation of the nights.
pub(super) fn noise(series: &SeriesReport) -> String {
    series.cv.map_or_else(|| "not known".to_owned(), number::percent)
}

/// Which metric, as it stands at the head of a chart.
pub(super) fn metric(metric: Metric) -> String {
    match metric.quantile() {
        Some(_) => format!("{metric} latency"),
        None => words::short_metric(metric),
    }
}

/// Whether a series was measured on the software NIC.
pub(super) fn is_simulated(series: &SeriesReport) -> bool {
    series.key.fabric == Fabric::Soft
}

/// What is simulated, where something is.
pub(super) fn simulated(report: &NightReport) -> Option<String> {
    let simulated = report.series.iter().filter(|series| is_simulated(series)).count();
    let all = report.series.len();
    match simulated {
        0 => None,
        _ if simulated == all => Some("SIMULATED: the software NIC. No network was measured.".to_owned()),
        _ => Some(format!("SIMULATED: the software NIC in {simulated} of {all} series.")),
    }
}

/// A series by its number.
pub(super) fn series(report: &NightReport, id: i64) -> Option<&SeriesReport> {
    report.series.iter().find(|series| series.id == id)
}
