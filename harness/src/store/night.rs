//! Nights in the store: begun, filled with campaigns and values, ended, and found again.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use schema::{Night, NightCampaign, NightPart, Origin, Reported};

use super::{
    NewCampaign, Of, Store, StoreError, campaign,
    columns::{RowError, from_word, new_uid, word},
};

/// A night about to begin.
#[derive(Debug, Clone, Copy)]
pub struct NewNight<'n> {
    /// Name of the suite.
    pub suite: &'n str,
    /// The suite file as it is; empty for imported logs, which have none, and for clusters, which keep it themselves.
    pub suite_toml: &'n str,
    /// Where its values will come from.
    pub origin: Origin,
    /// Start, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
}

impl Store {
    /// Begins a night.
    pub fn begin_night(&mut self, new: &NewNight<'_>) -> Result<i64, StoreError> {
        self.write("writing the night to", Of::Night(0), |transaction| {
            insert(transaction, new, &new_uid()?, None)
        })
    }

    /// Begins a campaign of a night, as [`Store::begin`] does, in one transaction with its place in the night.
    pub fn begin_in_night(
        &mut self,
        night: i64,
        part: NightPart,
        new: &NewCampaign<'_>,
    ) -> Result<i64, StoreError> {
        self.known_night(night)?;
        self.write("writing the campaign to", Of::Night(night), |transaction| {
            let campaign = campaign::insert(transaction, new)?;
            let row = params![night, campaign, word(&part)?];
            transaction.execute("INSERT INTO night_campaign VALUES (?1, ?2, ?3)", row)?;
            Ok(campaign)
        })
    }

    /// Keeps what was said in a night, in the place of what was said in it before; all or nothing. The night of each is this one.
    pub fn keep_reported(&mut self, night: i64, reported: &[Reported]) -> Result<(), StoreError> {
        self.known_night(night)?;
        self.write("writing what was said in a night to", Of::Night(night), |transaction| {
            transaction.execute("DELETE FROM reported WHERE night = ?1", [night])?;
            for Reported { night: _, series, found_by, certainty, trend, since } in reported {
                transaction.execute(
                    "INSERT INTO reported VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![night, series, word(found_by)?, word(certainty)?, word(trend)?, since],
                )?;
            }
            Ok(())
        })
    }

    /// Keeps that a night came to its end, at a time in ms since 1970 UTC. From then on it is history.
    pub fn end_night(&mut self, night: i64, ended_at_unix_ms: u64) -> Result<(), StoreError> {
        self.known_night(night)?;
        self.write("writing the end of a night to", Of::Night(night), |transaction| {
            let row = params![night, ended_at_unix_ms as i64];
            transaction.execute("UPDATE night SET ended_at_unix_ms = ?2 WHERE id = ?1", row)?;
            Ok(())
        })
    }

    /// A night by its number.
    pub fn night(&self, id: i64) -> Result<Option<Night>, StoreError> {
        self.read("reading a night from", Of::Night(id), |connection| one(connection, "WHERE id = ?1", id))
    }

    /// The newest night of a suite, where it did not come to its end.
    pub fn unfinished_night(&self, suite: &str) -> Result<Option<Night>, StoreError> {
        let night = self.read("reading the nights of", Of::Suite(suite.to_owned()), |connection| {
            one(connection, "WHERE suite = ?1 ORDER BY started_at_unix_ms DESC, id DESC LIMIT 1", suite)
        })?;
        Ok(night.filter(|night| night.ended_at_unix_ms.is_none()))
    }

    /// The suite file a night began with; empty for imported logs.
    pub fn suite_text(&self, night: i64) -> Result<String, StoreError> {
        self.known_night(night)?;
        self.read("reading the suite of a night from", Of::Night(night), |connection| {
            Ok(connection
                .query_row("SELECT suite_toml FROM night WHERE id = ?1", [night], |row| row.get(0))?)
        })
    }

    /// Refuses a number that is no night's.
    pub(super) fn known_night(&self, night: i64) -> Result<(), StoreError> {
        match self.night(night)? {
            Some(_) => Ok(()),
            None => Err(StoreError::NoNight { file: self.file.clone(), suite: None, night }),
        }
    }
}

/// Writes a night that is known by `uid` everywhere.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    new: &NewNight<'_>,
    uid: &str,
    ended_at_unix_ms: Option<u64>,
) -> Result<i64, RowError> {
    transaction.execute(
        "INSERT INTO night (uid, suite, suite_toml, origin, started_at_unix_ms, ended_at_unix_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            uid,
            new.suite,
            new.suite_toml,
            word(&new.origin)?,
            new.started_at_unix_ms as i64,
            ended_at_unix_ms.map(|ms| ms as i64),
        ],
    )?;
    Ok(transaction.last_insert_rowid())
}

fn one(connection: &Connection, which: &str, by: impl rusqlite::ToSql) -> Result<Option<Night>, RowError> {
    let mut nights = list(connection, which, by)?;
    Ok(if nights.is_empty() { None } else { Some(nights.swap_remove(0)) })
}

/// The nights that `which` selects, with their campaigns.
pub(super) fn list(
    connection: &Connection,
    which: &str,
    by: impl rusqlite::ToSql,
) -> Result<Vec<Night>, RowError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT id, suite, origin, started_at_unix_ms, ended_at_unix_ms FROM night {which}"
    ))?;
    let mut rows = statement.query([by])?;
    let mut nights = Vec::new();
    while let Some(row) = rows.next()? {
        nights.push(night(connection, row)?);
    }
    Ok(nights)
}

fn night(connection: &Connection, row: &Row<'_>) -> Result<Night, RowError> {
    let id = row.get(0)?;
    let mut statement = connection
        .prepare_cached("SELECT campaign, part FROM night_campaign WHERE night = ?1 ORDER BY campaign")?;
    let mut rows = statement.query([id])?;
    let mut campaigns = Vec::new();
    while let Some(row) = rows.next()? {
        campaigns.push(NightCampaign { campaign: row.get(0)?, part: from_word(row.get(1)?)? });
    }
    let cluster = connection
        .prepare_cached("SELECT cluster FROM night_cluster WHERE night = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    Ok(Night {
        id,
        cluster,
        suite: row.get(1)?,
        origin: from_word(row.get(2)?)?,
        started_at_unix_ms: row.get::<_, i64>(3)? as u64,
        ended_at_unix_ms: row.get::<_, Option<i64>>(4)?.map(|ms| ms as u64),
        campaigns,
    })
}
