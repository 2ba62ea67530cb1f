//! A suite of one scenario on the software NIC, in a folder of its own with its store: nights in fast motion.
//!
//! What is watched is the median time of a large read, by which a busy machine cannot hide what the model plays out: a read that
//! met another process on its CPU is one of several hundred.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command};

use tempfile::TempDir;

use crate::programs::{program, rdma_harness};

/// The rate of the model; a read of 64 KiB takes 131 us at it, and 2 us there and back.
pub const RATE: &str = "rate=4Gbps";

/// The suite file, `rack.toml`.
pub const SUITE: &str = r#"question = "As fast as it was last night?"
runs = 5
[[scenarios]]
file = "link.toml"
metrics = ["p50"]
[rules]
nights_to_start = 4
smallest_change = "2%"
"#;

/// Its scenario, `link.toml`.
pub const SCENARIO: &str = r#"question = "How long does a large read take?"
[hosts.requester]
device = "soft"
cpu = "none"
[hosts.responder]
cpu = "none"
[soft]
model = "latency=1us,rate=4Gbps"
[design]
duration = "60ms"
warmup = "5ms"
cooldown = "0ms"
[[workloads]]
name = "read"
test = "latency"
op = "read"
size = ["32Ki", "64Ki"]
"#;

/// A folder with suite, scenario and store.
#[derive(Debug)]
pub struct Rack {
    folder: TempDir,
}

impl Default for Rack {
    fn default() -> Self {
        Self::new()
    }
}

impl Rack {
    /// [`SUITE`] and [`SCENARIO`].
    pub fn new() -> Self {
        let rack = Rack { folder: tempfile::tempdir().expect("a temporary folder") };
        rack.write("rack.toml", SUITE);
        rack.write("link.toml", SCENARIO);
        rack
    }

    /// A file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file in the folder.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("the folder can be written to");
    }

    /// `rdma-harness` in the folder, with the store in it.
    pub fn harness(&self, arguments: &[&str]) -> Command {
        let mut command = rdma_harness(arguments);
        command.current_dir(self.folder.path()).args(["--store", "store.db"]);
        command
    }

    /// A verbs-bench that tells this firmware in its records, where the software NIC tells none.
    pub fn verbs_bench_with_firmware(&self, firmware: &str) -> PathBuf {
        let file = self.path(&format!("verbs-bench-{firmware}"));
        let real = program("verbs-bench");
        // The process that is started must be verbs-bench itself: it ends with its parent.
        let text = format!(
            "#!/bin/bash\n[ \"$1\" = run ] || exec {real} \"$@\"\nexec {real} \"$@\" > >(sed -E 's/\"firmware\": ?null/\"firmware\":\"{firmware}\"/g')\n",
            real = real.display()
        );
        fs::write(&file, text).expect("the folder can be written to");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it is ours");
        file
    }
}
