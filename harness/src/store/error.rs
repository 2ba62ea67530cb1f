//! Why the store could not do what was asked: always the file, the call, the cause and the way out, in one text.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use rusqlite::ErrorCode;

use super::columns::RowError;

/// What a part of the store belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Of {
    /// A campaign, by its number; 0 while it has none.
    Campaign(i64),
    /// A night, by its number; 0 while it has none.
    Night(i64),
    /// A cluster, by its number; 0 while it has none.
    Cluster(i64),
    /// All nights of a suite, by its name.
    Suite(String),
    /// A note or an acknowledgement, by its number.
    Remark(i64),
    /// All of it.
    Store,
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Of::Campaign(0) => f.write_str("the new campaign"),
            Of::Campaign(id) => write!(f, "campaign {id}"),
            Of::Night(0) => f.write_str("the new night"),
            Of::Night(id) => write!(f, "night {id}"),
            Of::Cluster(0) => f.write_str("the new cluster"),
            Of::Cluster(id) => write!(f, "cluster {id}"),
            Of::Suite(name) => write!(f, "the nights of {name}"),
            Of::Remark(id) => write!(f, "remark {id}"),
            Of::Store => f.write_str("all campaigns, nights and clusters"),
        }
    }
}

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
    /// What is stored is not what it should be, or what shall be stored can't be.
    #[error("{doing} the store {}: {of}: {cause}; nothing else in it is affected", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What of it.
        of: Of,
        /// The call.
        doing: &'static str,
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
    /// No night of this number, or none of this suite.
    #[error(
        "there is no night {night}{} in {}; `rdma-harness history` lists what there is",
        suite.as_ref().map_or(String::new(), |suite| format!(" of suite {suite}")),
        file.display()
    )]
    NoNight {
        /// The file.
        file: PathBuf,
        /// The suite, where one was asked for.
        suite: Option<String>,
        /// The number asked for.
        night: i64,
    },
    /// No series of this number.
    #[error("there is no series {series} in {}; `rdma-harness history` lists what there is", file.display())]
    NoSeries {
        /// The file.
        file: PathBuf,
        /// The number asked for.
        series: i64,
    },
    /// No cluster of this number, or none at all.
    #[error("there is no {} in {}; `rdma-harness cluster list` lists what there is", wanted_cluster(*cluster), file.display())]
    NoCluster {
        /// The file.
        file: PathBuf,
        /// The number asked for.
        cluster: Option<i64>,
    },
    /// A cluster has no run of this number.
    #[error("cluster {cluster} in {} has no run {sequence}", file.display())]
    NoPairRun {
        /// The file.
        file: PathBuf,
        /// The cluster.
        cluster: i64,
        /// The number asked for.
        sequence: u32,
    },
    /// The records of a round were pruned.
    #[error(
        "the record of run {sequence} of cluster {cluster} was pruned from {} at {}; what it measured is still there",
        file.display(),
        crate::words::moment(*at_unix_ms)
    )]
    PrunedPairRun {
        /// The file.
        file: PathBuf,
        /// The cluster.
        cluster: i64,
        /// The number asked for.
        sequence: u32,
        /// When, ms since 1970 UTC.
        at_unix_ms: u64,
    },
    /// Logs that are in the store already.
    #[error("{source_file} is in {} already (SHA-256 {sha256}); nothing was added", file.display())]
    KnownLog {
        /// The file.
        file: PathBuf,
        /// Name of the log.
        source_file: String,
        /// Its digest, hex.
        sha256: String,
    },
    /// The command writes, and the file may only be read.
    #[error("{} can only be read ({why}); make it and its folder writable, or give another --store FILE", file.display())]
    ReadOnly {
        /// The file.
        file: PathBuf,
        /// What is not writable.
        why: String,
    },
    /// It has to be read through a copy, and there is none.
    #[error(
        "copying {} and what lies in its log to the folder for temporary files: {cause}; set TMPDIR to a folder with room for it",
        file.display()
    )]
    Copy {
        /// The file.
        file: PathBuf,
        /// Why there is no copy.
        cause: std::io::Error,
    },
    /// A backup could not be written.
    #[error("writing the backup {}: {cause}; {}", file.display(), backup_advice(cause))]
    Backup {
        /// The file it should be.
        file: PathBuf,
        /// Why not.
        cause: std::io::Error,
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

fn backup_advice(cause: &std::io::Error) -> &'static str {
    match cause.kind() {
        std::io::ErrorKind::AlreadyExists => {
            "it was left alone; give another name, or replace a file that is not the store with --force"
        }
        _ => "give another place; the store is as it was",
    }
}

fn wanted(campaign: Option<i64>) -> String {
    campaign.map_or("campaign yet".into(), |id| format!("campaign {id}"))
}

fn wanted_cluster(cluster: Option<i64>) -> String {
    cluster.map_or("cluster yet".into(), |id| format!("cluster {id}"))
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

    pub(super) fn rows(doing: &'static str, file: &Path, of: Of, error: RowError) -> Self {
        match error {
            RowError::Sqlite(source) => StoreError::sqlite(doing, file, source),
            other => StoreError::Damaged { file: file.to_owned(), of, doing, cause: other.to_string() },
        }
    }
}
