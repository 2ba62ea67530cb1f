//! Brings what other stores hold into this one: campaigns, nights and clusters by their `uid`, everything else by what it is. Merging a
//! file twice adds nothing the second time; where both files know a thing and disagree, this one keeps its own and says so.

mod campaigns;
mod clusters;
mod nights;

use std::path::Path;

use rusqlite::{Connection, Transaction};
use serde::Serialize;

use super::{Of, Store, StoreError, columns::RowError, read_only};

/// What a merge did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Merged {
    /// Campaigns.
    pub campaigns: Tally,
    /// Tries of runs.
    pub runs: Tally,
    /// Nights.
    pub nights: Tally,
    /// Values of nights.
    pub values: Tally,
    /// Clusters.
    pub clusters: Tally,
    /// Rounds of clusters.
    pub rounds: Tally,
    /// Notes, acknowledgements and baselines.
    pub remarks: Tally,
    /// What both files know and tell differently, in words; it was left as this store has it.
    pub conflicts: Vec<String>,
}

/// Of one kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// New to this store.
    pub added: usize,
    /// In it already.
    pub known: usize,
}

impl Tally {
    fn count(&mut self, all: i64, added: usize) {
        self.added += added;
        self.known += (all as usize).saturating_sub(added);
    }
}

impl Store {
    /// Adds what another store holds, in one transaction. The other file is only read, through a copy in the folder for
    /// temporary files; one of an earlier version is migrated there.
    pub fn merge(&mut self, from: &Path) -> Result<Merged, StoreError> {
        if !from.exists() {
            return Err(StoreError::Missing { file: from.to_owned() });
        }
        let folder =
            tempfile::tempdir().map_err(|cause| StoreError::Copy { file: from.to_owned(), cause })?;
        let copy = folder.path().join("theirs.db");
        read_only::copy(from, &copy)?;
        let sqlite = |source| StoreError::sqlite("opening a copy of", from, source);
        let name = copy.to_str().ok_or(rusqlite::Error::InvalidPath(copy.clone())).map_err(sqlite)?;
        self.connection.execute("ATTACH ?1 AS theirs", [name]).map_err(sqlite)?;
        let merged = self.write("merging into", Of::Store, merge);
        // The transaction is over, whichever way it went.
        self.connection.execute_batch("DETACH theirs").map_err(sqlite)?;
        merged
    }
}

fn merge(transaction: &Transaction<'_>) -> Result<Merged, RowError> {
    let mut merged = Merged::default();
    campaigns::merge(transaction, &mut merged)?;
    nights::merge(transaction, &mut merged)?;
    clusters::merge(transaction, &mut merged)?;
    transaction.execute_batch(
        "DROP TABLE temp.campaign_of; DROP TABLE temp.run_of; DROP TABLE temp.point_of; DROP TABLE temp.night_of;
         DROP TABLE temp.series_of; DROP TABLE temp.configuration_of;",
    )?;
    Ok(merged)
}

/// The columns of a table but for these: the same in both files, which have the same version.
fn columns(connection: &Connection, table: &str, without: &[&str]) -> Result<String, RowError> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names: Vec<String> =
        statement.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(names.into_iter().filter(|name| !without.contains(&name.as_str())).collect::<Vec<_>>().join(", "))
}

fn count(connection: &Connection, sql: &str) -> Result<i64, RowError> {
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests;
