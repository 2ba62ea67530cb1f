//! The flags by which nodes are named, as `cluster run` and `cluster plan` take them.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use rdma_harness::cluster::launch::Ask;
use schema::LauncherKind;

/// Which nodes there are, and how agents get onto them.
#[derive(Args)]
pub(super) struct Nodes {
    /// How agents are started: slurm (in an allocation), ssh, local, or join (by someone else)
    #[arg(long, value_name = "KIND", default_value = "local", value_parser = |text: &str| text.parse::<LauncherKind>())]
    pub(super) launcher: LauncherKind,
    /// The nodes: a set such as node[1-8]; a number for local and join
    #[arg(long, value_name = "SET")]
    pub(super) nodes: Option<String>,
    /// A file with one node a line, and what differs between them
    #[arg(long, value_name = "FILE")]
    pub(super) hostfile: Option<PathBuf>,
    /// A file that tells which switches are above which nodes, as Slurm's topology.conf
    #[arg(long, value_name = "FILE")]
    pub(super) topology: Option<PathBuf>,
}

impl Nodes {
    /// What is asked of the launcher.
    pub(super) fn ask(&self, wait: Duration) -> Ask {
        Ask {
            kind: self.launcher,
            nodes: self.nodes.clone(),
            hostfile: self.hostfile.clone(),
            topology: self.topology.clone(),
            wait,
        }
    }
}
