//! What people say about nights: notes, changes they know of, and nights they pin by a name.

use rusqlite::{Connection, OptionalExtension, Row, params};
use schema::{Acknowledgement, Baseline, Night, Note};

use super::{Of, Store, StoreError, columns::RowError};

impl Store {
    /// Keeps a remark about a night, and about one series of it where one is given; its number comes back. The time is in ms
    /// since 1970 UTC.
    pub fn add_note(
        &mut self,
        night: i64,
        series: Option<i64>,
        text: &str,
        written_at_unix_ms: u64,
    ) -> Result<i64, StoreError> {
        self.known_night(night)?;
        series.map_or(Ok(()), |series| self.known_series(series))?;
        self.write("writing a note to", Of::Night(night), |transaction| {
            transaction.execute(
                "INSERT INTO note (night, series, text, written_at_unix_ms) VALUES (?1, ?2, ?3, ?4)",
                params![night, series, text, written_at_unix_ms as i64],
            )?;
            Ok(transaction.last_insert_rowid())
        })
    }

    /// Keeps that a change of a series is known, from the first night of the changed level; its number comes back. The time is
    /// in ms since 1970 UTC.
    pub fn add_acknowledgement(
        &mut self,
        series: i64,
        night: i64,
        reason: &str,
        written_at_unix_ms: u64,
    ) -> Result<i64, StoreError> {
        self.known_night(night)?;
        self.known_series(series)?;
        self.write("writing an acknowledgement to", Of::Night(night), |transaction| {
            transaction.execute(
                "INSERT INTO acknowledgement (series, night, reason, written_at_unix_ms) VALUES (?1, ?2, ?3, ?4)",
                params![series, night, reason, written_at_unix_ms as i64],
            )?;
            Ok(transaction.last_insert_rowid())
        })
    }

    /// Takes a remark back; whether there was one of this number comes back.
    pub fn remove_note(&mut self, id: i64) -> Result<bool, StoreError> {
        self.write("removing a note from", Of::Remark(id), |transaction| {
            Ok(transaction.execute("DELETE FROM note WHERE id = ?1", [id])? > 0)
        })
    }

    /// Takes back that a change is known; whether there was an acknowledgement of this number comes back.
    pub fn remove_acknowledgement(&mut self, id: i64) -> Result<bool, StoreError> {
        self.write("removing an acknowledgement from", Of::Remark(id), |transaction| {
            Ok(transaction.execute("DELETE FROM acknowledgement WHERE id = ?1", [id])? > 0)
        })
    }

    /// Pins a night of a suite by a name; the night that had the name before comes back. The time is in ms since 1970 UTC.
    pub fn set_baseline(
        &mut self,
        suite: &str,
        name: &str,
        night: i64,
        set_at_unix_ms: u64,
    ) -> Result<Option<i64>, StoreError> {
        if self.night(night)?.is_none_or(|night| night.suite != suite) {
            return Err(StoreError::NoNight {
                file: self.file.clone(),
                suite: Some(suite.to_owned()),
                night,
            });
        }
        self.write("writing a baseline to", Of::Night(night), |transaction| {
            let before = transaction
                .query_row(
                    "SELECT night FROM baseline WHERE suite = ?1 AND name = ?2",
                    [suite, name],
                    |row| row.get(0),
                )
                .optional()?;
            let row = params![suite, name, night, set_at_unix_ms as i64];
            transaction.execute("INSERT OR REPLACE INTO baseline VALUES (?1, ?2, ?3, ?4)", row)?;
            Ok(before)
        })
    }

    /// Takes a name off the night it pins; whether there was such a name comes back.
    pub fn remove_baseline(&mut self, suite: &str, name: &str) -> Result<bool, StoreError> {
        self.write("removing a baseline from", Of::Suite(suite.to_owned()), |transaction| {
            Ok(transaction.execute("DELETE FROM baseline WHERE suite = ?1 AND name = ?2", [suite, name])? > 0)
        })
    }

    fn known_series(&self, series: i64) -> Result<(), StoreError> {
        let known = self
            .connection
            .query_row("SELECT 1 FROM series WHERE id = ?1", [series], |_| Ok(()))
            .optional()
            .map_err(self.failed("reading a series from"))?;
        known.ok_or_else(|| StoreError::NoSeries { file: self.file.clone(), series })
    }
}

/// What people said about the nights of a suite.
pub(super) struct Remarks {
    pub(super) notes: Vec<Note>,
    pub(super) acknowledgements: Vec<Acknowledgement>,
    pub(super) baselines: Vec<Baseline>,
}

/// The remarks about these nights of a suite.
pub(super) fn of(connection: &Connection, suite: &str, nights: &[Night]) -> Result<Remarks, RowError> {
    let seen: std::collections::HashSet<i64> = nights.iter().map(|night| night.id).collect();
    let mut notes = select(
        connection,
        suite,
        "SELECT note.id, night, series, text, written_at_unix_ms FROM note JOIN night ON night.id = night
         WHERE suite = ?1 ORDER BY note.id",
        note,
    )?;
    notes.retain(|note| seen.contains(&note.night));
    let mut acknowledgements = select(
        connection,
        suite,
        "SELECT a.id, series, night, reason, written_at_unix_ms FROM acknowledgement a JOIN night ON night.id = night
         WHERE suite = ?1 ORDER BY a.id",
        acknowledgement,
    )?;
    acknowledgements.retain(|acknowledgement| seen.contains(&acknowledgement.night));
    let mut baselines = select(
        connection,
        suite,
        "SELECT name, night, set_at_unix_ms FROM baseline WHERE suite = ?1 ORDER BY name",
        baseline,
    )?;
    baselines.retain(|baseline| seen.contains(&baseline.night));
    Ok(Remarks { notes, acknowledgements, baselines })
}

fn select<T>(
    connection: &Connection,
    suite: &str,
    sql: &str,
    row: fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, RowError> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([suite], row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    Ok(Note {
        id: row.get(0)?,
        night: row.get(1)?,
        series: row.get(2)?,
        text: row.get(3)?,
        written_at_unix_ms: row.get::<_, i64>(4)? as u64,
    })
}

fn acknowledgement(row: &Row<'_>) -> rusqlite::Result<Acknowledgement> {
    Ok(Acknowledgement {
        id: row.get(0)?,
        series: row.get(1)?,
        night: row.get(2)?,
        reason: row.get(3)?,
        written_at_unix_ms: row.get::<_, i64>(4)? as u64,
    })
}

fn baseline(row: &Row<'_>) -> rusqlite::Result<Baseline> {
    Ok(Baseline { name: row.get(0)?, night: row.get(1)?, set_at_unix_ms: row.get::<_, i64>(2)? as u64 })
}
