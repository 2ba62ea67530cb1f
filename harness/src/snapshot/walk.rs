//! Follows a pattern through a host and takes what it meets.

use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
};

use host::Sysroot;

use super::{
    patterns::{self, Kind, LARGE, MOST_BYTES},
    tree::{Entry, Tree},
};

/// Links that may be met on the way to one file; the kernel follows 40 (MAXSYMLINKS).
const MOST_LINKS: u32 = 40;
/// EFBIG: what a tree answers for a file that was too large to take.
const TOO_LARGE: i32 = 27;
/// A snapshot above this is refused: something is not what the table takes it for.
pub(super) const MOST_TREE_BYTES: u64 = 512 << 20;
/// O_NONBLOCK, so that nothing that is opened makes us wait for somebody.
const O_NONBLOCK: i32 = 0o4000;

/// Takes all that a pattern stands for on the host.
pub(super) fn take(tree: &mut Tree, sysroot: &Sysroot, pattern: &str, kind: Kind) {
    for path in patterns::spelled_out(pattern) {
        let components: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        Walk { tree, sysroot, kind }.from("", &components, MOST_LINKS);
    }
}

struct Walk<'t> {
    tree: &'t mut Tree,
    sysroot: &'t Sysroot,
    kind: Kind,
}

impl Walk<'_> {
    /// `at` is a folder reached by no link; the components that are left may name links.
    fn from(&mut self, at: &str, components: &[&str], links: u32) {
        if self.tree.bytes > MOST_TREE_BYTES {
            return;
        }
        let Some((first, rest)) = components.split_first() else {
            self.tree.entries.entry(at.to_owned()).or_insert(Entry::Folder);
            return;
        };
        if *first == ".." {
            return self.from(at.rsplit_once('/').map_or("", |(parent, _)| parent), rest, links);
        }
        if !first.contains('*') {
            return self.enter(&format!("{at}/{first}"), rest, links);
        }
        match fs::read_dir(self.sysroot.path(at)) {
            Ok(entries) => {
                let mut names: Vec<String> =
                    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
                names.sort_unstable();
                for name in names.iter().filter(|name| patterns::matches(first, name)) {
                    self.enter(&format!("{at}/{name}"), rest, links);
                }
            }
            Err(error) => self.miss(at, &error),
        }
    }

    fn enter(&mut self, path: &str, rest: &[&str], links: u32) {
        let metadata = match fs::symlink_metadata(self.sysroot.path(path)) {
            Ok(metadata) => metadata,
            Err(error) => return self.miss(path, &error),
        };
        if metadata.is_symlink() {
            return self.follow(path, rest, links);
        }
        if metadata.is_dir() {
            return self.from(path, rest, links);
        }
        if rest.is_empty() && !self.tree.entries.contains_key(path) {
            self.file(path, metadata.permissions().mode() & 0o7777);
        }
    }

    /// Takes the link and goes on where it points, inside the root.
    fn follow(&mut self, path: &str, rest: &[&str], links: u32) {
        let target = match fs::read_link(self.sysroot.path(path)) {
            Ok(target) => target.to_string_lossy().into_owned(),
            Err(error) => return self.miss(path, &error),
        };
        self.tree.entries.insert(path.to_owned(), Entry::Link(target.clone()));
        let Some(links) = links.checked_sub(1) else { return };
        let from = match target.starts_with('/') {
            true => "",
            false => path.rsplit_once('/').map_or("", |(folder, _)| folder),
        };
        let onward: Vec<&str> = target
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .chain(rest.iter().copied())
            .collect();
        // A name that holds a star is none of ours to expand.
        if !target.contains('*') {
            self.from(from, &onward, links);
        }
    }

    fn file(&mut self, path: &str, mode: u32) {
        let most = LARGE.iter().find(|(large, _)| *large == path).map_or(MOST_BYTES, |(_, most)| *most);
        let mut bytes = Vec::new();
        let read = fs::OpenOptions::new()
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open(self.sysroot.path(path))
            .and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
        match read {
            Ok(length) if length as u64 > most => {
                self.miss(path, &io::Error::from_raw_os_error(TOO_LARGE));
            }
            Ok(length) => {
                self.tree.bytes += length as u64;
                let entry = Entry::File { bytes, mode, kind: self.kind };
                self.tree.entries.insert(path.to_owned(), entry);
            }
            Err(error) => self.miss(path, &error),
        }
    }

    /// What is not there is no loss.
    fn miss(&mut self, path: &str, error: &io::Error) {
        let absent = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        if let (Some(errno), false) = (error.raw_os_error(), absent) {
            self.tree.missed.insert(path.to_owned(), errno);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(files: &[(&str, &str)], links: &[(&str, &str)], pattern: &str) -> (tempfile::TempDir, Tree) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            fs::write(path, text).expect("write");
        }
        for (path, target) in links {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            std::os::unix::fs::symlink(target, path).expect("ln");
        }
        let mut tree = Tree::default();
        take(&mut tree, &Sysroot::new(dir.path()), pattern, Kind::Verbatim);
        (dir, tree)
    }

    #[test]
    fn links_on_the_way_are_taken_and_files_lie_where_they_lead() {
        let (_dir, tree) = taken(
            &[("sys/devices/a/net/e/mtu", "1500\n"), ("sys/devices/a/node", "1\n")],
            &[("sys/class/net/e", "../../devices/a/net/e"), ("sys/devices/a/net/e/device", "../../../a")],
            "/sys/class/net/*/{mtu,device/node,none}",
        );
        let paths: Vec<&str> = tree.entries.keys().map(String::as_str).collect();
        assert_eq!(
            paths,
            [
                "/sys/class/net/e",
                "/sys/devices/a/net/e/device",
                "/sys/devices/a/net/e/mtu",
                "/sys/devices/a/node"
            ]
        );
        assert!(tree.missed.is_empty());
    }

    #[test]
    fn a_circle_of_links_ends_and_a_link_upwards_stays_inside() {
        let (_dir, tree) = taken(&[], &[("a/x", "../a/x"), ("a/out", "../../../../etc")], "/a/*/passwd");
        assert_eq!(tree.entries.len(), 2, "the links alone: {:?}", tree.entries.keys());
    }

    #[test]
    fn a_folder_at_the_end_is_taken_empty() {
        let (_dir, tree) = taken(&[("run/systemd/system/x.service", "secret")], &[], "/run/systemd/system");
        assert_eq!(tree.entries.get("/run/systemd/system"), Some(&Entry::Folder));
        assert_eq!(tree.entries.len(), 1);
    }

    #[test]
    fn a_file_that_is_too_large_is_missed_with_its_reason() {
        let large = "x".repeat(MOST_BYTES as usize + 1);
        let (_dir, tree) = taken(&[("proc/net/tcp", &large)], &[], "/proc/net/tcp");
        assert_eq!(tree.missed.get("/proc/net/tcp"), Some(&TOO_LARGE));
    }
}
