//! The journal's file: who may open it, when its bytes are on disk, and where it goes when it is history.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::{FlockOperation, Mode, OFlags};

use super::{
    entry::{Entry, Header},
    read::Past,
};
use crate::tuning::{error::TuneError, site::Site};

/// Archived journals that are kept.
const KEPT: usize = 20;
/// More than any journal of a host of 1,024 CPUs has.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The right to tune in this network namespace, shared by its clones; the kernel takes it back when its holder dies.
#[derive(Clone)]
pub(crate) struct Lock {
    _file: Arc<File>,
}

/// An open journal.
pub(crate) struct Journal {
    file: File,
    /// Bytes of whole lines; the next line goes there, over what a failed write may have left.
    whole_bytes: u64,
    path: PathBuf,
    site: Site,
    _lock: Lock,
}

/// The journal's file in a site's folder.
pub(crate) fn path(site: &Site, netns: &str) -> PathBuf {
    site.state_dir.join(format!("journal.{netns}"))
}

impl Lock {
    /// Takes the right, or says who has it. Makes the folder where there is none.
    pub(crate) fn take(site: &Site, netns: &str) -> Result<Lock, TuneError> {
        let folder = &site.state_dir;
        let fault =
            |what| move |path: &Path, cause| TuneError::Journal { what, path: path.to_owned(), cause };
        make_folder(folder).map_err(|cause| fault("making the folder")(folder, cause))?;
        let path = folder.join(format!("lock.{netns}"));
        let mut file = open(&path, OFlags::RDWR | OFlags::CREATE)
            .map_err(|cause| fault("opening the lock")(&path, cause))?;
        let mut holder = String::new();
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let _ = (&file).take(20).read_to_string(&mut holder); // its pid is only said, not relied on
                return Err(TuneError::Busy { pid: holder.trim().parse().unwrap_or(0), lock: path });
            }
            Err(error) => return Err(fault("locking")(&path, error.into())),
        }
        let write = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        write.map_err(|cause| fault("writing the lock")(&path, cause))?;
        Ok(Lock { _file: Arc::new(file) })
    }
}

impl Journal {
    /// Begins one; there must be none.
    pub(crate) fn create(site: &Site, lock: Lock, header: Header) -> Result<Journal, TuneError> {
        let path = path(site, &header.netns);
        site.point("journal: before it is made");
        let file = open(&path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
            .map_err(|cause| TuneError::Journal { what: "making", path: path.clone(), cause })?;
        let mut journal = Journal { file, whole_bytes: 0, path, site: site.clone(), _lock: lock };
        site.point("journal: made");
        journal.append(&Entry::Header(header))?;
        journal.sync_folder(&site.state_dir)?;
        Ok(journal)
    }

    /// Opens the one that was left; none if there is none. What is torn at its end is written over.
    pub(crate) fn open(site: &Site, lock: Lock, netns: &str) -> Result<Option<(Journal, Past)>, TuneError> {
        let path = path(site, netns);
        let fault = |what, cause| TuneError::Journal { what, path: path.clone(), cause };
        let mut file = match open(&path, OFlags::RDWR) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fault("opening", error)),
        };
        let bytes = read_bounded(&mut file).map_err(|cause| fault("reading", cause))?;
        let past = Past::parse(&bytes);
        let whole_bytes = past.whole_bytes as u64;
        Ok(Some((Journal { file, whole_bytes, path, site: site.clone(), _lock: lock }, past)))
    }

    /// Reads the one that is there without a right to it, to show it; none if there is none.
    pub(crate) fn peek(site: &Site, netns: &str) -> io::Result<Option<Past>> {
        match open(&path(site, netns), OFlags::RDONLY) {
            Ok(mut file) => Ok(Some(Past::parse(&read_bounded(&mut file)?))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes an entry; when it returns, the entry is on disk.
    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), TuneError> {
        self.site.point("journal: before a line");
        let line = entry.line();
        let end = self.whole_bytes + line.len() as u64;
        let write = || -> io::Result<()> {
            self.file.write_all_at(line.as_bytes(), self.whole_bytes)?;
            self.file.set_len(end)?;
            self.site.point("journal: a line not yet on disk");
            self.file.sync_data()
        };
        write().map_err(|cause| TuneError::Journal { what: "writing", path: self.path.clone(), cause })?;
        self.whole_bytes = end;
        self.site.point("journal: a line on disk");
        Ok(())
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts it away as history: nothing is left to be turned back.
    pub(crate) fn archive(self) -> Result<(), TuneError> {
        let archive = self.site.state_dir.join("archive");
        let fault = |what| {
            let path = self.path.clone();
            move |cause| TuneError::Journal { what, path, cause }
        };
        make_folder(&archive).map_err(fault("making the archive of"))?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let to = archive.join(format!("{:016}.{name}", next_number(&archive).map_err(fault("numbering"))?));
        self.site.point("journal: before it is archived");
        fs::rename(&self.path, &to).map_err(fault("archiving"))?;
        self.site.point("journal: archived");
        self.sync_folder(&archive)?;
        self.sync_folder(&self.site.state_dir)?;
        prune(&archive).map_err(fault("pruning the archive of"))
    }

    fn sync_folder(&self, folder: &Path) -> Result<(), TuneError> {
        let sync = || File::open(folder)?.sync_all();
        sync().map_err(|cause| TuneError::Journal { what: "syncing", path: folder.to_owned(), cause })
    }
}

/// Makes a folder of ours, 0700, and sees that it is one: no link, and nobody else's.
fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder.parent().unwrap_or(Path::new("/")))?;
            fs::DirBuilder::new().mode(0o700).create(folder)?;
        }
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() {
        return Err(io::Error::other("it is no folder"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o022 != 0 {
        return Err(io::Error::other("others can write to it: it must be ours alone, of mode 0700"));
    }
    Ok(())
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let file = rustix::fs::open(path, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
    Ok(File::from(file))
}

fn read_bounded(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Names in the archive in their order.
fn archived(archive: &Path) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(archive)?
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort_unstable();
    Ok(names)
}

fn next_number(archive: &Path) -> io::Result<u64> {
    let last = archived(archive)?.iter().rev().find_map(|name| name.split('.').next()?.parse::<u64>().ok());
    Ok(last.map_or(0, |last| last + 1))
}

fn prune(archive: &Path) -> io::Result<()> {
    let names = archived(archive)?;
    for old in names.iter().take(names.len().saturating_sub(KEPT)) {
        fs::remove_file(archive.join(old))?;
    }
    Ok(())
}
