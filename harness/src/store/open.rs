//! Opens a store: finds its place, knows its own kind, and brings it to the version of this build.

use std::{
    env,
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::{Store, StoreError, migrations, read_only};

/// How long a write waits for another process before it gives up.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// `$XDG_DATA_HOME/rdma-harness/store.db`, or the same under `~/.local/share`.
pub fn default_path() -> Result<PathBuf, StoreError> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    data.map(|data| data.join("rdma-harness/store.db")).ok_or(StoreError::NoPlace)
}

/// Held while runs are measured; the kernel lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct MeasureLock {
    _file: File,
}

impl Store {
    /// Opens the store to write, making it where there is none.
    pub fn create_or_open(file: &Path) -> Result<Store, StoreError> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            fs::create_dir_all(folder)
                .map_err(|cause| StoreError::Folder { folder: folder.to_owned(), cause })?;
        }
        Store::open_with(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a store that is there, to write.
    pub fn open_to_write(file: &Path) -> Result<Store, StoreError> {
        if !file.exists() {
            return Err(StoreError::Missing { file: file.to_owned() });
        }
        Store::open_with(file, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens a store that is there, to read; one that can't be written is read as it is, and nothing is written.
    pub fn open(file: &Path) -> Result<Store, StoreError> {
        if file.exists() && read_only::why(file).is_some() {
            return Ok(Store { connection: read_only::open(file)?, file: file.to_owned() });
        }
        Store::open_to_write(file)
    }

    fn open_with(file: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        let sqlite = |doing| move |source| StoreError::sqlite(doing, file, source);
        if file.exists() {
            read_only::why(file)
                .map_or(Ok(()), |why| Err(StoreError::ReadOnly { file: file.to_owned(), why }))?;
        }
        let mut connection = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(sqlite("opening"))?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite("opening"))?;
        let version = known_version(&connection, file)?;
        // FULL: a run that was reported as kept survives a power cut too, not only a kill.
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
            .map_err(sqlite("preparing"))?;
        if version < migrations::NEWEST {
            migrations::migrate(&mut connection).map_err(sqlite("migrating"))?;
        }
        Ok(Store { connection, file: file.to_owned() })
    }

    /// Takes the right to measure into this store, which one process has at a time.
    pub fn lock_to_measure(&self) -> Result<MeasureLock, StoreError> {
        let mut name = self.file.clone().into_os_string();
        name.push("-measuring");
        let path = PathBuf::from(name);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let locked = file.map_err(TryLockError::Error).and_then(|file| file.try_lock().map(|()| file));
        match locked {
            Ok(file) => Ok(MeasureLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Busy { file: self.file.clone() }),
            Err(TryLockError::Error(cause)) => Err(StoreError::Folder { folder: path, cause }),
        }
    }
}

/// The version of a file that is ours, and not newer than this build.
pub(super) fn known_version(connection: &Connection, file: &Path) -> Result<i64, StoreError> {
    refuse_foreign(connection, file)?;
    let version = migrations::version(connection)
        .map_err(|source| StoreError::sqlite("reading the version of", file, source))?;
    if version > migrations::NEWEST {
        return Err(StoreError::Newer { file: file.to_owned(), found: version, known: migrations::NEWEST });
    }
    Ok(version)
}

/// A file with tables that are not ours is left alone.
fn refuse_foreign(connection: &Connection, file: &Path) -> Result<(), StoreError> {
    let sqlite = |source| StoreError::sqlite("reading", file, source);
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(sqlite)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sqlite)?;
    if id == migrations::APPLICATION_ID || (id == 0 && tables == 0) {
        return Ok(());
    }
    Err(StoreError::Foreign {
        file: file.to_owned(),
        what: "it is an SQLite database of another program".into(),
    })
}
