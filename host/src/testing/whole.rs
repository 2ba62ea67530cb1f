//! All of a tree, to tell whether it is byte for byte what it was.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Contents, modes and links of a tree, by path below its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole(BTreeMap<PathBuf, String>);

impl Whole {
    /// Reads all of a tree but the folder `except`, given below its root.
    pub fn read(root: &Path, except: &str) -> Whole {
        let mut found = BTreeMap::new();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in
                fs::read_dir(&folder).expect("a folder of the tree").map(|entry| entry.expect("an entry"))
            {
                let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
                if path == root.join(except) {
                    continue;
                }
                let what = if kind.is_symlink() {
                    format!("-> {}", fs::read_link(&path).expect("a link").display())
                } else if kind.is_dir() {
                    folders.push(path.clone());
                    "folder".to_owned()
                } else {
                    let bytes = fs::read(&path).expect("a file of the tree");
                    bytes.escape_ascii().to_string()
                };
                let mode = entry.metadata().expect("a mode").permissions().mode();
                let below = path.strip_prefix(root).expect("below the root").to_owned();
                found.insert(below, format!("{mode:o} {what}"));
            }
        }
        Whole(found)
    }

    /// What is otherwise than in another reading, one line a path; empty if nothing is.
    pub fn differences(&self, other: &Whole) -> Vec<String> {
        let paths = self.0.keys().chain(other.0.keys().filter(|path| !self.0.contains_key(*path)));
        paths
            .filter(|path| self.0.get(*path) != other.0.get(*path))
            .map(|path| format!("{}: {:?}, {:?}", path.display(), self.0.get(path), other.0.get(path)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_modes_links_and_presence_are_told_apart() {
        let tree = tempfile::tempdir().expect("a folder");
        let at = |path: &str| tree.path().join(path);
        fs::create_dir_all(at("a/skip")).expect("mkdir");
        fs::write(at("a/file"), "1\n").expect("written");
        let before = Whole::read(tree.path(), "a/skip");
        fs::write(at("a/skip/x"), "").expect("written");
        assert_eq!(Whole::read(tree.path(), "a/skip").differences(&before), Vec::<String>::new());
        fs::write(at("a/file"), "1").expect("written");
        fs::set_permissions(at("a/file"), fs::Permissions::from_mode(0o444)).expect("chmod");
        std::os::unix::fs::symlink("file", at("a/link")).expect("ln");
        let differ = Whole::read(tree.path(), "a/skip").differences(&before);
        assert_eq!(differ.len(), 2, "{differ:?}");
        assert!(differ[0].contains("100444 1\"") && differ[1].contains("-> file"), "{differ:?}");
    }
}
