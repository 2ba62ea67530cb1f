//! What nights say about series: written once, with the series and the configuration under numbers of their own.

use rusqlite::{OptionalExtension, Transaction, params};
use schema::{Configuration, Limit, SeriesKey};

use super::{
    Of, Store, StoreError,
    columns::{RowError, finite, json, sha256, word},
};

/// What a night says about a series, as [`schema::NightValue`] has it, with the series and the configuration themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct NewValue {
    /// The series.
    pub key: SeriesKey,
    /// What it was measured with.
    pub configuration: Configuration,
    /// The median of `runs`; none where too few were valid.
    pub value: Option<f64>,
    /// The valid runs, in time order.
    pub runs: Vec<f64>,
    /// Runs whose numbers are not used.
    pub failed_runs: u32,
    /// Why not, the first of them in words.
    pub failure: Option<String>,
    /// The runs made again the same night.
    pub confirm_runs: Vec<f64>,
    /// What it must reach.
    pub limit: Option<Limit>,
    /// What is wrong with link or counters.
    pub faults: Vec<String>,
}

impl Store {
    /// Keeps what a night says about these series, in the place of what it said about them before; all or nothing.
    pub fn keep_values(&mut self, night: i64, values: &[NewValue]) -> Result<(), StoreError> {
        self.known_night(night)?;
        self.write("writing the values of a night to", Of::Night(night), |transaction| {
            values.iter().try_for_each(|value| insert(transaction, night, value))
        })
    }
}

/// Writes a value in the place of what the night had of its series.
pub(super) fn insert(transaction: &Transaction<'_>, night: i64, new: &NewValue) -> Result<(), RowError> {
    finite("value", new.value)?;
    finite("runs", new.runs.iter().chain(&new.confirm_runs).copied())?;
    finite("limit", new.limit.as_ref().map(|limit| limit.worst))?;
    let row = params![
        night,
        series(transaction, &new.key)?,
        new.value,
        json(&new.runs)?,
        new.failed_runs,
        new.failure,
        json(&new.confirm_runs)?,
        configuration(transaction, &new.configuration)?,
        new.limit.as_ref().map(json).transpose()?,
        json(&new.faults)?,
    ];
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO night_value VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(row)?;
    Ok(())
}

/// The number of a series, which it gets with its first value.
fn series(transaction: &Transaction<'_>, key: &SeriesKey) -> Result<i64, RowError> {
    let (fabric, metric) = (word(&key.fabric)?, word(&key.metric)?);
    let msg_bytes = i64::try_from(key.msg_bytes.get()).map_err(|_| RowError::Shape("msg_bytes".into()))?;
    let row = params![
        key.engine,
        fabric,
        key.scenario,
        key.workload,
        key.variant,
        msg_bytes,
        metric,
        key.requester.host,
        key.requester.device,
        key.responder.host,
        key.responder.device,
    ];
    let known = transaction
        .prepare_cached(
            "SELECT id FROM series WHERE (engine, fabric, scenario, workload, variant, msg_bytes, metric,
                 requester_host, requester_device, responder_host, responder_device)
                 = (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .query_row(row, |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    transaction
        .prepare_cached("INSERT INTO series VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?
        .execute(row)?;
    Ok(transaction.last_insert_rowid())
}

/// The number of a configuration, which it gets with the first value that has it.
fn configuration(transaction: &Transaction<'_>, configuration: &Configuration) -> Result<i64, RowError> {
    let facts = json(configuration)?;
    let digest = sha256(&facts);
    transaction
        .prepare_cached("INSERT OR IGNORE INTO configuration (sha256, facts) VALUES (?1, ?2)")?
        .execute(params![digest, facts])?;
    let mut statement = transaction.prepare_cached("SELECT id FROM configuration WHERE sha256 = ?1")?;
    Ok(statement.query_row([digest], |row| row.get(0))?)
}
