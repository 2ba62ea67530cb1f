//! Nights: what is kept of them comes back as it was, and only whole.

use std::collections::BTreeMap;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use schema::{
    Bytes, Certainty, Configuration, Endpoint, Fabric, FoundBy, Limit, Metric, NightCampaign, NightPart,
    Origin, Reported, SeriesKey, Trend,
};

use super::{NewCampaign, Store, StoreError, folder, plan_of, sample};
use crate::store::{ForeignNight, ForeignRun, NewNight, NewValue};

fn open() -> (tempfile::TempDir, Store) {
    let (folder, file) = folder();
    let store = Store::create_or_open(&file).unwrap();
    (folder, store)
}

pub(in crate::store) fn begin_night(store: &mut Store, suite: &str, started_at_unix_ms: u64) -> i64 {
    let new = NewNight { suite, suite_toml: "name = \"s\"", origin: Origin::Measured, started_at_unix_ms };
    store.begin_night(&new).unwrap()
}

fn key(workload: &str) -> SeriesKey {
    let end = |host: &str| Endpoint { host: host.into(), device: "mlx5_0".into() };
    SeriesKey {
        engine: "verbs-bench".into(),
        fabric: Fabric::Verbs,
        scenario: "nightly-write".into(),
        workload: workload.into(),
        variant: "deep".into(),
        msg_bytes: Bytes(65_536),
        metric: Metric::Bandwidth,
        requester: end("node1"),
        responder: end("node2"),
    }
}

pub(in crate::store) fn value(workload: &str, value: f64) -> NewValue {
    NewValue {
        key: key(workload),
        configuration: Configuration(BTreeMap::from([("kernel".into(), "6.1".into())])),
        value: Some(value),
        runs: vec![value; 5],
        failed_runs: 0,
        failure: None,
        confirm_runs: Vec::new(),
        limit: None,
        faults: Vec::new(),
    }
}

#[test]
fn a_night_is_history_once_it_has_ended() {
    let (_folder, mut store) = open();
    let night = begin_night(&mut store, "s", 1_000);
    store.keep_values(night, &[value("write", 1.0)]).unwrap();
    assert_eq!(store.unfinished_night("s").unwrap().unwrap().id, night);
    assert!(store.history("s", None).unwrap().nights.is_empty());
    assert_eq!(store.history("s", Some(night)).unwrap().series.len(), 1);
    store.end_night(night, 2_000).unwrap();
    assert_eq!(store.unfinished_night("s").unwrap(), None);
    let history = store.history("s", None).unwrap();
    assert_eq!(history.nights[0].ended_at_unix_ms, Some(2_000));
    assert_eq!(history.series[0].key, key("write"));
    assert_eq!(store.suite_text(night).unwrap(), "name = \"s\"");
    let heads = store.suites().unwrap();
    assert_eq!((heads[0].name.as_str(), heads[0].nights, heads[0].series), ("s", 1, 1));
}

#[test]
fn nights_come_in_time_order_whatever_the_order_they_were_added_in() {
    let (_folder, mut store) = open();
    for start in [3_000, 1_000, 2_000] {
        let night = begin_night(&mut store, "s", start);
        store.keep_values(night, &[value("write", start as f64)]).unwrap();
        store.end_night(night, start + 1).unwrap();
    }
    let history = store.history("s", None).unwrap();
    let values: Vec<Option<f64>> = history.series[0].values.iter().map(|value| value.value).collect();
    assert_eq!(values, [Some(1_000.0), Some(2_000.0), Some(3_000.0)]);
}

#[test]
fn the_campaigns_of_a_night_are_known_with_what_they_were_for() {
    let (_folder, mut store) = open();
    let plan = plan_of(&sample());
    let night = begin_night(&mut store, "s", 1_000);
    let mut begin = |part| {
        store.begin_in_night(night, part, &NewCampaign { plan: &plan, started_at_unix_ms: 1_000 }).unwrap()
    };
    let (first, confirm) = (begin(NightPart::First), begin(NightPart::Confirm));
    let expected = [
        NightCampaign { campaign: first, part: NightPart::First },
        NightCampaign { campaign: confirm, part: NightPart::Confirm },
    ];
    assert_eq!(store.night(night).unwrap().unwrap().campaigns, expected);
}

#[test]
fn values_given_again_take_the_place_of_the_first() {
    let (_folder, mut store) = open();
    let night = begin_night(&mut store, "s", 1_000);
    store.keep_values(night, &[value("write", 1.0), value("read", 2.0)]).unwrap();
    store.keep_values(night, &[value("write", 3.0)]).unwrap();
    let history = store.history("s", Some(night)).unwrap();
    let values: Vec<Option<f64>> = history.series.iter().map(|series| series.values[0].value).collect();
    assert_eq!(values, [Some(3.0), Some(2.0)]);
}

#[test]
fn one_number_that_cannot_be_kept_refuses_all_of_them() {
    let (_folder, mut store) = open();
    let night = begin_night(&mut store, "s", 1_000);
    let error = store.keep_values(night, &[value("write", 1.0), value("read", f64::NAN)]).unwrap_err();
    assert!(error.to_string().contains("night 1") && error.to_string().contains("finite"), "{error}");
    assert!(store.history("s", Some(night)).unwrap().series.is_empty());
}

#[test]
fn a_night_or_series_that_is_not_there_is_named() {
    let (_folder, mut store) = open();
    let night = begin_night(&mut store, "s", 1_000);
    let told = |error: StoreError| error.to_string();
    assert!(told(store.keep_values(7, &[]).unwrap_err()).contains("no night 7"));
    assert!(told(store.end_night(7, 1).unwrap_err()).contains("no night 7"));
    assert!(told(store.add_note(7, None, "x", 1).unwrap_err()).contains("no night 7"));
    assert!(told(store.add_note(night, Some(9), "x", 1).unwrap_err()).contains("no series 9"));
    assert!(told(store.set_baseline("t", "good", night, 1).unwrap_err()).contains("no night 1 of suite t"));
}

#[test]
fn what_people_said_comes_back_with_the_suite_it_is_about() {
    let (_folder, mut store) = open();
    let night = begin_night(&mut store, "s", 1_000);
    let other = begin_night(&mut store, "t", 1_000);
    store.keep_values(night, &[value("write", 1.0)]).unwrap();
    store.end_night(night, 2_000).unwrap();
    let series = store.history("s", None).unwrap().series[0].id;
    store.add_note(night, Some(series), "new cable", 3_000).unwrap();
    store.add_note(other, None, "elsewhere", 3_000).unwrap();
    store.add_acknowledgement(series, night, "the cable is longer", 4_000).unwrap();
    assert_eq!(store.set_baseline("s", "good", night, 5_000).unwrap(), None);
    assert_eq!(store.set_baseline("s", "good", night, 6_000).unwrap(), Some(night));
    let reported = Reported {
        night,
        series,
        found_by: FoundBy::Fence,
        certainty: Certainty::Suspected,
        trend: Trend::Regressed,
        since: night,
    };
    store.keep_reported(night, std::slice::from_ref(&reported)).unwrap();
    store.keep_reported(night, std::slice::from_ref(&reported)).unwrap();
    let history = store.history("s", None).unwrap();
    assert_eq!((history.notes.len(), history.notes[0].text.as_str()), (1, "new cable"));
    assert_eq!(history.acknowledgements[0].reason, "the cable is longer");
    assert_eq!((history.baselines.len(), history.baselines[0].set_at_unix_ms), (1, 6_000));
    assert_eq!(history.reported, [reported]);
    assert!(store.remove_baseline("s", "good").unwrap());
    assert!(!store.remove_baseline("s", "good").unwrap());
}

#[test]
fn a_log_is_imported_once_and_all_of_it_or_nothing() {
    let (_folder, mut store) = open();
    let run = ForeignRun {
        engine: "perftest".into(),
        source: "old.log".into(),
        sha256: "ab".repeat(32),
        line: 12,
        facts: serde_json::json!({ "bw": 97.1 }),
    };
    let night = |started_at_unix_ms, value| ForeignNight {
        suite: "old".into(),
        started_at_unix_ms,
        runs: vec![run.clone()],
        values: vec![value],
    };
    let broken = [night(1_000, value("write", 1.0)), night(2_000, value("write", f64::INFINITY))];
    assert!(store.add_foreign(&broken).is_err());
    assert!(!store.knows_file(&run.sha256).unwrap());
    let added =
        store.add_foreign(&[night(1_000, value("write", 1.0)), night(2_000, value("write", 2.0))]).unwrap();
    assert_eq!((added.nights.len(), added.runs, added.values), (2, 2, 2));
    assert!(store.knows_file(&run.sha256).unwrap());
    assert_eq!(store.history("old", None).unwrap().nights[1].origin, Origin::Imported);
    let again = store.add_foreign(&[night(3_000, value("write", 3.0))]).unwrap_err().to_string();
    assert!(again.contains("old.log") && again.contains("already"), "{again}");
}

fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |number| number.is_finite())
}

prop_compose! {
    fn any_value()(
        workload in "[a-z]{1,2}",
        facts in proptest::collection::btree_map("[a-z.]{1,8}", ".{0,8}", 0..3),
        value in proptest::option::of(finite()),
        runs in proptest::collection::vec(finite(), 0..6),
        failed_runs in any::<u32>(),
        failure in proptest::option::of(".{0,20}"),
        confirm_runs in proptest::collection::vec(finite(), 0..6),
        limit in proptest::option::of((finite(), ".{0,20}")),
        faults in proptest::collection::vec(".{0,20}", 0..3),
    ) -> NewValue {
        NewValue {
            key: key(&workload),
            configuration: Configuration(facts),
            value,
            runs,
            failed_runs,
            failure,
            confirm_runs,
            limit: limit.map(|(worst, basis)| Limit { worst, basis }),
            faults,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_values_come_back(nights in proptest::collection::vec(proptest::collection::vec(any_value(), 0..4), 1..4)) {
        let (_folder, mut store) = open();
        let mut expected: BTreeMap<(i64, String), NewValue> = BTreeMap::new();
        for (start, values) in nights.into_iter().enumerate() {
            let night = begin_night(&mut store, "s", start as u64);
            store.keep_values(night, &values).unwrap();
            store.end_night(night, start as u64).unwrap();
            expected.extend(values.into_iter().map(|value| ((night, value.key.to_string()), value)));
        }
        let history = store.history("s", None).unwrap();
        let kept: BTreeMap<(i64, String), NewValue> = history
            .series
            .iter()
            .flat_map(|series| series.values.iter().map(|value| (series.key.clone(), value.clone())))
            .map(|(key, value)| {
                let place = (value.night, key.to_string());
                let configuration = history.configurations[&value.configuration].clone();
                let schema::NightValue { value, runs, failed_runs, failure, confirm_runs, limit, faults, .. } = value;
                (place, NewValue { key, configuration, value, runs, failed_runs, failure, confirm_runs, limit, faults })
            })
            .collect();
        prop_assert_eq!(kept, expected);
    }
}
