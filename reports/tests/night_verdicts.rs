//! What nights with a known answer are said to be.

use proptest::prelude::*;
use reports::{
    history::{NightFinding, NightReport, NightVerdict, Rules, SeriesState, fence_hits, judge},
    testing::nights::{Nights, Step, Update, Wander, Where, of_values},
};
use schema::{Acknowledgement, Baseline, Certainty, FoundBy, History, Limit, Metric, Reported, Trend};

fn judged(history: &History, night: i64) -> NightReport {
    judge(history, night, &Rules::default()).expect("a night of the history")
}

fn last(history: &History) -> NightReport {
    judged(history, history.nights.len() as i64)
}

fn step(at: Where, night: usize, worse: f64) -> Vec<Step> {
    vec![Step { at, night, worse, until: None }]
}

fn only(report: &NightReport) -> &NightFinding {
    assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
    &report.findings[0]
}

/// Runs made again the same night, which say the same as the first or what `again` says.
fn measured_again(history: &mut History, series: i64, night: usize, again: impl Fn(f64) -> f64) {
    let value = &mut history.series[series as usize - 1].values[night];
    value.confirm_runs = value.runs.iter().map(|run| again(*run)).collect();
}

#[test]
fn nights_without_a_change_are_fine() {
    let report = last(&Nights::default().history());
    assert_eq!(report.verdict, NightVerdict::Fine);
    assert!(report.findings.is_empty());
    assert_eq!(report.counts.steady, 12);
    assert!(report.series.iter().all(|series| series.change_points.is_empty() && series.cv.is_some()));
}

#[test]
fn a_standing_loss_is_a_regression_with_its_interval_until_it_is_made_good() {
    let lost = Step { at: Where::Series(0), night: 40, worse: 0.08, until: Some(70) };
    let history = Nights { nights: 90, steps: vec![lost], ..Nights::default() }.history();
    let report = judged(&history, 60);
    let finding = only(&report);
    assert_eq!((finding.found_by, finding.certainty), (FoundBy::ChangePoint, Certainty::Confirmed));
    assert_eq!((finding.trend, finding.since, finding.new), (Trend::Regressed, 41, true));
    let change = finding.members[0].change.expect("two levels");
    let (low, high) = (change.low.expect("many nights"), change.high.expect("many nights"));
    assert!(low < -0.08 && -0.08 < high && high - low < 0.02, "{change:?}");
    assert_eq!(
        (report.verdict, report.series[0].state.clone()),
        (NightVerdict::Regression, SeriesState::Regressed)
    );
    // Three nights after it came back, that is told, and the loss is no more.
    let back = judged(&history, 73);
    assert_eq!((only(&back).trend, back.verdict), (Trend::Improved, NightVerdict::Fine));
    assert_eq!(back.series[0].state, SeriesState::Improved);
    let later = judged(&history, 90);
    assert!(later.findings.is_empty());
    assert_eq!((later.series[0].change_points.len(), later.counts.steady), (2, 12));
}

#[test]
fn a_better_latency_is_an_improvement() {
    let history = Nights { steps: step(Where::Series(1), 57, -0.08), ..Nights::default() }.history();
    assert_eq!(history.series[1].key.metric, Metric::P50);
    let report = last(&history);
    assert_eq!((only(&report).trend, report.verdict), (Trend::Improved, NightVerdict::Fine));
    assert_eq!(report.counts.improved, 1);
}

#[test]
fn a_night_that_stands_out_is_suspected_until_it_is_measured_again() {
    let mut history =
        Nights { nights: 41, steps: step(Where::Series(0), 40, 0.1), ..Nights::default() }.history();
    assert_eq!(fence_hits(&history, 41, &Rules::default()), [1]);
    let suspected = last(&history);
    assert_eq!(
        (only(&suspected).found_by, only(&suspected).certainty),
        (FoundBy::Fence, Certainty::Suspected)
    );
    assert_eq!((suspected.verdict, suspected.verdict.exit_code()), (NightVerdict::Inconclusive, 4));
    measured_again(&mut history, 1, 40, |run| run);
    let confirmed = last(&history);
    assert_eq!(
        (only(&confirmed).certainty, confirmed.verdict),
        (Certainty::Confirmed, NightVerdict::Regression)
    );
    assert!(fence_hits(&history, 41, &Rules::default()).is_empty());
    // It was chance: nothing is said, and the fence shows both measurements.
    measured_again(&mut history, 1, 40, |run| run / 0.9);
    let chance = last(&history);
    assert!(chance.findings.is_empty() && chance.verdict == NightVerdict::Fine);
    let fence = chance.series[0].fence.expect("enough nights");
    assert!(fence.distance < -0.08 && fence.again.expect("measured again").abs() < 0.03, "{fence:?}");
}

#[test]
fn a_loss_of_one_host_is_one_finding_that_names_it() {
    let nights =
        Nights { series: 40, hosts: 5, steps: step(Where::Host("node3"), 50, 0.12), ..Nights::default() };
    let report = last(&nights.history());
    let finding = only(&report);
    assert_eq!(finding.endpoint.as_ref().expect("one end").host, "node3");
    assert_eq!((finding.members.len(), report.counts.regressed), (16, 16));
    let sizes: Vec<f64> =
        finding.members.iter().map(|one| one.change.expect("levels").change.abs()).collect();
    assert!(sizes.is_sorted_by(|one, next| one >= next));
}

#[test]
fn a_loss_everywhere_blames_no_host_and_two_hosts_are_two_findings() {
    let nights = |steps| Nights { series: 40, hosts: 5, steps, ..Nights::default() };
    let everywhere = last(&nights(step(Where::Everywhere, 50, 0.12)).history());
    assert!(everywhere.findings.iter().all(|finding| finding.endpoint.is_none()));
    assert_eq!(everywhere.findings.len(), 2, "one a scenario");
    let two = [step(Where::Host("node2"), 50, 0.12), step(Where::Host("node4"), 50, 0.12)].concat();
    let two = last(&nights(two).history());
    let hosts: Vec<&str> =
        two.findings.iter().filter_map(|finding| Some(finding.endpoint.as_ref()?.host.as_str())).collect();
    assert_eq!((hosts, two.findings.len()), (vec!["node2", "node4"], 2));
}

#[test]
fn what_is_acknowledged_raises_no_alarm_and_what_was_said_is_not_new() {
    let mut history = Nights { steps: step(Where::Series(0), 50, 0.08), ..Nights::default() }.history();
    let said = |certainty| Reported {
        night: 55,
        series: 1,
        found_by: FoundBy::ChangePoint,
        certainty,
        trend: Trend::Regressed,
        since: 51,
    };
    history.reported = vec![said(Certainty::Suspected)];
    assert!(only(&last(&history)).new, "it was only suspected");
    history.reported = vec![said(Certainty::Confirmed)];
    assert!(!only(&last(&history)).new);
    let acknowledgement = Acknowledgement {
        id: 1,
        series: 1,
        night: 51,
        reason: "a shorter cable".into(),
        written_at_unix_ms: 0,
    };
    history.acknowledgements = vec![acknowledgement];
    let known = last(&history);
    assert_eq!(only(&known).acknowledged.as_deref(), Some("a shorter cable"));
    assert_eq!(known.series[0].change_points[0].acknowledged.as_deref(), Some("a shorter cable"));
    assert_eq!((known.verdict, known.counts.acknowledged), (NightVerdict::Fine, 1));
}

#[test]
fn another_firmware_opens_an_epoch_and_raises_nothing_by_itself() {
    let update = Update { night: 40, what: "requester.firmware", to: "20.42.1000" };
    let nights =
        Nights { steps: step(Where::Everywhere, 40, 0.1), updates: vec![update], ..Nights::default() };
    let history = nights.history();
    let that_night = judged(&history, 41);
    assert_eq!(that_night.verdict, NightVerdict::Fine);
    assert_eq!(that_night.configuration_changes.len(), 1);
    assert_eq!(that_night.series[0].state, SeriesState::Learning { nights: 1, of: 14 });
    let later = last(&history);
    assert!(later.findings.is_empty() && later.configuration_changes.is_empty());
    let epochs = &later.series[0].epochs;
    assert_eq!((epochs.len(), epochs[1].from, epochs[1].nights), (2, 41, 20));
    let against = epochs[1].against_the_one_before.expect("enough nights");
    assert!((against.change + 0.1).abs() < 0.02, "{against:?}");
}

#[test]
fn a_limit_and_a_fault_need_no_history() {
    let mut history = of_values(&[Some(90e9), Some(80e9)]);
    let night = &mut history.series[0].values[1];
    night.limit = Some(Limit { worst: 85e9, basis: "93 % of the link's payload".into() });
    let report = last(&history);
    assert_eq!((only(&report).found_by, report.verdict), (FoundBy::Limit, NightVerdict::Regression));
    let member = &only(&report).members[0];
    assert_eq!(member.cause.as_deref(), Some("worse than its limit: 93 % of the link's payload"));
    assert_eq!(report.series[0].state, SeriesState::Regressed);
    let night = &mut history.series[0].values[1];
    (night.limit, night.faults) = (None, vec!["port 1 runs at 50 Gb/s".into(), "3 symbol errors".into()]);
    let report = last(&history);
    assert_eq!(only(&report).members[0].cause.as_deref(), Some("port 1 runs at 50 Gb/s; 3 symbol errors"));
    assert_eq!(only(&report).members[0].change, None);
}

#[test]
fn a_night_without_a_value_could_not_run_but_a_regression_weighs_more() {
    let nights = Nights { failed: vec![(59, Where::Series(3))], ..Nights::default() };
    let report = last(&nights.history());
    assert_eq!((report.verdict, report.counts.not_measured), (NightVerdict::CouldNotRun, 1));
    let SeriesState::NotMeasured { why } = &report.series[3].state else {
        panic!("{:?}", report.series[3].state)
    };
    assert_eq!(why, "5 of 5 runs failed: connect: no answer from the responder in 10 s");
    let both = Nights { steps: step(Where::Series(0), 50, 0.08), ..nights.clone() };
    assert_eq!(last(&both.history()).verdict, NightVerdict::Regression);
    // One that the night left out, though the night before had it, and one that was given up long ago.
    let mut history = Nights::default().history();
    history.series[0].values.truncate(59);
    history.series[1].values.truncate(40);
    let report = last(&history);
    assert_eq!((report.verdict, report.counts.not_measured), (NightVerdict::CouldNotRun, 1));
    assert!(
        matches!(&report.series[1].state, SeriesState::NotMeasured { why } if why == "not measured any more")
    );
}

#[test]
fn a_pinned_night_is_compared_with_over_epochs() {
    let update = Update { night: 55, what: "kernel", to: "7.0" };
    let nights =
        Nights { steps: step(Where::Series(0), 55, 0.08), updates: vec![update], ..Nights::default() };
    let mut history = nights.history();
    history.baselines = vec![Baseline { name: "release".into(), night: 50, set_at_unix_ms: 0 }];
    assert!(last(&history).findings.is_empty());
    let rules = Rules { baseline: Some("release".into()), ..Rules::default() };
    let report = judge(&history, 60, &rules).expect("a night");
    let finding = only(&report);
    assert_eq!((finding.found_by, finding.certainty), (FoundBy::Baseline, Certainty::Confirmed));
    assert_eq!(finding.members[0].series, 1);
    let against = report.series[0].baseline.as_ref().expect("pinned");
    assert_eq!((against.night, against.configuration_changes[0].what.as_str()), (50, "kernel"));
}

#[test]
fn a_night_that_is_not_there_has_no_report() {
    let history = Nights::default().history();
    assert!(judge(&history, 61, &Rules::default()).is_none());
    assert!(fence_hits(&history, 61, &Rules::default()).is_empty());
}

#[test]
fn later_nights_and_the_order_of_series_do_not_matter() {
    let mut nights = Nights { nights: 80, noise: Wander::Outliers, ..Nights::default() };
    nights.steps = [step(Where::Host("node2"), 40, 0.1), step(Where::Series(2), 60, -0.06)].concat();
    let whole = nights.history();
    let mut cut = whole.clone();
    cut.nights.truncate(50);
    for series in &mut cut.series {
        series.values.truncate(50);
    }
    let seen = judged(&whole, 50);
    assert_eq!(judged(&cut, 50), seen);
    let mut turned = whole.clone();
    turned.series.reverse();
    assert_eq!(judged(&turned, 50).findings, seen.findings);
}

#[test]
fn a_constant_series_says_nothing() {
    for value in [0.0, 1e-9, 97e9] {
        let report = last(&of_values(&[Some(value); 60]));
        assert!(report.findings.is_empty() && report.series[0].change_points.is_empty());
        assert_eq!(report.verdict, NightVerdict::Fine);
    }
}

#[test]
fn nights_without_any_value_could_not_run() {
    let report = last(&of_values(&[None; 30]));
    assert_eq!((report.verdict, report.counts.not_measured), (NightVerdict::CouldNotRun, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_values_are_judged_and_every_finding_is_of_a_series_and_a_night_of_the_history(
        values in proptest::collection::vec(
            proptest::option::weighted(0.9, prop_oneof![Just(0.0), Just(1e9), 0.9e9f64..1.1e9, proptest::num::f64::NORMAL]),
            1..80,
        ),
        again in proptest::collection::vec(0.5e9f64..1.5e9, 0..6),
    ) {
        let mut history = of_values(&values);
        history.series[0].values.last_mut().expect("a night").confirm_runs = again;
        let report = last(&history);
        for finding in &report.findings {
            prop_assert!(report.nights.iter().any(|night| night.id == finding.since));
            prop_assert!(finding.members.iter().all(|member| member.series == 1));
        }
    }

    #[test]
    fn units_do_not_matter(seed in 0u64..1_000, scale in 1e-6f64..1e6) {
        let steps = step(Where::Host("node2"), 45, 0.06);
        let plain = Nights { series: 4, seed, noise: Wander::LogNormal, steps, ..Nights::default() }.history();
        let mut scaled = plain.clone();
        for value in scaled.series.iter_mut().flat_map(|series| &mut series.values) {
            value.value = value.value.map(|value| value * scale);
            value.runs.iter_mut().for_each(|run| *run *= scale);
        }
        let said = |history: &History| {
            let findings = last(history).findings;
            let of = |one: &NightFinding| (one.found_by, one.certainty, one.trend, one.since, one.members.len());
            findings.iter().map(of).collect::<Vec<_>>()
        };
        prop_assert_eq!(said(&plain), said(&scaled));
    }
}
