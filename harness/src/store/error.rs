//! Why the store could not do what was asked: always the file, the call, the cause and the way out, in one text.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// What went wrong with the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No place for the default store.
    #[error("no place for the store: neither XDG_DATA_HOME nor HOME is set; give --store FILE")]
    NoPlace,
    /// The folder could not be made.
    #[error("creating the folder of the store {}: {cause}; give another --store FILE", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// There is no such file, and the command only reads.
    #[error("there is no store at {}; `rdma-harness run` makes one, or give --store FILE", file.display())]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// A file of something else.
    #[error("{} is not an rdma-harness store ({what}); it was left alone; give another --store FILE", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// What it is.
        what: String,
    },
    /// Written by a later release.
    #[error(
        "{} has store schema {found}, this build knows {known}; use the release that wrote it or a later one",
        file.display()
    )]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: i64,
        /// The newest this build knows.
        known: i64,
    },
    /// SQLite said no.
    #[error("{doing} the store {}: {cause}{}", file.display(), advice(cause))]
    Sqlite {
        /// The call.
        doing: &'static str,
        /// The file.
        file: PathBuf,
        /// SQLite's words.
        cause: rusqlite::Error,
    },
    /// What is stored does not read back.
    #[error("campaign {campaign} in {}: {what} does not read back: {cause}; the other campaigns are not affected", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The campaign.
        campaign: i64,
        /// Which part.
        what: &'static str,
        /// Why.
        cause: String,
    },
    /// No campaign of this number, or none at all.
    #[error("there is no {} in {}; `rdma-harness runs` lists what there is", wanted(*campaign), file.display())]
    NoCampaign {
        /// The file.
        file: PathBuf,
        /// The number asked for.
        campaign: Option<i64>,
    },
    /// Another process measures into this store.
    #[error(
        "another rdma-harness is measuring into {}; two at once would disturb each other; wait for it or give another --store FILE",
        file.display()
    )]
    Busy {
        /// The file.
        file: PathBuf,
    },
}

fn wanted(campaign: Option<i64>) -> String {
    campaign.map_or("campaign yet".into(), |id| format!("campaign {id}"))
}

fn advice(source: &rusqlite::Error) -> &'static str {
    match source.sqlite_error_code() {
        Some(ErrorCode::ReadOnly) => "; make the file and its folder writable, or give another --store FILE",
        Some(ErrorCode::CannotOpen) => "; check that the folder exists and may be written",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "; another program holds it; end that one or wait, then run again with --resume"
        }
        Some(ErrorCode::DiskFull) => {
            "; free space on that disk; every finished run is kept, go on with --resume"
        }
        Some(ErrorCode::DatabaseCorrupt) => "; restore a copy, or give another --store FILE",
        _ => "",
    }
}

impl StoreError {
    pub(super) fn sqlite(doing: &'static str, file: &Path, source: rusqlite::Error) -> Self {
        if source.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
            return StoreError::Foreign {
                file: file.to_owned(),
                what: "it is not an SQLite database".into(),
            };
        }
        StoreError::Sqlite { doing, file: file.to_owned(), cause: source }
    }
}
