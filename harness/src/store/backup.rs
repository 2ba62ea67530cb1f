//! Copies a store into one file while others go on writing to it.

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::Path};

use rusqlite::{Connection, backup::Backup};
use tempfile::Builder;

use super::{Store, StoreError, check};

impl Store {
    /// Copies all that is committed by now into a file, as one moment saw it; its size in bytes comes back. The copy has its
    /// name once it is whole, checked and on the disk. A file of that name is replaced only with `replace`, and never this store.
    pub fn backup(&self, to: &Path, replace: bool) -> Result<u64, StoreError> {
        let unwritten = |cause: io::Error| StoreError::Backup { file: to.to_owned(), cause };
        let refused = |why: &str| Err(unwritten(io::Error::new(io::ErrorKind::AlreadyExists, why)));
        if fs::canonicalize(to).is_ok_and(|to| fs::canonicalize(&self.file).is_ok_and(|file| file == to)) {
            return refused("it is the store itself");
        }
        if !replace && to.exists() {
            return refused("there is such a file already");
        }
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let readable = fs::Permissions::from_mode(0o666); // less the umask, as any file made by hand
        let temporary = Builder::new().permissions(readable).tempfile_in(folder).map_err(unwritten)?;
        copy(&self.connection, temporary.path())
            .map_err(|source| StoreError::sqlite("copying the store to", to, source))?;
        temporary.as_file().sync_all().map_err(unwritten)?;
        let bytes = temporary.as_file().metadata().map_err(unwritten)?.len();
        let named = if replace { temporary.persist(to) } else { temporary.persist_noclobber(to) };
        named.map_err(|error| unwritten(error.error))?;
        fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(unwritten)?;
        Ok(bytes)
    }
}

/// All pages in one step: one view of the source, which writers need not wait for.
fn copy(source: &Connection, to: &Path) -> rusqlite::Result<()> {
    let mut copy = Connection::open(to)?;
    Backup::new(source, &mut copy)?.step(-1)?;
    check::whole(&copy)?;
    // One file, also for a reader that can't make the log beside it.
    copy.pragma_update(None, "journal_mode", "DELETE")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::store::tests::{begin_night, value};

    #[test]
    fn a_backup_is_one_whole_file_made_while_the_store_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let mut writer = Store::create_or_open(&file).unwrap();
        let night = begin_night(&mut writer, "s", 1_000);
        writer.keep_values(night, &[value("write", 1.0)]).unwrap();
        writer.end_night(night, 2_000).unwrap();
        let half = writer.connection.transaction().unwrap();
        half.execute("DELETE FROM night_value", []).unwrap();

        let to = folder.path().join("copy.db");
        let store = Store::open(&file).unwrap();
        let bytes = store.backup(&to, false).unwrap();
        assert_eq!(bytes, fs::metadata(&to).unwrap().len());
        assert!(!folder.path().join("copy.db-wal").exists());
        drop(half);
        let copy = Store::open(&to).unwrap();
        assert_eq!(copy.history("s", None).unwrap(), store.history("s", None).unwrap());
        assert_eq!(copy.check().unwrap().problems, [""; 0]);
    }

    #[test]
    fn a_file_is_replaced_only_where_asked_and_the_store_itself_never() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let store = Store::create_or_open(&file).unwrap();
        let to = folder.path().join("copy.db");
        fs::write(&to, "precious").unwrap();
        let error = store.backup(&to, false).unwrap_err().to_string();
        assert!(error.contains("copy.db") && error.contains("--force"), "{error}");
        assert_eq!(fs::read(&to).unwrap(), b"precious");
        store.backup(&to, true).unwrap();
        assert!(Store::open(&to).is_ok());
        let error = store.backup(&file, true).unwrap_err().to_string();
        assert!(error.contains("the store itself"), "{error}");
        assert!(store.backup(Path::new("/proc/none/copy.db"), false).is_err());
    }
}
