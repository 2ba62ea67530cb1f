//! The store: every campaign, every run and every night, in one SQLite file, each run committed as it ends.
//!
//! Killed at any moment it loses at most the run in flight. No fact lies in it twice: what is normalised into columns and
//! tables is taken out of the JSON that keeps the rest of a record (docs/adr/0004-store.md).

mod backup;
mod campaign;
mod check;
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

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use campaign::{CampaignHead, NewCampaign};
pub use check::Checked;
pub use error::{Of, StoreError};
pub use foreign::{ForeignAdded, ForeignNight, ForeignRun};
pub use history::SuiteHead;
pub use merge::{Merged, Tally};
pub use night::{NewNight, NewValue};
pub use open::default_path;
pub use prune::{Prunable, PruneRule, Pruned};

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

    /// Attaches the call and the file to an SQLite error.
    fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
        move |source| StoreError::sqlite(doing, &self.file, source)
    }
}

#[cfg(test)]
mod tests;
