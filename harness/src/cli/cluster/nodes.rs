//! The flags by which nodes are named, as `cluster run` and `cluster plan` take them.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

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
    /// How long an agent may take to come, in seconds [default: what the suite says]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(super) wait: Option<u64>,
    /// Where agents that connect find this controller (slurm, join) [default: any address, a free port]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(super) listen: Option<SocketAddr>,
    /// The host by which they find it [default: what srun tells them; this host's name]
    #[arg(long, value_name = "HOST")]
    pub(super) controller: Option<String>,
    /// The token that they prove (join): read, or drawn and written where there is no such file [default: drawn, and removed afterwards]
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
}

impl Nodes {
    /// What is asked of the launcher, with the suite's patience where none is given.
    pub(super) fn ask(&self, wait: Duration) -> Ask {
        Ask {
            nodes: self.nodes.clone(),
            hostfile: self.hostfile.clone(),
            topology: self.topology.clone(),
            listen: self.listen,
            controller: self.controller.clone(),
            token_file: self.token_file.clone(),
            wait: self.wait.map_or(wait, Duration::from_secs),
            ..Ask::new(self.launcher)
        }
    }
}
