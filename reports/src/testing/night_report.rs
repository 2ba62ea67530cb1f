//! A night with every kind of finding and every state of a series, judged by hand: what views and exports are tested on. The
//! figures are plausible, and no rule computed them; how nights are judged is tested elsewhere.

mod awkward;
mod history;

use schema::{Certainty, ConfigurationChange, Endpoint, FoundBy, History, SCHEMA_VERSION, Trend};

use crate::history::{
    BaselineReport, Change, ChangePoint, Counts, Epoch, FenceReport, Member, NightFinding, NightReport,
    NightVerdict, PointReport, Rules, SeriesReport, SeriesState,
};

pub use awkward::{awkward_names, awkward_night};
pub use history::night_history;
use history::{FIRST, LAST, NEW_FIRMWARE, series};

use Certainty::{Confirmed, Suspected};
use Trend::{Improved, Regressed};

/// What is said about the last night of [`night_history`].
pub fn night_report() -> NightReport {
    let history = night_history();
    let reports: Vec<SeriesReport> = history.series.iter().map(|one| series_report(&history, one)).collect();
    NightReport {
        schema_version: SCHEMA_VERSION,
        suite: history.suite,
        night: history.nights[history.nights.len() - 1].clone(),
        nights: history.nights,
        verdict: NightVerdict::Regression,
        findings: findings(),
        configuration_changes: Vec::new(),
        counts: Counts {
            series: 12,
            steady: 1,
            learning: 1,
            regressed: 5,
            suspected: 2,
            improved: 1,
            acknowledged: 1,
            not_measured: 1,
        },
        series: reports,
        notes: history.notes,
        acknowledgements: history.acknowledgements,
        rules: rules(),
    }
}

/// As they were when this was written down, whatever they are now.
fn rules() -> Rules {
    Rules {
        nights_to_start: 14,
        window_nights: 50,
        change_point_p: 1e-4,
        nights_after: 2,
        cv_multiple: 2.0,
        winsor_mads: 8.0,
        fence_nights: 30,
        fence_iqr: 3.0,
        false_discovery_rate: 0.05,
        baseline: Some("acceptance".into()),
        ..Rules::default()
    }
}

/// The same suite, ten nights earlier: nothing to say, but that the firmware of node1 changed.
pub fn quiet_night_report() -> NightReport {
    let mut report = night_report();
    let last = NEW_FIRMWARE;
    report.nights.retain(|night| night.id <= last);
    report.night = report.nights[report.nights.len() - 1].clone();
    report.verdict = NightVerdict::Fine;
    report.findings.clear();
    report.configuration_changes = vec![firmware()];
    report.series.retain(|one| one.id != series::NEW);
    for one in &mut report.series {
        one.points.retain(|point| point.night <= last);
        one.epochs.retain(|epoch| epoch.from <= last);
        if let Some(present) = one.epochs.last_mut() {
            (present.to, present.against_the_one_before) = (last, None);
            present.nights = (last - present.from + 1) as u32;
        }
        one.change_points.clear();
        one.baseline = None;
        let young = one.epochs.len() > 1;
        one.state = if young { SeriesState::Learning { nights: 1, of: 14 } } else { SeriesState::Steady };
        let tonight = one.points.last().and_then(|point| point.value);
        one.fence = one.fence.filter(|_| !young).zip(tonight).map(|(fence, value)| FenceReport {
            distance: value / fence.level - 1.0,
            again: None,
            ..fence
        });
        one.cv = one.cv.filter(|_| !young);
        if let Some(point) = one.points.last_mut() {
            point.confirm = None;
        }
    }
    let learning = report.series.iter().filter(|one| one.epochs.len() > 1).count() as u32;
    let all = report.series.len() as u32;
    report.counts = Counts { series: all, steady: all - learning, learning, ..Counts::default() };
    report.notes.retain(|note| note.night <= last);
    report.acknowledgements.clear();
    report.rules.baseline = None;
    report
}

fn firmware() -> ConfigurationChange {
    ConfigurationChange {
        what: "requester.firmware".into(),
        from: Some("20.41.1000".into()),
        to: Some("20.43.1014".into()),
    }
}

fn findings() -> Vec<NightFinding> {
    let end = |host: &str| Some(Endpoint { host: host.into(), device: "mlx5_0".into() });
    let change_point = FoundBy::ChangePoint;
    let finding = |endpoint, since, trend, members: Vec<Member>| NightFinding {
        found_by: members[0].found_by,
        certainty: members[0].certainty,
        trend,
        since,
        new: since == LAST || since == 117,
        acknowledged: None,
        endpoint,
        members,
    };
    let limit = Member {
        cause: Some(
            "49.5 Gb/s is below 91.1 Gb/s, 93 % of 98.0 Gb/s, the payload of a 100 Gb/s RoCE v2 link at path \
             MTU 4096; node3:mlx5_0 port 1 runs at 50 Gb/s, 100 Gb/s is what it can"
                .into(),
        ),
        change: None,
        p: None,
        ..member(series::BELOW_ITS_LIMIT, FoundBy::Limit, Confirmed)
    };
    let known = NightFinding {
        new: false,
        acknowledged: Some("node3 moved to the second leaf switch".into()),
        ..finding(end("node3"), 112, Regressed, vec![member(series::KNOWN, change_point, Confirmed)])
    };
    vec![
        finding(end("node3"), LAST, Regressed, vec![limit]),
        finding(
            end("node1"),
            117,
            Regressed,
            vec![
                member(series::STEPPED_DOWN, change_point, Confirmed),
                member(series::STEPPED_DOWN_TOO, change_point, Confirmed),
            ],
        ),
        finding(
            None,
            LAST,
            Regressed,
            vec![
                member(series::OUTSIDE_THE_FENCE, FoundBy::Fence, Confirmed),
                member(series::OUTSIDE_THE_FENCE_ONCE, FoundBy::Fence, Suspected),
            ],
        ),
        finding(None, 115, Regressed, vec![member(series::OFF_THE_BASELINE, FoundBy::Baseline, Confirmed)]),
        finding(None, LAST, Regressed, vec![member(series::STEPPED_LATELY, change_point, Suspected)]),
        finding(None, 118, Improved, vec![member(series::IMPROVED, change_point, Confirmed)]),
        known,
    ]
}

fn member(series: i64, found_by: FoundBy, certainty: Certainty) -> Member {
    let p = (found_by == FoundBy::ChangePoint).then_some(2.4e-6);
    Member { series, found_by, certainty, change: step(series), p, cause: None }
}

/// Before, after, and half the width of the interval.
fn step(id: i64) -> Option<Change> {
    let (before, after, within) = match id {
        series::STEPPED_DOWN => (98.57e9, 93.60e9, Some(0.004)),
        series::STEPPED_DOWN_TOO => (98.37e9, 93.90e9, Some(0.004)),
        series::OUTSIDE_THE_FENCE => (61.5e6, 55.97e6, None),
        series::OUTSIDE_THE_FENCE_ONCE => (48.2e6, 44.83e6, None),
        series::STEPPED_LATELY => (2_210.0, 2_386.0, None),
        series::OFF_THE_BASELINE => (3_420.0, 3_550.0, Some(0.006)),
        series::IMPROVED => (1_473.0, 1_409.0, Some(0.005)),
        series::KNOWN => (95.9e9, 93.2e9, Some(0.003)),
        _ => return None,
    };
    let change = after / before - 1.0;
    Some(Change {
        before,
        after,
        change,
        low: within.map(|within| change - within),
        high: within.map(|within| change + within),
    })
}

fn series_report(history: &History, one: &schema::Series) -> SeriesReport {
    let median = |runs: &[f64]| {
        let mut sorted = runs.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted.get(runs.len() / 2).copied()
    };
    let point = |value: &schema::NightValue| {
        let all = || value.runs.iter().chain(&value.confirm_runs).copied();
        PointReport {
            night: value.night,
            value: value.value,
            low: all().reduce(f64::min),
            high: all().reduce(f64::max),
            runs: all().count() as u32,
            confirm: median(&value.confirm_runs),
        }
    };
    let state = state(one.id);
    let young = matches!(state, SeriesState::Learning { .. } | SeriesState::NotMeasured { .. });
    let level = step(one.id)
        .map_or_else(|| one.values.first().and_then(|first| first.value), |step| Some(step.before));
    let last = &one.values[one.values.len() - 1];
    let fence = level.filter(|_| !young).and_then(|level| {
        let again = median(&last.confirm_runs).map(|again| again / level - 1.0);
        Some(FenceReport { level, fence: 0.034, distance: last.value? / level - 1.0, again })
    });
    SeriesReport {
        id: one.id,
        key: one.key.clone(),
        state,
        points: one.values.iter().map(point).collect(),
        epochs: epochs(one),
        change_points: change_points(one.id),
        cv: (!young).then_some(0.0031),
        fence,
        limit: last.limit.clone(),
        baseline: (one.id == series::OFF_THE_BASELINE).then(|| BaselineReport {
            name: "acceptance".into(),
            night: history.baselines[0].night,
            change: step(one.id).expect("it has one"),
            configuration_changes: Vec::new(),
        }),
    }
}

fn state(id: i64) -> SeriesState {
    match id {
        series::OUTSIDE_THE_FENCE_ONCE | series::STEPPED_LATELY => SeriesState::Suspected,
        series::IMPROVED => SeriesState::Improved,
        series::KNOWN => SeriesState::Acknowledged,
        series::NEW => SeriesState::Learning { nights: 5, of: 14 },
        series::NOT_MEASURED => SeriesState::NotMeasured {
            why: "connecting to node1: connection refused (is its agent installed?)".into(),
        },
        series::STEADY => SeriesState::Steady,
        _ => SeriesState::Regressed,
    }
}

/// Series that node1 posts have two: before its new firmware, and since.
fn epochs(one: &schema::Series) -> Vec<Epoch> {
    let first = one.values[0].night;
    let nights = |from: i64, to: i64| {
        let inside =
            |value: &&schema::NightValue| (from..=to).contains(&value.night) && value.value.is_some();
        one.values.iter().filter(inside).count() as u32
    };
    let epoch = |from: i64, to: i64| Epoch {
        from,
        to,
        nights: nights(from, to),
        changes: Vec::new(),
        against_the_one_before: None,
    };
    if one.key.requester.host != "node1" || first > FIRST {
        return vec![epoch(first, LAST)];
    }
    let against_the_one_before =
        Some(Change { before: 97.4e9, after: 98.57e9, change: 0.012, low: Some(0.009), high: Some(0.015) })
            .filter(|_| one.id == series::STEPPED_DOWN);
    vec![
        epoch(FIRST, NEW_FIRMWARE - 1),
        Epoch { changes: vec![firmware()], against_the_one_before, ..epoch(NEW_FIRMWARE, LAST) },
    ]
}

fn change_points(id: i64) -> Vec<ChangePoint> {
    let (night, certainty, trend) = match id {
        series::STEPPED_DOWN | series::STEPPED_DOWN_TOO => (117, Confirmed, Regressed),
        series::STEPPED_LATELY => (LAST, Suspected, Regressed),
        series::IMPROVED => (118, Confirmed, Improved),
        series::KNOWN => (112, Confirmed, Regressed),
        _ => return Vec::new(),
    };
    let acknowledged = (id == series::KNOWN).then(|| "node3 moved to the second leaf switch".into());
    vec![ChangePoint {
        night,
        certainty,
        trend,
        change: step(id).expect("it has one"),
        p: 2.4e-6,
        acknowledged,
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consistent(report: &NightReport) {
        let counted =
            |is: fn(&SeriesState) -> bool| report.series.iter().filter(|one| is(&one.state)).count() as u32;
        let counts = Counts {
            series: report.series.len() as u32,
            steady: counted(|state| *state == SeriesState::Steady),
            learning: counted(|state| matches!(state, SeriesState::Learning { .. })),
            regressed: counted(|state| *state == SeriesState::Regressed),
            suspected: counted(|state| *state == SeriesState::Suspected),
            improved: counted(|state| *state == SeriesState::Improved),
            acknowledged: counted(|state| *state == SeriesState::Acknowledged),
            not_measured: counted(|state| matches!(state, SeriesState::NotMeasured { .. })),
        };
        assert_eq!(report.counts, counts);
        let alarms = report.findings.iter().any(NightFinding::alarms);
        assert_eq!(alarms, report.verdict == NightVerdict::Regression);
        let known = |night: i64| report.nights.iter().any(|known| known.id == night);
        assert!(report.findings.iter().all(|finding| known(finding.since)));
        for one in &report.series {
            assert!(one.points.iter().all(|point| known(point.night)));
            assert_eq!(one.epochs.last().unwrap().to, report.night.id);
            assert!(one.change_points.iter().all(|change| known(change.night)));
        }
    }

    #[test]
    fn what_is_said_of_the_night_fits_together() {
        consistent(&night_report());
        consistent(&quiet_night_report());
    }

    #[test]
    fn every_question_has_found_something() {
        let found: std::collections::HashSet<FoundBy> = night_report()
            .findings
            .iter()
            .flat_map(|finding| &finding.members)
            .map(|member| member.found_by)
            .collect();
        assert_eq!(found.len(), 4);
    }
}
