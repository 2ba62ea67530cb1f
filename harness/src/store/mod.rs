//! The store: every campaign, every run, every night and every cluster, in one SQLite file, each run, and each round of a
//! cluster, committed as it ends.
//!
//! Killed at any moment it loses at most the run or the round in flight. No fact lies in it twice: what is normalised into columns and
//! tables is taken out of the JSON that keeps the rest of a record (docs/adr/0004-store.md).

mod backup;
mod campaign;
mod check;
mod cluster;
mod columns;
mod error;
mod foreign;
mod history;
mod merge;
mod migrations;
mod night;
mod open;
mod prune;
mod read_only;
mod record;
mod remarks;
mod value;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use columns::RowError;

pub use campaign::{CampaignHead, NewCampaign};
pub use check::Checked;
pub use cluster::{ClusterSummary, ClusterText, KeptPair, NewCluster};
pub use error::{Of, StoreError};
pub use foreign::{ForeignAdded, ForeignNight, ForeignRun};
pub use history::SuiteHead;
pub use merge::{Merged, Tally};
pub use night::NewNight;
pub use open::default_path;
pub use prune::{Prunable, PruneRule, Pruned};
pub use value::NewValue;

/// An open store.
pub struct Store {
    connection: Connection,
    file: PathBuf,
}

impl Store {
    /// The file it lies in.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Writes in one transaction: what `write` did is kept where it returns Ok, and only there.
    fn write<T>(
        &mut self,
        doing: &'static str,
        of: Of,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, RowError>,
    ) -> Result<T, StoreError> {
        let file: &Path = &self.file;
        let connection = &mut self.connection;
        let all = || -> Result<T, RowError> {
            // Immediate: a second writer waits for its turn instead of failing where it turns from reading to writing.
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = write(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        all().map_err(|error| StoreError::rows(doing, file, of, error))
    }

    /// Reads with one view of the file, whatever others write meanwhile.
    fn read<T>(
        &self,
        doing: &'static str,
        of: Of,
        read: impl FnOnce(&Connection) -> Result<T, RowError>,
    ) -> Result<T, StoreError> {
        let all = || -> Result<T, RowError> {
            let view = self.connection.unchecked_transaction()?;
            read(&view)
        };
        all().map_err(|error| StoreError::rows(doing, &self.file, of, error))
    }

    /// Attaches the call and the file to an SQLite error.
    fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
        move |source| StoreError::sqlite(doing, &self.file, source)
    }
}

#[cfg(test)]
mod tests;
