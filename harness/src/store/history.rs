//! The history of a suite, read from the store in one pass over its nights.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry};

use rusqlite::{Connection, Row};
use schema::{
    Bytes, Configuration, Endpoint, History, Limit, Night, NightValue, Reported, SCHEMA_VERSION, Series,
    SeriesKey,
};
use serde::Serialize;

use super::{
    Of, Store, StoreError,
    columns::{RowError, from_json, from_word},
    night, remarks,
};

/// What a list of suites shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SuiteHead {
    /// Name of the suite.
    pub name: String,
    /// Nights that came to their end.
    pub nights: u32,
    /// Nights that did not.
    pub unfinished: u32,
    /// Start of the first night, ms since 1970 UTC.
    pub first_started_at_unix_ms: u64,
    /// Start of the last night, ms since 1970 UTC.
    pub last_started_at_unix_ms: u64,
    /// Series that any of its nights measured.
    pub series: u32,
}

impl Store {
    /// Every suite, by name.
    pub fn suites(&self) -> Result<Vec<SuiteHead>, StoreError> {
        let read = || -> rusqlite::Result<Vec<SuiteHead>> {
            let mut statement = self.connection.prepare(
                "SELECT suite, count(ended_at_unix_ms), count(*) - count(ended_at_unix_ms), min(started_at_unix_ms),
                     max(started_at_unix_ms),
                     (SELECT count(DISTINCT series) FROM night_value JOIN night n ON n.id = night WHERE n.suite = night.suite)
                 FROM night GROUP BY suite ORDER BY suite",
            )?;
            statement.query_map([], head)?.collect()
        };
        read().map_err(self.failed("listing the suites of"))
    }

    /// Everything a suite has measured, and what was said about it. Nights that did not come to their end are left out, but for
    /// `including`: the night that is being judged.
    pub fn history(&self, suite: &str, including: Option<i64>) -> Result<History, StoreError> {
        self.read("reading the history of", Of::Suite(suite.to_owned()), |connection| {
            let nights: Vec<Night> =
                night::list(connection, "WHERE suite = ?1 ORDER BY started_at_unix_ms, id", suite)?
                    .into_iter()
                    .filter(|night| night.ended_at_unix_ms.is_some() || including == Some(night.id))
                    .collect();
            let remarks = remarks::of(connection, suite, &nights)?;
            let (series, configurations) = values(connection, &nights)?;
            let reported = reported(connection, &nights)?;
            Ok(History {
                schema_version: SCHEMA_VERSION,
                suite: suite.to_owned(),
                configurations,
                series,
                notes: remarks.notes,
                acknowledgements: remarks.acknowledgements,
                baselines: remarks.baselines,
                reported,
                nights,
            })
        })
    }
}

fn head(row: &Row<'_>) -> rusqlite::Result<SuiteHead> {
    Ok(SuiteHead {
        name: row.get(0)?,
        nights: row.get(1)?,
        unfinished: row.get(2)?,
        first_started_at_unix_ms: row.get::<_, i64>(3)? as u64,
        last_started_at_unix_ms: row.get::<_, i64>(4)? as u64,
        series: row.get(5)?,
    })
}

type Values = (Vec<Series>, BTreeMap<i64, Configuration>);

/// The values of these nights, by series in the order they were first measured, and the configurations they have.
fn values(connection: &Connection, nights: &[Night]) -> Result<Values, RowError> {
    let mut statement = connection.prepare(
        "SELECT series, value, runs, failed_runs, failure, confirm_runs, configuration, value_limit, faults
         FROM night_value WHERE night = ?1 ORDER BY series",
    )?;
    let mut all: Vec<Series> = Vec::new();
    let mut places: HashMap<i64, usize> = HashMap::new();
    for night in nights {
        let mut rows = statement.query([night.id])?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            let place = match places.entry(id) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    all.push(Series { id, key: key(connection, id)?, values: Vec::new() });
                    *new.insert(all.len() - 1)
                }
            };
            all[place].values.push(value(night.id, row)?);
        }
    }
    let known: BTreeSet<i64> =
        all.iter().flat_map(|series| &series.values).map(|value| value.configuration).collect();
    let configurations: Result<_, RowError> =
        known.into_iter().map(|id| Ok((id, configuration(connection, id)?))).collect();
    Ok((all, configurations?))
}

fn value(night: i64, row: &Row<'_>) -> Result<NightValue, RowError> {
    let limit: Option<Limit> = row.get_ref(7)?.as_str_or_null()?.map(from_json).transpose()?;
    Ok(NightValue {
        night,
        value: row.get(1)?,
        runs: from_json(row.get_ref(2)?.as_str()?)?,
        failed_runs: row.get(3)?,
        failure: row.get(4)?,
        confirm_runs: from_json(row.get_ref(5)?.as_str()?)?,
        configuration: row.get(6)?,
        limit,
        faults: from_json(row.get_ref(8)?.as_str()?)?,
    })
}

/// What a series is.
pub(super) fn key(connection: &Connection, id: i64) -> Result<SeriesKey, RowError> {
    let mut statement = connection.prepare_cached("SELECT * FROM series WHERE id = ?1")?;
    let mut rows = statement.query([id])?;
    let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    Ok(SeriesKey {
        engine: row.get("engine")?,
        fabric: from_word(row.get("fabric")?)?,
        scenario: row.get("scenario")?,
        workload: row.get("workload")?,
        variant: row.get("variant")?,
        msg_bytes: Bytes(row.get::<_, i64>("msg_bytes")? as u64),
        metric: from_word(row.get("metric")?)?,
        requester: Endpoint { host: row.get("requester_host")?, device: row.get("requester_device")? },
        responder: Endpoint { host: row.get("responder_host")?, device: row.get("responder_device")? },
    })
}

fn configuration(connection: &Connection, id: i64) -> Result<Configuration, RowError> {
    let mut statement = connection.prepare_cached("SELECT facts FROM configuration WHERE id = ?1")?;
    let facts: String = statement.query_row([id], |row| row.get(0))?;
    from_json(&facts)
}

/// What was said in these nights, in their order.
fn reported(connection: &Connection, nights: &[Night]) -> Result<Vec<Reported>, RowError> {
    let mut statement = connection.prepare(
        "SELECT series, found_by, certainty, trend, since FROM reported WHERE night = ?1 ORDER BY series, found_by",
    )?;
    let mut all = Vec::new();
    for night in nights {
        let mut rows = statement.query([night.id])?;
        while let Some(row) = rows.next()? {
            all.push(Reported {
                night: night.id,
                series: row.get(0)?,
                found_by: from_word(row.get(1)?)?,
                certainty: from_word(row.get(2)?)?,
                trend: from_word(row.get(3)?)?,
                since: row.get(4)?,
            });
        }
    }
    Ok(all)
}
