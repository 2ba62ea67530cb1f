//! Hosts for tests: the trees under `host/fixtures`, a copy of one to write to, and generated ones too large to keep.
//! They panic where a test cannot go on.

mod copy;
mod many_cpus;

use std::path::{Path, PathBuf};

pub use copy::copy;
pub use many_cpus::many_cpus;

use crate::Sysroot;

/// One of the trees under `host/fixtures`, to read from only: git keeps no modes of files, so all are writable there.
pub fn fixture(name: &str) -> Sysroot {
    Sysroot::new(folder(name))
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    assert!(folder.is_dir(), "no fixture {}", folder.display());
    folder
}
