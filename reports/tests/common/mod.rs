//! Texts compared with what they were.

use std::{env, fs, path::PathBuf};

use pretty_assertions::assert_eq;

/// Compares with a file under `tests/golden`; `UPDATE_GOLDEN=1` writes it anew.
pub(crate) fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|cause| panic!("{}: {cause}; UPDATE_GOLDEN=1 writes it", path.display()));
    assert_eq!(text, expected, "{name} changed; if that is meant, UPDATE_GOLDEN=1 writes it anew");
}
