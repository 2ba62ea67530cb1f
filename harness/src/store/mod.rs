//! The store: every campaign and every run, in one SQLite file, each run committed as it ends.
//!
//! Killed at any moment it loses at most the run in flight. No fact lies in it twice: what is normalised into columns and
//! tables is taken out of the JSON that keeps the rest of a record (docs/adr/0004-store.md).

mod campaign;
mod error;
mod migrations;
mod open;
mod record;

use std::path::{Path, PathBuf};

use rusqlite::Connection;

pub use campaign::{CampaignHead, NewCampaign};
pub use error::StoreError;
pub use open::default_path;

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
