//! Reads a store that can't be written: a file without the right to write, a folder without it, a read-only mount.
//!
//! SQLite's write-ahead log wants to write even to read, because readers and writers meet in a file beside it. Where that can't
//! be, nobody writes either, and the file is read as it lies. What a killed writer left in the log is never left out: then, and
//! where the file has an older schema, a private copy is read, which SQLite keeps where it keeps temporary files.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, backup::Backup};
use rustix::fs::Access;

use super::{StoreError, migrations, open};

/// What of a store can't be written; none where all of it can.
pub(super) fn why(file: &Path) -> Option<String> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let denied = |path| rustix::fs::access(path, Access::WRITE_OK).err().map(io::Error::from);
    let of_file = denied(file).map(|cause| format!("the file: {cause}"));
    of_file.or_else(|| denied(folder).map(|cause| format!("its folder: {cause}")))
}

/// Opens a store to read it without writing a byte to it or beside it.
pub(super) fn open(file: &Path) -> Result<Connection, StoreError> {
    let sqlite = |source| StoreError::sqlite("opening", file, source);
    // Whoever has it open has a log beside it; where there is none, nothing shall be made.
    let opened = if log(file).exists() { shared(file) } else { alone(file) };
    let connection = match opened {
        Ok(connection) => connection,
        Err(error) if !needs_to_write(&error) => return Err(sqlite(error)),
        Err(_) if unfinished_log(file) => {
            let copied =
                copy_with_log(file).map_err(|cause| StoreError::Copy { file: file.to_owned(), cause })?;
            private(&copied.connection).map_err(sqlite)?
        }
        Err(_) => alone(file).map_err(sqlite)?,
    };
    if open::known_version(&connection, file)? == migrations::NEWEST {
        return Ok(connection);
    }
    let mut copy = private(&connection).map_err(sqlite)?;
    migrations::migrate(&mut copy)
        .map_err(|source| StoreError::sqlite("migrating a copy of", file, source))?;
    Ok(copy)
}

/// Copies a store, brought to the version of this build, into a file that is not there yet.
pub(super) fn copy(file: &Path, to: &Path) -> Result<(), StoreError> {
    let source = open(file)?;
    let copied = || -> rusqlite::Result<()> {
        let mut copy = Connection::open(to)?;
        Backup::new(&source, &mut copy)?.step(-1)?;
        Ok(())
    };
    copied().map_err(|source| StoreError::sqlite("copying", file, source))
}

/// As one reader among others, where their meeting place is there.
fn shared(file: &Path) -> rusqlite::Result<Connection> {
    opened(Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?)
}

/// As the only one: SQLite is told that nobody writes.
fn alone(file: &Path) -> rusqlite::Result<Connection> {
    let mut uri = b"file:".to_vec();
    for byte in file.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend(format!("%{byte:02x}").bytes()),
            _ => uri.push(*byte),
        }
    }
    uri.extend(b"?mode=ro&immutable=1");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    opened(Connection::open_with_flags(PathBuf::from(OsString::from_vec(uri)), flags)?)
}

/// SQLite opens a file with the first thing that is read of it.
fn opened(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(open::BUSY_TIMEOUT)?;
    migrations::version(&connection)?;
    Ok(connection)
}

fn needs_to_write(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Whether a log holds what is not in the file yet.
fn unfinished_log(file: &Path) -> bool {
    fs::metadata(log(file)).is_ok_and(|log| log.len() > 0)
}

fn log(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// A connection to files that go with it.
struct Copied {
    connection: Connection,
    _folder: tempfile::TempDir,
}

fn copy_with_log(file: &Path) -> io::Result<Copied> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("store.db");
    fs::copy(file, &copy)?;
    fs::copy(log(file), log(&copy))?;
    let connection = Connection::open(&copy).map_err(io::Error::other)?;
    Ok(Copied { connection, _folder: folder })
}

/// A copy that only this process sees, and that goes with it.
fn private(connection: &Connection) -> rusqlite::Result<Connection> {
    let mut copy = Connection::open("")?;
    Backup::new(connection, &mut copy)?.run_to_completion(1_000, std::time::Duration::ZERO, None)?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    fn store(folder: &Path, name: &str) -> (PathBuf, Store) {
        let file = folder.join(name);
        let mut store = Store::create_or_open(&file).unwrap();
        let new = crate::store::NewNight {
            suite: "s",
            suite_toml: "",
            origin: schema::Origin::Measured,
            started_at_unix_ms: 1,
        };
        store.begin_night(&new).unwrap();
        (file, store)
    }

    fn nights(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM night", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_file_is_read_alone_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (file, store) = store(folder.path(), "a b%20?c#d.db");
        drop(store);
        assert_eq!(nights(&alone(&file).unwrap()), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made beside it");
    }

    #[test]
    fn what_a_killed_writer_left_in_the_log_is_read_too() {
        let folder = tempfile::tempdir().unwrap();
        let (file, _writer) = store(folder.path(), "store.db");
        assert!(unfinished_log(&file));
        let copied = copy_with_log(&file).unwrap();
        assert_eq!(nights(&private(&copied.connection).unwrap()), 1);
    }

    #[test]
    fn an_older_file_is_read_through_a_copy_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch(include_str!("../../fixtures/store-version-1.sql")).unwrap();
        drop(connection);
        let before = fs::read(&file).unwrap();
        let copy = open(&file).unwrap();
        assert_eq!(migrations::version(&copy).unwrap(), migrations::NEWEST);
        assert_eq!(nights(&copy), 0);
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}
