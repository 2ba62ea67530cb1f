//! Whether a store is whole: its pages, its references, every record, every histogram, every value of a night,
//! every pair of a cluster.

use reports::compare::median;
use rusqlite::{Connection, Error, ffi};
use schema::{EncodedHistogram, History, LatencySummary, Point, RunRecord};
use serde::Serialize;

use super::{
    Of, Store, StoreError, campaign, cluster::check::of_clusters, columns::RowError, migrations, record,
};

/// How far a value may lie from the median of its runs: what adding two numbers in another order does.
const ROUNDING: f64 = 1e-12;

/// What was looked at, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Checked {
    /// Version of the store's schema.
    pub store_version: i64,
    /// Bytes on disk, log included.
    pub bytes: u64,
    /// Campaigns.
    pub campaigns: u64,
    /// Tries of runs, all read back.
    pub runs: u64,
    /// Of them, without samples, time series and evidence.
    pub pruned_runs: u64,
    /// Histograms that were decoded.
    pub histograms: u64,
    /// Nights.
    pub nights: u64,
    /// Values of nights.
    pub values: u64,
    /// Clusters.
    pub clusters: u64,
    /// Runs of pairs of clusters, all read back.
    pub pair_runs: u64,
    /// Of them, without their records.
    pub pruned_pair_runs: u64,
    /// What is wrong, in words; empty where nothing is.
    pub problems: Vec<String>,
}

impl Store {
    /// Looks at everything in the store. What is wrong is in the answer; an error is a store that can't be looked at.
    pub fn check(&self) -> Result<Checked, StoreError> {
        let mut checked =
            Checked { store_version: migrations::NEWEST, bytes: self.bytes(), ..Checked::default() };
        let read = |checked: &mut Checked| -> Result<(), StoreError> {
            self.read("checking", Of::Store, |connection| {
                checked.problems.extend(of_pages(connection)?);
                of_campaigns(connection, checked)?;
                of_clusters(connection, checked)
            })?;
            for suite in self.suites()? {
                checked.nights += u64::from(suite.nights + suite.unfinished);
                match self.history(&suite.name, None) {
                    Ok(history) => of_values(&history, checked),
                    Err(error) => checked.problems.push(error.to_string()),
                }
            }
            Ok(())
        };
        match read(&mut checked) {
            // Pages that can't be followed end the reading, and are an answer.
            Err(StoreError::Sqlite { cause, .. })
                if cause.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt) =>
            {
                checked.problems.push(format!("what lies behind could not be read: {cause}"));
            }
            other => other?,
        }
        Ok(checked)
    }
}

/// Refuses a file whose pages do not hold together.
pub(super) fn whole(connection: &Connection) -> rusqlite::Result<()> {
    match of_pages(connection)?.into_iter().next() {
        None => Ok(()),
        Some(problem) => Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(problem))),
    }
}

fn of_pages(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    let lines: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .filter(|line| line.as_ref() != Ok(&"ok".to_owned()))
        .collect::<Result<_, _>>()?;
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    let dangling = statement.query_map([], |row| {
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        Ok(format!("a row of {table} names a row of {parent} that is not there"))
    })?;
    lines.into_iter().map(Ok).chain(dangling).collect()
}

fn of_campaigns(connection: &Connection, checked: &mut Checked) -> Result<(), RowError> {
    let mut campaigns = connection.prepare("SELECT id, uid IS NOT NULL FROM campaign ORDER BY id")?;
    let mut runs = connection.prepare(
        "SELECT id, sequence, try, pruned_at_unix_ms IS NOT NULL FROM run WHERE campaign = ?1 ORDER BY id",
    )?;
    let mut rows = campaigns.query([])?;
    while let Some(row) = rows.next()? {
        let (id, known): (i64, bool) = (row.get(0)?, row.get(1)?);
        checked.campaigns += 1;
        if !known {
            checked.problems.push(format!("campaign {id} has no uid"));
        }
        if let Err(cause) = campaign::load_head(connection, id) {
            checked.problems.push(format!("campaign {id}: {cause}"));
        }
        let mut rows = runs.query([id])?;
        while let Some(row) = rows.next()? {
            let (run, sequence, attempt): (i64, u32, u32) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let pruned = row.get(3)?;
            checked.runs += 1;
            checked.pruned_runs += u64::from(pruned);
            let problems = match record::load(connection, run) {
                Ok(record) => of_record(&record, pruned, &mut checked.histograms),
                Err(cause) => vec![cause.to_string()],
            };
            let named = |cause| format!("campaign {id}, run {}, try {}: {cause}", sequence + 1, attempt + 1);
            checked.problems.extend(problems.into_iter().map(named));
        }
    }
    Ok(())
}

/// Every histogram must decode, and hold as many samples as were published of it.
pub(super) fn of_record(record: &RunRecord, pruned: bool, decoded: &mut u64) -> Vec<String> {
    let mut problems = Vec::new();
    for point in &record.points {
        for (histogram, summary) in histograms(point) {
            *decoded += 1;
            match histogram.decode() {
                Ok(histogram) if !pruned && histogram.len() != summary.count => problems.push(format!(
                    "a histogram at {} holds {} samples of {} that were published",
                    point.msg_bytes,
                    histogram.len(),
                    summary.count
                )),
                Ok(_) => {}
                Err(cause) => problems.push(format!("at {}: {cause}", point.msg_bytes)),
            }
        }
    }
    problems
}

fn histograms(point: &Point) -> Vec<(&EncodedHistogram, &LatencySummary)> {
    let mut all = vec![(&point.histogram, &point.latency_ns)];
    all.extend(point.completion_histogram.as_ref().zip(point.completion_latency_ns.as_ref()));
    all.extend(point.reverse.as_ref().map(|reverse| (&reverse.histogram, &reverse.latency_ns)));
    if let Some(nic) = &point.nic_time {
        all.push((&nic.nic_histogram, &nic.nic_latency_ns));
        all.push((&nic.software_histogram, &nic.software_latency_ns));
    }
    all
}

/// Every value is the median of its runs.
fn of_values(history: &History, checked: &mut Checked) {
    for series in &history.series {
        for night in &series.values {
            checked.values += 1;
            let (Some(value), Some(median)) = (night.value, median(&night.runs)) else { continue };
            if (value - median).abs() > ROUNDING * median.abs() {
                checked.problems.push(format!(
                    "night {}, {}: the value {value} is not the median of its runs, {median}",
                    night.night, series.key
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use reports::testing::Sample;

    use super::*;
    use crate::store::{
        NewCampaign,
        tests::{begin_night, fill, plan_of, value},
    };

    fn store(folder: &std::path::Path) -> Store {
        let mut store = Store::create_or_open(&folder.join("store.db")).unwrap();
        let mut campaign = Sample { blocks: 1, latencies: 100, ..Sample::default() }.campaign();
        let plan = plan_of(&campaign);
        campaign.id = store.begin(&NewCampaign { plan: &plan, started_at_unix_ms: 1 }).unwrap();
        fill(&mut store, &campaign);
        let night = begin_night(&mut store, "s", 1_000);
        store.keep_values(night, &[value("write", 1.0)]).unwrap();
        store.end_night(night, 2_000).unwrap();
        store
    }

    #[test]
    fn a_whole_store_has_no_problems() {
        let folder = tempfile::tempdir().unwrap();
        let checked = store(folder.path()).check().unwrap();
        assert_eq!(checked.problems, [""; 0]);
        assert_eq!((checked.campaigns, checked.runs, checked.histograms), (1, 3, 3));
        assert_eq!((checked.nights, checked.values), (1, 1));
    }

    #[test]
    fn every_kind_of_damage_is_named_with_its_place() {
        let damages = [
            ("UPDATE campaign SET gates = '{'", "campaign 1: invalid type"),
            ("UPDATE run SET rest = '{}' WHERE sequence = 1", "campaign 1, run 2, try 1: missing field"),
            ("UPDATE histogram SET hdr_v2_deflate = x'00'", "histogram is not HdrHistogram V2"),
            (
                "UPDATE metric SET value = 99 WHERE name = 'latency_ns.count'",
                "samples of 99 that were published",
            ),
            ("UPDATE night_value SET value = 2.0", "night 1, nightly-write/write/deep/64Ki/bandwidth"),
            ("UPDATE night_value SET runs = 'no'", "the nights of s"),
            ("PRAGMA foreign_keys = OFF; DELETE FROM series", "a row of night_value names a row of series"),
            ("UPDATE campaign SET uid = NULL", "campaign 1 has no uid"),
        ];
        for (sql, expected) in damages {
            let folder = tempfile::tempdir().unwrap();
            let store = store(folder.path());
            store.connection.execute_batch(sql).unwrap();
            let problems =
                store.check().map_or_else(|error| vec![error.to_string()], |checked| checked.problems);
            assert!(problems.iter().any(|problem| problem.contains(expected)), "{sql}: {problems:#?}");
        }
    }
}
