//! The root directory a host is read through, and the ways of reading: a file, a listing, a link, a presence.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::value::Value;

/// Errnos by which sysfs says that an attribute has no value now: EINVAL, ENODEV, EOPNOTSUPP.
const NO_VALUE_NOW: [i32; 3] = [22, 19, 95];

/// Where a tree keeps the errnos of what its host had and would not give: `/.recorded/errno/sys/..` holds the number.
pub const RECORDED_ERRNO: &str = "/.recorded/errno";

/// One host: `/` for this one, a fixture tree for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysroot(PathBuf);

impl Sysroot {
    /// The host under `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Sysroot(root.into())
    }

    /// Whether it is the host we run on: what has no file (a request to a driver, a held descriptor) can be asked of the
    /// kernel, where a tree has a recording of it or nothing.
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// Where `path`, written as on the host (`/sys/...`), lies for us.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of a file without its trailing white space. Bytes that are not UTF-8 become replacement characters.
    pub fn read(&self, path: impl AsRef<Path>) -> Value<String> {
        let path = path.as_ref();
        match fs::read(self.path(path)) {
            Ok(bytes) => Value::Known(trimmed(bytes)),
            Err(error) => self.unknown("reading", path, &error),
        }
    }

    /// The bytes of a file, as they are.
    pub fn read_bytes(&self, path: impl AsRef<Path>) -> Value<Vec<u8>> {
        let path = path.as_ref();
        match fs::read(self.path(path)) {
            Ok(bytes) => Value::Known(bytes),
            Err(error) => self.unknown("reading", path, &error),
        }
    }

    /// The names in a directory, sorted (numbers by value, so that `cpu2` comes before `cpu10`).
    pub fn list(&self, path: impl AsRef<Path>) -> Value<Vec<String>> {
        let path = path.as_ref();
        let entries = match fs::read_dir(self.path(path)) {
            Ok(entries) => entries,
            Err(error) => return self.unknown("listing", path, &error),
        };
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_by(|a, b| natural_key(a).cmp(&natural_key(b)).then_with(|| a.cmp(b)));
        Value::Known(names)
    }

    /// The last component of what a symbolic link points to: for a device's `device` link, its bus address.
    pub fn link_name(&self, path: impl AsRef<Path>) -> Value<String> {
        let path = path.as_ref();
        match fs::read_link(self.path(path)) {
            Ok(target) => match target.file_name() {
                Some(name) => Value::Known(name.to_string_lossy().into_owned()),
                None => Value::Unreadable(format!("{} points to {}", path.display(), target.display())),
            },
            Err(error) => self.unknown("reading the link", path, &error),
        }
    }

    /// Where a path leads once every link in it is followed, written as on the host. A link that leads out of the root is
    /// unreadable.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Value<String> {
        let path = path.as_ref();
        let resolved =
            fs::canonicalize(&self.0).and_then(|root| Ok((root, fs::canonicalize(self.path(path))?)));
        match resolved {
            Ok((root, target)) => match target.strip_prefix(&root) {
                Ok(inside) => Value::Known(format!("/{}", inside.display())),
                Err(_) => Value::Unreadable(format!("{} leads out of the tree", path.display())),
            },
            Err(error) => self.unknown("following", path, &error),
        }
    }

    /// Whether something is there.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// Whether nobody may write to a file, root not either: the kernel says so by its mode.
    pub fn is_read_only(&self, path: impl AsRef<Path>) -> bool {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(self.path(path)).is_ok_and(|found| found.permissions().mode() & 0o222 == 0)
    }

    fn unknown<T>(&self, what: &str, path: &Path, error: &io::Error) -> Value<T> {
        match self.recorded_error(path) {
            Some(recorded) => unknown(what, path, &recorded),
            None => unknown(what, path, error),
        }
    }

    /// The error that the host of a tree gave where the tree has nothing.
    fn recorded_error(&self, path: &Path) -> Option<io::Error> {
        if self.is_live() {
            return None;
        }
        let below = self.path(RECORDED_ERRNO).join(path.strip_prefix("/").unwrap_or(path));
        let errno = fs::read_to_string(below).ok()?;
        errno.trim().parse().ok().map(io::Error::from_raw_os_error)
    }
}

/// Without a second copy: some of these files have megabytes on hosts with many CPUs.
fn trimmed(bytes: Vec<u8>) -> String {
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    text.truncate(text.trim_end().len());
    text
}

fn unknown<T>(what: &str, path: &Path, error: &io::Error) -> Value<T> {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Value::Absent,
        _ if error.raw_os_error().is_some_and(|errno| NO_VALUE_NOW.contains(&errno)) => {
            Value::NotApplicable(format!("{}: {error}", path.display()))
        }
        _ => Value::Unreadable(format!("{what} {}: {error}", path.display())),
    }
}

/// The name with its first run of digits taken as a number.
fn natural_key(name: &str) -> (&str, u64) {
    let start = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (prefix, rest) = name.split_at(start);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (prefix, rest[..end].parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> (tempfile::TempDir, Sysroot) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Sysroot::new(dir.path());
        (dir, root)
    }

    #[test]
    fn a_file_that_is_not_there_is_absent_and_a_directory_in_its_place_is_unreadable() {
        let (dir, root) = host();
        fs::create_dir_all(dir.path().join("sys/a")).expect("mkdir");
        assert_eq!(root.read("/sys/b"), Value::Absent);
        assert!(matches!(root.read("/sys/a"), Value::Unreadable(_)));
        assert_eq!(root.list("/sys/a"), Value::Known(vec![]));
    }

    #[test]
    fn a_recorded_errno_reads_as_the_host_would_have_answered() {
        let (dir, root) = host();
        for (file, errno) in [("sys/gid", "22\n"), ("sys/config", "13\n"), ("sys/junk", "x")] {
            let at = dir.path().join(".recorded/errno").join(file);
            fs::create_dir_all(at.parent().expect("a folder")).expect("mkdir");
            fs::write(at, errno).expect("write");
        }
        assert!(matches!(root.read("/sys/gid"), Value::NotApplicable(_)), "EINVAL");
        assert!(matches!(root.list("/sys/config"), Value::Unreadable(_)), "EACCES");
        assert_eq!(root.read("/sys/junk"), Value::Absent);
    }

    #[test]
    fn names_sort_by_number() {
        let (dir, root) = host();
        for name in ["cpu10", "cpu2", "cpufreq", "cpu1"] {
            fs::create_dir(dir.path().join(name)).expect("mkdir");
        }
        assert_eq!(root.list("/").known().expect("listed"), ["cpu1", "cpu2", "cpu10", "cpufreq"]);
    }

    #[test]
    fn a_link_gives_the_name_it_points_to() {
        let (dir, root) = host();
        std::os::unix::fs::symlink("../../devices/pci0000:00/0000:c1:00.0", dir.path().join("device"))
            .expect("ln");
        assert_eq!(root.link_name("/device"), Value::Known("0000:c1:00.0".into()));
        assert_eq!(root.link_name("/other"), Value::Absent);
    }

    #[test]
    fn a_path_is_followed_inside_the_root_and_no_further() {
        let (dir, root) = host();
        fs::create_dir_all(dir.path().join("sys/devices/a")).expect("mkdir");
        fs::create_dir_all(dir.path().join("sys/class")).expect("mkdir");
        std::os::unix::fs::symlink("../devices/a", dir.path().join("sys/class/a")).expect("ln");
        std::os::unix::fs::symlink("/proc", dir.path().join("sys/class/out")).expect("ln");
        assert_eq!(root.resolve("/sys/class/a"), Value::Known("/sys/devices/a".into()));
        assert_eq!(root.resolve("/sys/class/b"), Value::Absent);
        assert!(matches!(root.resolve("/sys/class/out"), Value::Unreadable(_)));
    }
}
