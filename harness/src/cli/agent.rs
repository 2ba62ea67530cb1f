//! `agent`: looks after one side of a campaign on this host. Started by `run`, here or through ssh.

use std::{io, net::IpAddr, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use host::Sysroot;
use rdma_harness::{
    agent::{self, Setup, identity, identity::Flags},
    interrupt::Interrupt,
};

use crate::exit::{Exit, UsageError};

/// Arguments of `agent`.
#[derive(Args)]
#[command(
    after_help = "`rdma-harness run` starts one agent a side, and speaks with it in lines of JSON; docs/agents.md has the protocol.
When stdin ends, or at SIGTERM, SIGINT or SIGHUP, it ends what it started, turns back what it turned, and goes.

Example, a rehearsal on a copy of a host's files:
  rdma-harness agent --sysroot ./tree

Exit codes: 0 the link ended, 2 wrong use, 3 what came over the link is no order, or the host could not be turned back."
)]
pub(super) struct Agent {
    /// The verbs-bench to use [default: the one beside this program, else the one in PATH]
    #[arg(long, value_name = "FILE", env = "VERBS_BENCH")]
    verbs_bench: Option<PathBuf>,
    /// Read this folder as the root of the host
    #[arg(long, value_name = "DIR", default_value = "/", env = "RDMA_HARNESS_SYSROOT")]
    sysroot: PathBuf,
    /// Keep the journal of the tuning in this folder [default: /run/rdma-harness below the root]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Which of many agents this is, from 0 [default: what srun, mpirun or an Indexed Job says, if it is asked]
    #[arg(long, value_name = "N")]
    rank: Option<u32>,
    /// The name of its node [default: Slurm's, else that of the host]
    #[arg(long, value_name = "NAME", env = "RDMA_HARNESS_NODE_NAME")]
    node_name: Option<String>,
    /// Address by which other nodes reach this host [default: the one by which it was reached itself]
    #[arg(long, value_name = "IP")]
    address: Option<IpAddr>,
}

impl Agent {
    pub(super) fn execute(self) -> anyhow::Result<Exit> {
        let Agent { verbs_bench, sysroot, state_dir, rank, node_name, address } = self;
        let flags = Flags { rank, node_name, address };
        // One that a pair of hosts has is told by its link alone.
        let identity = rank
            .map(|_| identity::discover(&flags, &identity::of_this_process()))
            .transpose()
            .map_err(UsageError)?;
        let sysroot = Sysroot::new(sysroot);
        let setup = Setup { sysroot, state_dir, verbs_bench, identity, ..Setup::live() };
        let interrupt = Interrupt::default();
        let raised = interrupt.clone();
        ctrlc::set_handler(move || raised.raise()).context("listening for signals")?;
        agent::serve(io::stdin(), io::stdout(), setup, &interrupt)?;
        Ok(Exit::Fine)
    }
}
