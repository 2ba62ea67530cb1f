//! A host of a few files, for the tests of a reader.

use std::{fs, path::Path};

use crate::Sysroot;

/// A tree with these files and no others; it lasts as long as the folder that comes with it.
pub(crate) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Sysroot) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in files {
        let file = dir.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(file.parent().unwrap_or(Path::new("/"))).expect("mkdir");
        fs::write(file, text).expect("write");
    }
    let root = Sysroot::new(dir.path());
    (dir, root)
}
