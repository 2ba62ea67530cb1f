//! Any bytes in a journal are told of, and recovering from them writes to nothing that a whole record does not name.
#![no_main]

use std::fs;

use host::Sysroot;
use libfuzzer_sys::fuzz_target;
use rdma_harness::tuning::{Site, recover, status};
use rdma_harness_fuzz::{put, tree};

thread_local!(static TREE: Sysroot = tree());

const TARGET: &str = "/proc/sys/net/core/rmem_max";

fuzz_target!(|input: (bool, &[u8])| {
    TREE.with(|tree| {
        let (force, bytes) = input;
        put(tree, TARGET, b"212992\n");
        put(tree, "/proc/sys/kernel/random/boot_id", b"1a2b3c4d-0000-4000-8000-000000000001\n");
        let site = Site::new(tree.clone());
        let _ = fs::remove_dir_all(&site.state_dir);
        put(tree, "/run/rdma-harness/journal.tree", bytes);
        let _ = (status(&site), recover(&site, force), status(&site));
        assert_eq!(fs::read(tree.path(TARGET)).expect("it is there"), b"212992\n");
    });
});
