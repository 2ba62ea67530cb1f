//! Any host can be recorded: a snapshot has no file outside its folder, and gives away neither name nor MAC nor address.
#![no_main]

use std::{fs, path::Path};

use host::Sysroot;
use libfuzzer_sys::fuzz_target;
use rdma_harness::snapshot::{Options, record};
use rdma_harness_fuzz::{put, tree};

thread_local!(static TREE: Sysroot = tree());

const SECRETS: [&str; 3] = ["secret-host", "ac:1f:6b:00:c1:01", "198.51.100.77"];
const FILES: [&str; 6] =
    ["/proc/cmdline", "/.recorded/kernel-log", "/proc/net/route", "/proc/net/tcp", "/proc/net/if_inet6", "/etc/sysctl.conf"];

fuzz_target!(|input: (u8, &[u8])| {
    TREE.with(|tree| {
        let (which, bytes) = input;
        put(tree, "/proc/sys/kernel/hostname", b"secret-host\n");
        put(tree, FILES[usize::from(which) % FILES.len()], bytes);
        // A word of its own, whatever stands before it.
        let planted = [bytes, b"\nmlx5_core secret-host ac:1f:6b:00:c1:01 198.51.100.77\n"].concat();
        put(tree, FILES[usize::from(which) % 2], &planted);
        let out = tree.path("/out");
        let _ = fs::remove_dir_all(&out);
        record(tree, &Options::default(), &out).expect("it can be recorded");
        for file in FILES {
            let text = fs::read(Path::new(&out).join(file.trim_start_matches('/'))).unwrap_or_default();
            for secret in SECRETS {
                assert!(!text.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret} in {file}");
            }
        }
    });
});
