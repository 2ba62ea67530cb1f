//! Writes a tree to a folder or to a tar file, under another name until it is whole.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    os::unix::fs::{OpenOptionsExt as _, symlink},
    path::{Path, PathBuf},
};

use super::tree::Entry;

/// Folders and files may be read by all; who may write to the snapshot is its owner's affair.
const FOLDER_MODE: u32 = 0o755;

/// Entries in the order of their paths, which start with `/`.
pub(super) type Entries = [(String, Entry)];

/// Writes them to a folder that does not exist yet, or is empty.
pub(super) fn to_folder(entries: &Entries, out: &Path) -> io::Result<()> {
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let made = tempfile::Builder::new().prefix(".snapshot-").tempdir_in(parent)?;
    for (path, entry) in entries {
        let to = made.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(to.parent().unwrap_or(made.path()))?;
        match entry {
            Entry::Folder => fs::create_dir_all(&to)?,
            Entry::Link(target) => symlink(target, &to)?,
            Entry::File { bytes, mode, .. } => {
                fs::OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(*mode)
                    .open(&to)?
                    .write_all(bytes)?;
            }
        }
    }
    let made = made.keep();
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(&made, fs::Permissions::from_mode(FOLDER_MODE))?;
    fs::rename(&made, out).inspect_err(|_| {
        let _ = fs::remove_dir_all(&made);
    })
}

/// Writes them to a tar file; its entries have relative paths, so that `tar -xf FILE -C DIR` gives the folder.
pub(super) fn to_tar(entries: &Entries, out: &Path) -> io::Result<()> {
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut made = tempfile::NamedTempFile::new_in(parent)?;
    let mut tar = tar::Builder::new(BufWriter::new(made.as_file_mut()));
    for (path, entry) in entries {
        let path = PathBuf::from(path.trim_start_matches('/'));
        let mut header = tar::Header::new_gnu();
        // Nobody's and of no time: a snapshot is a function of the host and of its key.
        header.set_mtime(0);
        match entry {
            Entry::Folder => {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_mode(FOLDER_MODE);
                header.set_size(0);
                tar.append_data(&mut header, path.join(""), io::empty())?;
            }
            Entry::Link(target) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_mode(0o777);
                header.set_size(0);
                tar.append_link(&mut header, path, target)?;
            }
            Entry::File { bytes, mode, .. } => {
                header.set_mode(*mode);
                header.set_size(bytes.len() as u64);
                tar.append_data(&mut header, path, bytes.as_slice())?;
            }
        }
    }
    tar.into_inner()?.flush()?;
    made.as_file().sync_all()?;
    made.persist(out).map(|_: File| ()).map_err(|error| error.error)
}
