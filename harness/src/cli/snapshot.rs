//! `rdma-harness snapshot`: this host as a tree of files, to be audited elsewhere.

use std::path::PathBuf;

use clap::Args;
use host::Sysroot;
use rdma_harness::snapshot::{self, MANIFEST_PATH, Manifest, Options};

use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  rdma-harness snapshot --out node-a
  rdma-harness doctor --sysroot node-a
  sudo rdma-harness snapshot --out node-a.tar --device mlx5_0

Names, addresses and identities are replaced by tokens unless --no-redact is given; /.recorded/snapshot.json in the
tree says so, and lists what could not be read. Without root, what only root may read is missing.

Exit codes:
  0 recorded   2 wrong use   3 could not be recorded";

/// What to record, and where to.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Snapshot {
    /// A folder that does not exist yet, or a file whose name ends in .tar
    #[arg(long, value_name = "DIR|FILE.tar")]
    out: PathBuf,
    /// One RDMA device alone
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Keep host names, MACs, GUIDs, GIDs, IP addresses, UUIDs and serial numbers as they are
    #[arg(long)]
    no_redact: bool,
    /// Record the host whose root is here
    #[arg(long, value_name = "DIR", default_value = "/")]
    sysroot: PathBuf,
    /// Print the manifest as JSON
    #[arg(long)]
    json: bool,
}

impl Snapshot {
    pub(super) fn execute(self) -> anyhow::Result<Exit> {
        let options = Options { device: self.device, keep_identities: self.no_redact };
        let manifest = snapshot::record(&Sysroot::new(self.sysroot), &options, &self.out)?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&manifest)?);
        } else {
            print(&manifest, &self.out.display().to_string());
        }
        Ok(Exit::Fine)
    }
}

fn print(manifest: &Manifest, out: &str) {
    println!("{out}: {} files, {} links", manifest.files, manifest.links);
    if manifest.redacted {
        println!("replaced: {}", manifest.replaced);
    } else {
        println!("not redacted: it names the host, its devices and its network");
    }
    if !manifest.missed.is_empty() {
        println!("not given by the host: {} files, listed in {MANIFEST_PATH}", manifest.missed.len());
    }
    if !manifest.privileged {
        println!("taken without root: what only root may read is missing");
    }
}
