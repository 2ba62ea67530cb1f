//! What the targets that read a host share: a tree in memory that lasts as long as the process, one file of it rewritten for
//! each input.

use std::{fs, path::Path};

use host::Sysroot;

/// A tree below /dev/shm, which is memory on every Linux, with nothing in it.
pub fn tree() -> Sysroot {
    let root = Path::new("/dev/shm").join(format!("rdma-harness-fuzz.{}", std::process::id()));
    fs::create_dir_all(&root).expect("/dev/shm can be written to");
    Sysroot::new(root)
}

/// Puts bytes into a file of it.
pub fn put(tree: &Sysroot, path: &str, bytes: &[u8]) {
    let file = tree.path(path);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).expect("a folder in memory");
    }
    fs::write(file, bytes).expect("a file in memory");
}
