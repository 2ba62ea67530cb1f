//! Logs of other tools, kept as nights of their own: each log once, with all that it said.

use rusqlite::{Transaction, params};
use schema::Origin;
use serde::Serialize;

use super::{
    NewNight, NewValue, Of, Store, StoreError,
    columns::{RowError, json, sha256},
    night, value,
};

/// One measurement in a log of another tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignRun {
    /// The tool, such as `perftest`.
    pub engine: String,
    /// Name of the log.
    pub source: String,
    /// SHA-256 of the log, hex: a log is imported once.
    pub sha256: String,
    /// Where in it, from 1.
    pub line: u32,
    /// All that the log says about it.
    pub facts: serde_json::Value,
}

/// What logs say about one day.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignNight {
    /// Name of the suite that its values go to.
    pub suite: String,
    /// When it was measured, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
    /// The measurements.
    pub runs: Vec<ForeignRun>,
    /// What they say about series.
    pub values: Vec<NewValue>,
}

/// What an import added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ForeignAdded {
    /// The nights, in the order they were given.
    pub nights: Vec<i64>,
    /// Measurements in them.
    pub runs: usize,
    /// Values in them.
    pub values: usize,
}

impl Store {
    /// Whether a log of this SHA-256 (hex) is in the store.
    pub fn knows_file(&self, sha256: &str) -> Result<bool, StoreError> {
        self.connection
            .query_row("SELECT EXISTS (SELECT 1 FROM foreign_run WHERE sha256 = ?1)", [sha256], |row| {
                row.get(0)
            })
            .map_err(self.failed("looking for a log in"))
    }

    /// Adds nights of other tools' logs; all or nothing. A log that is known already is refused.
    pub fn add_foreign(&mut self, nights: &[ForeignNight]) -> Result<ForeignAdded, StoreError> {
        for run in nights.iter().flat_map(|night| &night.runs) {
            if self.knows_file(&run.sha256)? {
                return Err(StoreError::KnownLog {
                    file: self.file.clone(),
                    source_file: run.source.clone(),
                    sha256: run.sha256.clone(),
                });
            }
        }
        self.write("writing imported logs to", Of::Night(0), |transaction| {
            Ok(ForeignAdded {
                nights: nights.iter().map(|night| insert(transaction, night)).collect::<Result<_, _>>()?,
                runs: nights.iter().map(|night| night.runs.len()).sum(),
                values: nights.iter().map(|night| night.values.len()).sum(),
            })
        })
    }
}

fn insert(transaction: &Transaction<'_>, new: &ForeignNight) -> Result<i64, RowError> {
    let head = NewNight {
        suite: &new.suite,
        suite_toml: "",
        origin: Origin::Imported,
        started_at_unix_ms: new.started_at_unix_ms,
    };
    let id = night::insert(transaction, &head, &uid(new)?, Some(new.started_at_unix_ms))?;
    let mut statement = transaction.prepare_cached(
        "INSERT INTO foreign_run (night, engine, source, sha256, line, facts) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for run in &new.runs {
        statement.execute(params![id, run.engine, run.source, run.sha256, run.line, json(&run.facts)?])?;
    }
    new.values.iter().try_for_each(|new| value::insert(transaction, id, new))?;
    Ok(id)
}

/// The same logs are the same night in every store they are imported into.
fn uid(night: &ForeignNight) -> Result<String, RowError> {
    let runs: Vec<(&str, u32)> = night.runs.iter().map(|run| (run.sha256.as_str(), run.line)).collect();
    let digest = sha256(json(&(&night.suite, night.started_at_unix_ms, runs))?);
    Ok(format!("imported-{digest}"))
}
