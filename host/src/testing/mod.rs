//! Hosts for tests: the trees under `host/fixtures`, a copy of one to write to, and generated ones too large to keep.
//! They panic where a test cannot go on.

mod copy;
mod many_cpus;
mod whole;

use std::path::{Path, PathBuf};

pub use copy::copy;
pub use many_cpus::many_cpus;
pub use whole::Whole;

use crate::Sysroot;

/// One of the trees under `host/fixtures`, to read from only: git keeps no modes of files, so all are writable there.
pub fn fixture(name: &str) -> Sysroot {
    Sysroot::new(folder(name))
}

/// A folder for a tree of thousands of files, in memory where the host has /dev/shm: on a busy disk each takes milliseconds.
fn temporary() -> tempfile::TempDir {
    let in_memory = Path::new("/dev/shm");
    let made = if in_memory.is_dir() { tempfile::tempdir_in(in_memory) } else { tempfile::tempdir() };
    made.or_else(|_| tempfile::tempdir()).expect("a temporary directory")
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    assert!(folder.is_dir(), "no fixture {}", folder.display());
    folder
}
