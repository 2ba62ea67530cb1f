//! Merging adds what is new, once, and leaves what it can't decide.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pretty_assertions::assert_eq;
use reports::testing::Sample;
use schema::{Campaign, Certainty, FoundBy, NightPart, Reported, Trend};

use super::*;
use crate::store::{
    NewCampaign, migrations,
    tests::{begin_night, fill, plan_of, value},
};

/// A store with one night of one campaign, with something of everything said about it.
fn host(folder: &Path, name: &str, started_at_unix_ms: u64) -> (PathBuf, Store, Campaign) {
    let file = folder.join(name);
    let mut store = Store::create_or_open(&file).unwrap();
    let night = begin_night(&mut store, "s", started_at_unix_ms);
    let mut campaign = Sample { blocks: 1, latencies: 100, ..Sample::default() }.campaign();
    let plan = plan_of(&campaign);
    let new = NewCampaign { plan: &plan, started_at_unix_ms };
    campaign.id = store.begin_in_night(night, NightPart::First, &new).unwrap();
    campaign.started_at_unix_ms = started_at_unix_ms;
    fill(&mut store, &campaign);
    store.keep_values(night, &[value(name, 1.0), value("both", 2.0)]).unwrap();
    store.end_night(night, started_at_unix_ms + 1).unwrap();
    let series = store.history("s", None).unwrap().series[0].id;
    let reported = Reported {
        night,
        series,
        found_by: FoundBy::Fence,
        certainty: Certainty::Confirmed,
        trend: Trend::Regressed,
        since: night,
    };
    store.keep_reported(night, &[reported]).unwrap();
    store.add_note(night, None, "about all", 5).unwrap();
    store.add_note(night, Some(series), "about one", 5).unwrap();
    store.add_acknowledgement(series, night, "known", 6).unwrap();
    store.set_baseline("s", name, night, 7).unwrap();
    (file, store, campaign)
}

fn tally(added: usize, known: usize) -> Tally {
    Tally { added, known }
}

#[test]
fn what_another_host_measured_is_added_once() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut ours, _) = host(folder.path(), "one", 1_000);
    let (file, theirs, mut campaign) = host(folder.path(), "two", 2_000);
    let merged = ours.merge(&file).unwrap();
    assert_eq!((merged.campaigns, merged.runs), (tally(1, 0), tally(campaign.runs.len(), 0)));
    assert_eq!((merged.nights, merged.values, merged.remarks), (tally(1, 0), tally(2, 0), tally(4, 0)));
    assert_eq!(merged.conflicts, [""; 0]);

    campaign.id = 2;
    assert_eq!(ours.load(2).unwrap(), campaign);
    let (history, before) = (ours.history("s", None).unwrap(), theirs.history("s", None).unwrap());
    assert_eq!((history.nights.len(), history.series.len(), history.configurations.len()), (2, 3, 1));
    assert_eq!((history.notes.len(), history.acknowledgements.len(), history.baselines.len()), (4, 2, 2));
    assert_eq!(history.nights[1].campaigns[0].campaign, 2);
    let said = history.reported.iter().find(|reported| reported.night == history.nights[1].id).unwrap();
    let key = |history: &schema::History, id| {
        history.series.iter().find(|series| series.id == id).unwrap().key.clone()
    };
    assert_eq!(key(&history, said.series), key(&before, before.reported[0].series));
    assert_eq!(ours.check().unwrap().problems, [""; 0]);

    let again = ours.merge(&file).unwrap();
    assert_eq!((again.campaigns, again.runs), (tally(0, 1), tally(0, campaign.runs.len())));
    assert_eq!((again.nights, again.values, again.remarks), (tally(0, 1), tally(0, 2), tally(0, 4)));
    assert_eq!(ours.history("s", None).unwrap(), history);
}

#[test]
fn a_night_that_was_in_progress_is_brought_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("theirs");
    let mut theirs = Store::create_or_open(&file).unwrap();
    let campaign = Sample { blocks: 1, latencies: 100, ..Sample::default() }.campaign();
    let plan = plan_of(&campaign);
    let night = begin_night(&mut theirs, "s", 1_000);
    let id = theirs.begin_in_night(
        night,
        NightPart::First,
        &NewCampaign { plan: &plan, started_at_unix_ms: 1_000 },
    );
    let campaign = Campaign { id: id.unwrap(), started_at_unix_ms: 1_000, ..campaign };
    let (last, first) = campaign.runs.split_last().unwrap();
    fill(&mut theirs, &Campaign { runs: first.to_vec(), ..campaign.clone() });
    theirs.keep_values(night, &[value("write", 1.0)]).unwrap();

    let mut ours = Store::create_or_open(&folder.path().join("ours")).unwrap();
    ours.merge(&file).unwrap();
    assert!(ours.unfinished_night("s").unwrap().is_some());
    fill(&mut theirs, &Campaign { runs: vec![last.clone()], ..campaign.clone() });
    theirs.keep_values(night, &[value("write", 3.0), value("read", 4.0)]).unwrap();
    theirs.end_night(night, 2_000).unwrap();
    let merged = ours.merge(&file).unwrap();
    assert_eq!((merged.runs, merged.nights), (tally(1, first.len()), tally(0, 1)));
    assert_eq!(ours.load(1).unwrap(), campaign);
    assert_eq!(ours.history("s", None).unwrap().series, theirs.history("s", None).unwrap().series);
}

#[test]
fn what_both_know_and_tell_differently_is_named_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut ours, _) = host(folder.path(), "one", 1_000);
    let copy = folder.path().join("copy");
    ours.backup(&copy, false).unwrap();
    let theirs = Connection::open(&copy).unwrap();
    theirs.execute_batch("UPDATE night_value SET value = 9; UPDATE run SET wall_ns = wall_ns + 1").unwrap();
    drop(theirs);
    let before = ours.history("s", None).unwrap();
    let merged = ours.merge(&copy).unwrap();
    let expected = [
        "campaign 1 there is campaign 1 here, with other runs; none of its runs were added",
        "night 1 there is night 1 here, with other values",
    ];
    assert_eq!(merged.conflicts[..2], expected);
    assert_eq!((merged.campaigns, merged.nights, merged.values), (tally(0, 0), tally(0, 0), tally(0, 0)));
    assert_eq!(ours.history("s", None).unwrap(), before);
}

#[test]
fn an_older_file_is_merged_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.db");
    let connection = Connection::open(&file).unwrap();
    connection.execute_batch(include_str!("../../../fixtures/store-version-1.sql")).unwrap();
    drop(connection);
    let before = fs::read(&file).unwrap();
    let mut ours = Store::create_or_open(&folder.path().join("ours.db")).unwrap();
    assert_eq!(ours.merge(&file).unwrap().campaigns, tally(1, 0));
    assert_eq!(ours.merge(&file).unwrap().campaigns, tally(0, 1));
    assert_eq!(ours.load(1).unwrap().runs.len(), 6);
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(
        fs::read_dir(folder.path())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("old.db") })
            .count(),
        1,
        "nothing was made beside it"
    );
}

#[test]
fn a_file_that_is_no_store_or_a_newer_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut ours = Store::create_or_open(&folder.path().join("ours.db")).unwrap();
    let newer = folder.path().join("newer.db");
    drop(Store::create_or_open(&newer).unwrap());
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", migrations::NEWEST + 1).unwrap();
    assert!(matches!(ours.merge(&newer), Err(StoreError::Newer { .. })));
    let other = folder.path().join("other.db");
    fs::write(&other, "no database at all").unwrap();
    assert!(matches!(ours.merge(&other), Err(StoreError::Foreign { .. })));
    assert!(matches!(ours.merge(&folder.path().join("none.db")), Err(StoreError::Missing { .. })));
    assert_eq!(ours.check().unwrap().campaigns, 0);
}
