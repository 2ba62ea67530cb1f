//! A file below `/proc/sys` or `/sys` whose path says what it is.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    path::Path,
};

use host::Value;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, StatVfsMountFlags};
use serde::{Deserialize, Serialize};

use super::{Held, Operate};
use crate::tuning::{allow, form::Form, site::Site};

/// More than any file that is written here holds.
const MAX_BYTES: u64 = 64 * 1024;

/// A file and how its text is to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileTarget {
    /// As on the host.
    pub(crate) path: String,
    /// How to read it.
    pub(crate) form: Form,
}

impl Operate for FileTarget {
    fn describe(&self) -> String {
        self.path.clone()
    }

    fn read(&self, site: &Site, _held: &Held) -> Value<String> {
        read_text(site, &self.path).parse(|text| self.form.value_of(&text))
    }

    fn write(&self, site: &Site, _held: &mut Held, value: &str) -> io::Result<()> {
        write_text(site, &self.path, self.form, value)
    }

    fn probe(&self, site: &Site) -> Result<(), String> {
        may_write(site, &self.path)
    }

    fn same(&self, a: &str, b: &str) -> bool {
        self.form.same(a, b)
    }

    fn ours(&self, current: &str, old: &str, asked: &str) -> bool {
        self.form.ours(current, old, asked)
    }
}

/// The whole text of a file that may be written.
pub(crate) fn read_text(site: &Site, path: &str) -> Value<String> {
    let ours = match allow::resolve(&site.sysroot, path) {
        Ok(ours) => ours,
        Err(_) if !site.sysroot.exists(path) => return Value::Absent,
        Err(why) => return Value::Unreadable(why),
    };
    let mut text = String::new();
    match open(&ours, OFlags::RDONLY).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text)) {
        Ok(_) => Value::Known(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Value::Absent,
        Err(error) => Value::Unreadable(format!("reading {path}: {error}")),
    }
}

/// Has the kernel take a value; in a tree, writes what the kernel would show then.
pub(crate) fn write_text(site: &Site, path: &str, form: Form, value: &str) -> io::Result<()> {
    let ours = allow::resolve(&site.sysroot, path).map_err(io::Error::other)?;
    if site.sysroot.is_live() {
        let line = format!("{value}\n");
        // One write: the kernel takes each for a value of its own.
        let taken = open(&ours, OFlags::WRONLY)?.write(line.as_bytes())?;
        return if taken == line.len() {
            Ok(())
        } else {
            Err(io::Error::other("the kernel took half of the value"))
        };
    }
    let before = fs::read_to_string(&ours)?;
    let text = form.written(&before, value);
    let file = open(&ours, OFlags::WRONLY)?;
    file.write_all_at(text.as_bytes(), 0)?;
    file.set_len(text.len() as u64)
}

/// Whether a file may be written, by its mode, its mount and our rights; never by trying.
pub(crate) fn may_write(site: &Site, path: &str) -> Result<(), String> {
    let ours = allow::resolve(&site.sysroot, path)?;
    let mode = fs::symlink_metadata(&ours).map_err(|error| format!("{path}: {error}"))?.permissions().mode();
    if mode & 0o222 == 0 {
        let scope = if path.starts_with("/proc/sys/net/") {
            "the network namespace we are in does not own it"
        } else {
            "the kernel does not let it be changed"
        };
        return Err(format!("{path} is not changeable here: its mode is {:04o}; {scope}", mode & 0o7777));
    }
    let mount = rustix::fs::statvfs(&ours).map_err(|error| format!("{path}: {error}"))?;
    if mount.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(format!("{path} is not changeable here: it is mounted read-only, as in a container"));
    }
    rustix::fs::accessat(CWD, &ours, Access::WRITE_OK, AtFlags::EACCESS)
        .map_err(|error| format!("{path} may not be written: {error}; run as root"))
}

fn open(ours: &Path, flags: OFlags) -> io::Result<File> {
    let file = rustix::fs::open(ours, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    Ok(File::from(file))
}

#[cfg(test)]
mod tests {
    use host::Sysroot;

    use super::*;

    fn tree(path: &str, text: &str) -> (tempfile::TempDir, Site) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        let site = Site::new(Sysroot::new(dir.path()));
        (dir, site)
    }

    const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";

    #[test]
    fn a_value_written_there_and_back_leaves_the_same_bytes() {
        for text in ["1000\n", "1000", "1000\n\n"] {
            let (dir, site) = tree(BACKLOG, text);
            let target = FileTarget { path: BACKLOG.into(), form: Form::Word };
            let mut held = Held::new();
            assert_eq!(target.read(&site, &held), Value::Known("1000".into()));
            target.write(&site, &mut held, "250000").unwrap();
            assert_eq!(target.read(&site, &held), Value::Known("250000".into()));
            target.write(&site, &mut held, "1000").unwrap();
            assert_eq!(fs::read_to_string(dir.path().join(&BACKLOG[1..])).unwrap(), text);
        }
    }

    #[test]
    fn a_read_only_sysctl_of_a_namespace_is_told_without_writing() {
        let (dir, site) = tree(BACKLOG, "1000\n");
        assert_eq!(may_write(&site, BACKLOG), Ok(()));
        fs::set_permissions(dir.path().join(&BACKLOG[1..]), fs::Permissions::from_mode(0o444)).unwrap();
        let why = may_write(&site, BACKLOG).unwrap_err();
        assert!(why.contains("0444") && why.contains("network namespace"), "{why}");
    }

    #[test]
    fn a_file_that_is_a_link_is_neither_read_nor_written() {
        let (dir, site) = tree("/proc/sys/net/core/other", "1\n");
        std::os::unix::fs::symlink("other", dir.path().join(&BACKLOG[1..])).unwrap();
        assert!(matches!(read_text(&site, BACKLOG), Value::Unreadable(_)));
        assert!(write_text(&site, BACKLOG, Form::Word, "5").is_err());
        assert_eq!(read_text(&site, "/proc/sys/net/core/rmem_max"), Value::Absent);
    }
}
