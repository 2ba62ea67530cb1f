//! The store gives back what was put in, refuses what it does not know, and loses nothing that was committed.

mod nights;

pub(super) use nights::{begin_night, value};

use std::{fs, path::PathBuf, time::Duration};

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use reports::testing::Sample;
use rusqlite::Connection;
use schema::{Campaign, CampaignState, Nanos, Outcome, Side, Stage, StopRule, Stopped};

use super::{NewCampaign, Store, StoreError, migrations};
use crate::{
    plan::{Plan, PlannedRun},
    scenario::{Hosts, SideHost},
};

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/store.db");
    (folder, file)
}

/// The plan that leads to a campaign.
pub(super) fn plan_of(campaign: &Campaign) -> Plan {
    let mut runs: Vec<PlannedRun> = campaign
        .runs
        .iter()
        .map(|run| PlannedRun {
            sequence: run.sequence,
            block: run.block,
            workload: run.workload.clone(),
            variant: run.variant.clone(),
            purpose: run.purpose,
        })
        .collect();
    runs.sort_by_key(|run| run.sequence);
    Plan {
        scenario: campaign.scenario.clone(),
        question: campaign.question.clone(),
        scenario_toml: campaign.scenario_toml.clone(),
        hosts: Hosts {
            requester: SideHost::default(),
            responder: SideHost::default(),
            address: [127, 0, 0, 1].into(),
        },
        variants: campaign.variants.clone(),
        factors: campaign.factors.clone(),
        workloads: campaign.workloads.clone(),
        design: campaign.design.clone(),
        gates: campaign.gates.clone(),
        runs,
    }
}

fn begin(store: &mut Store, campaign: &Campaign) -> i64 {
    let plan = plan_of(campaign);
    store.begin(&NewCampaign { plan: &plan, started_at_unix_ms: campaign.started_at_unix_ms }).unwrap()
}

fn keep(store: &mut Store, campaign: &Campaign) -> i64 {
    let id = begin(store, campaign);
    fill(store, &Campaign { id, ..campaign.clone() });
    id
}

/// Adds every run of a campaign that has begun.
pub(super) fn fill(store: &mut Store, campaign: &Campaign) {
    for run in &campaign.runs {
        store.add_run(campaign.id, run.sequence, &run.record, Duration::ZERO).unwrap();
    }
}

fn sample() -> Campaign {
    let mut campaign = Sample { blocks: 2, latencies: 200, ..Sample::default() }.campaign();
    campaign.runs[1].record.outcome = Outcome::Failed {
        stage: Stage::Measure,
        side: Side::Responder,
        cause: "completion with status 12 (RETRY_EXC_ERR)".into(),
        advice: "look at the link".into(),
    };
    campaign.runs[1].record.points.clear();
    campaign.runs[1].record.responder = None;
    campaign.runs[2].record.outcome = Outcome::Skipped { reason: "no such port".into() };
    campaign.design.seed = u64::MAX;
    campaign
}

#[test]
fn a_campaign_comes_back_exactly() {
    let (_folder, file) = folder();
    let mut campaign = sample();
    let mut store = Store::create_or_open(&file).unwrap();
    campaign.id = keep(&mut store, &campaign);
    drop(store);
    assert_eq!(Store::open(&file).unwrap().load(campaign.id).unwrap(), campaign);
}

#[test]
fn factors_come_back_with_what_is_on_in_each_variant() {
    let (_folder, file) = folder();
    let mut store = Store::create_or_open(&file).unwrap();
    let mut campaign = sample();
    campaign.factors = reports::testing::factorial::factors("a");
    campaign.variants[1].factors_on = vec!["a".into()];
    let id = keep(&mut store, &campaign);
    let loaded = store.load(id).unwrap();
    assert_eq!((loaded.factors, loaded.variants), (campaign.factors, campaign.variants));
}

#[test]
fn a_latency_campaign_comes_back_exactly() {
    let (_folder, file) = folder();
    let mut campaign =
        Sample { test: schema::Test::Latency, blocks: 1, latencies: 50, ..Sample::default() }.campaign();
    for run in &mut campaign.runs {
        for point in &mut run.record.points {
            point.completion_latency_ns = Some(point.latency_ns.clone());
            point.completion_histogram = Some(point.histogram.clone());
        }
    }
    let mut store = Store::create_or_open(&file).unwrap();
    campaign.id = keep(&mut store, &campaign);
    assert_eq!(store.load(campaign.id).unwrap(), campaign);
}

#[test]
fn a_campaign_is_unfinished_until_every_run_was_tried() {
    let (_folder, file) = folder();
    let campaign = sample();
    let mut store = Store::create_or_open(&file).unwrap();
    let id = begin(&mut store, &campaign);
    let (last, first) = campaign.runs.split_last().unwrap();
    for run in first {
        store.add_run(id, run.sequence, &run.record, Duration::ZERO).unwrap();
    }
    assert_eq!(store.load(id).unwrap().state, CampaignState::Unfinished);
    let missing = store.missing_runs(id, false).unwrap();
    assert_eq!(missing.iter().map(|run| run.sequence).collect::<Vec<_>>(), [last.sequence]);
    assert_eq!(store.newest_unfinished(&campaign.scenario).unwrap().unwrap().0.id, id);
    store.add_run(id, last.sequence, &last.record, Duration::ZERO).unwrap();
    assert_eq!(store.load(id).unwrap().state, CampaignState::Finished);
    assert_eq!(store.newest_unfinished(&campaign.scenario).unwrap(), None);
}

#[test]
fn a_second_try_takes_the_place_of_the_first_and_the_first_is_kept() {
    let (_folder, file) = folder();
    let campaign = sample();
    let mut store = Store::create_or_open(&file).unwrap();
    let id = keep(&mut store, &campaign);
    let failed: Vec<u32> = store.missing_runs(id, true).unwrap().iter().map(|run| run.sequence).collect();
    let mut expected = [campaign.runs[1].sequence, campaign.runs[2].sequence];
    expected.sort_unstable();
    assert_eq!(failed, expected);
    store.add_run(id, failed[0], &campaign.runs[0].record, Duration::ZERO).unwrap();
    let loaded = store.load(id).unwrap();
    assert_eq!(loaded.runs.len(), campaign.runs.len());
    let again = loaded.runs.last().unwrap();
    assert_eq!((again.sequence, &again.record), (failed[0], &campaign.runs[0].record));
    let tries: i64 =
        Connection::open(&file).unwrap().query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(tries as usize, campaign.runs.len() + 1);
}

#[test]
fn a_run_that_was_not_planned_is_refused() {
    let (_folder, file) = folder();
    let campaign = sample();
    let mut store = Store::create_or_open(&file).unwrap();
    let id = begin(&mut store, &campaign);
    assert!(store.add_run(id, 9_999, &campaign.runs[0].record, Duration::ZERO).is_err());
}

#[test]
fn no_fact_lies_in_two_places() {
    let (_folder, file) = folder();
    let mut store = Store::create_or_open(&file).unwrap();
    keep(&mut store, &sample());
    let connection = Connection::open(&file).unwrap();
    let keys = |sql: &str| -> Vec<String> {
        let text: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text)
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(
        keys("SELECT rest FROM run"),
        ["evidence", "granted", "invalid", "judgements", "spec", "start_up"]
    );
    let of_point = ["counts", "data_check", "intervals", "nic_time", "pace", "reverse"];
    assert_eq!(keys("SELECT rest FROM point"), of_point);
}

#[test]
fn a_version_1_file_opens_and_reads() {
    let (_folder, file) = folder();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    Connection::open(&file)
        .unwrap()
        .execute_batch(include_str!("../../../fixtures/store-version-1.sql"))
        .unwrap();
    let store = Store::open(&file).unwrap();
    let campaign = store.load(1).unwrap();
    assert_eq!(campaign.runs.len(), 6);
    let point = &campaign.runs[0].record.points[0];
    assert_eq!(point.histogram.decode().unwrap().len(), point.latency_ns.count);
    let connection = Connection::open(&file).unwrap();
    assert_eq!(migrations::version(&connection).unwrap(), migrations::NEWEST);
}

#[test]
fn a_version_2_file_opens_and_its_campaign_makes_all_blocks() {
    let (_folder, file) = folder();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let connection = Connection::open(&file).unwrap();
    connection.execute_batch(include_str!("../../../fixtures/store-version-1.sql")).unwrap();
    connection.execute_batch(include_str!("../version-2.sql")).unwrap();
    connection.pragma_update(None, "user_version", 2).unwrap();
    drop(connection);
    let store = Store::open(&file).unwrap();
    let campaign = store.load(1).unwrap();
    assert_eq!((&campaign.design.stop, campaign.stopped), (&StopRule::AllBlocks, None));
    assert_eq!((campaign.state, campaign.factors.len()), (CampaignState::Finished, 0));
    assert_eq!(store.times(1).unwrap(), [], "what was not noted then is not made up now");
}

/// Makes a file of version 3 with a campaign that stopped early.
fn version_3(file: &std::path::Path) {
    let connection = Connection::open(file).unwrap();
    connection.execute_batch(include_str!("../../../fixtures/store-version-1.sql")).unwrap();
    connection.execute_batch(include_str!("../version-2.sql")).unwrap();
    connection.execute_batch(include_str!("../version-3.sql")).unwrap();
    connection
        .execute_batch(
            "UPDATE campaign SET stopped = 'decided'; UPDATE run SET took_ns = 7; PRAGMA user_version = 3",
        )
        .unwrap();
}

#[test]
fn a_version_3_file_opens_and_its_copies_are_known_as_one() {
    let (folder, _) = folder();
    let (one, two) = (folder.path().join("one.db"), folder.path().join("two.db"));
    version_3(&one);
    fs::copy(&one, &two).unwrap();
    let mut store = Store::open(&one).unwrap();
    let campaign = store.load(1).unwrap();
    assert_eq!((campaign.runs.len(), campaign.stopped), (6, Some(Stopped::Decided)));
    assert!(campaign.runs.iter().all(|run| run.pruned_at_unix_ms.is_none()));
    assert_eq!(store.times(1).unwrap().len(), 6);
    assert_eq!((store.suites().unwrap(), store.check().unwrap().problems), (vec![], vec![]));
    // It takes nights now, and a copy that was migrated by itself is not another campaign.
    let night = begin_night(&mut store, "s", 1_000);
    store.keep_values(night, &[value("write", 1.0)]).unwrap();
    drop(Store::open(&two).unwrap());
    let merged = store.merge(&two).unwrap();
    assert_eq!((merged.campaigns.added, merged.campaigns.known, merged.conflicts.len()), (0, 1, 0));
}

#[test]
fn a_campaign_that_stopped_early_is_finished_and_misses_nothing() {
    let (_folder, file) = folder();
    let mut campaign = sample();
    campaign.design.stop =
        StopRule::WhenDecided { first_look: 1, look_every: 1, max_time_ns: Some(Nanos(60_000_000_000)) };
    let mut store = Store::create_or_open(&file).unwrap();
    campaign.id = begin(&mut store, &campaign);
    campaign.runs.retain(|run| run.block == 0);
    for run in &campaign.runs {
        store.add_run(campaign.id, run.sequence, &run.record, Duration::from_millis(7)).unwrap();
    }
    let missing = store.missing_runs(campaign.id, false).unwrap().len();
    assert!(missing > 0 && store.newest_unfinished(&campaign.scenario).unwrap().is_some());
    store.stop(campaign.id, Stopped::Decided).unwrap();
    campaign.stopped = Some(Stopped::Decided);
    assert_eq!(Store::open(&file).unwrap().load(campaign.id).unwrap(), campaign);
    assert_eq!(store.missing_runs(campaign.id, false).unwrap(), []);
    assert_eq!(store.newest_unfinished(&campaign.scenario).unwrap(), None);
    let failed = campaign.runs.iter().filter(|run| !run.record.outcome.is_completed()).count();
    assert_eq!(
        store.missing_runs(campaign.id, true).unwrap().len(),
        failed,
        "and what failed can be made again"
    );
    let times = store.times(campaign.id).unwrap();
    assert_eq!(times, vec![(0, Duration::from_millis(7)); campaign.runs.len()]);
    assert!(store.stop(99, Stopped::Decided).is_err());
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let (_folder, file) = folder();
    drop(Store::create_or_open(&file).unwrap());
    Connection::open(&file).unwrap().pragma_update(None, "user_version", migrations::NEWEST + 1).unwrap();
    let before = fs::read(&file).unwrap();
    let error = Store::create_or_open(&file).err().unwrap();
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");
    assert!(error.to_string().contains("store.db") && error.to_string().contains("later one"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn foreign_files_are_refused_and_left_alone() {
    let (folder, _) = folder();
    let text = folder.path().join("notes.txt");
    fs::write(
        &text,
        "dear diary, this is no database, but it is long enough to be looked at as if it were one. "
            .repeat(20),
    )
    .unwrap();
    let before = fs::read(&text).unwrap();
    let error = Store::create_or_open(&text).err().unwrap();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    assert_eq!(fs::read(&text).unwrap(), before);

    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE song (title TEXT)").unwrap();
    let error = Store::create_or_open(&other).err().unwrap();
    assert!(error.to_string().contains("another program"), "{error}");
}

#[test]
fn a_store_that_is_not_there_is_not_made_by_reading() {
    let (_folder, file) = folder();
    assert!(matches!(Store::open(&file).err(), Some(StoreError::Missing { .. })));
    assert!(!file.exists());
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let error = Store::create_or_open("/proc/none/store.db".as_ref()).err().unwrap().to_string();
    assert!(error.contains("/proc/none") && error.contains("--store"), "{error}");
}

#[test]
fn one_process_measures_at_a_time() {
    let (_folder, file) = folder();
    let (one, two) = (Store::create_or_open(&file).unwrap(), Store::create_or_open(&file).unwrap());
    let lock = one.lock_to_measure().unwrap();
    assert!(matches!(two.lock_to_measure().err(), Some(StoreError::Busy { .. })));
    drop(lock);
    two.lock_to_measure().unwrap();
}

#[test]
fn an_unknown_campaign_is_named() {
    let (_folder, file) = folder();
    let store = Store::create_or_open(&file).unwrap();
    assert!(store.campaign_id(None).unwrap_err().to_string().contains("no campaign yet"));
    assert!(store.campaign_id(Some(4)).unwrap_err().to_string().contains("no campaign 4"));
}

#[test]
fn a_damaged_record_names_its_campaign() {
    let (_folder, file) = folder();
    let mut store = Store::create_or_open(&file).unwrap();
    let id = keep(&mut store, &sample());
    store.connection.execute("DELETE FROM metric WHERE name = 'latency_ns.count'", []).unwrap();
    let error = store.load(id).unwrap_err().to_string();
    assert!(error.contains("campaign 1: missing field `count`"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_numbers_come_back(bandwidth in any::<f64>().prop_filter("finite", |x| x.is_finite()), mean in 0.0f64..1e12, p99 in proptest::option::of(0u64..60_000_000_000)) {
        let (_folder, file) = folder();
        let mut campaign = Sample { blocks: 1, latencies: 20, ..Sample::default() }.campaign();
        let point = &mut campaign.runs[0].record.points[0];
        point.bandwidth_bits_per_sec = Some(bandwidth);
        point.latency_ns.mean = mean;
        point.latency_ns.p99 = p99;
        let mut store = Store::create_or_open(&file).unwrap();
        campaign.id = keep(&mut store, &campaign);
        prop_assert_eq!(store.load(campaign.id).unwrap(), campaign);
    }
}
