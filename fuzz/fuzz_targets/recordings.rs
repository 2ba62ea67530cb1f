//! Any recording is an answer, a refusal or unreadable; an answer that was read is recorded in one form, and reads back.
#![no_main]

use host::{Aspect, Sysroot, dcb, ethtool, recorded};
use libfuzzer_sys::fuzz_target;
use rdma_harness_fuzz::{put, tree};

thread_local!(static TREE: Sysroot = tree());

const FILES: [&str; 5] = ["driver", "link", "statistics", "pause", "coalescing"];

fuzz_target!(|input: (u8, &[u8])| {
    TREE.with(|tree| {
        let (which, bytes) = input;
        let path = match FILES.get(usize::from(which) % (FILES.len() + 1)) {
            Some(aspect) => format!("/.recorded/ethtool/e/{aspect}.json"),
            None => "/.recorded/dcb/e.json".to_owned(),
        };
        put(tree, &path, bytes);
        let _ = (ethtool::driver(tree, "e"), ethtool::link(tree, "e"), dcb::read(tree, "e"));
        let _ = ethtool::set_field(tree, "e", Aspect::Pause, "rx", 1);
        let _ = dcb::set_pfc(tree, "e", &[3]);
        let once = recorded::record(tree, "e");
        for (path, text) in &once {
            put(tree, path, text.as_bytes());
        }
        assert_eq!(recorded::record(tree, "e"), once);
        for (path, _) in &once {
            let _ = std::fs::remove_file(tree.path(path));
        }
    });
});
