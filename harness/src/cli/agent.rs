//! `agent`: looks after one side of a campaign on this host. Started by `run`, here or through ssh.

use std::{io, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use host::Sysroot;
use rdma_harness::{
    agent::{self, Setup},
    interrupt::Interrupt,
};

use crate::exit::Exit;

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
}

impl Agent {
    pub(super) fn execute(self) -> anyhow::Result<Exit> {
        let Agent { verbs_bench, sysroot, state_dir } = self;
        let setup = Setup { sysroot: Sysroot::new(sysroot), state_dir, verbs_bench, ..Setup::live() };
        let interrupt = Interrupt::default();
        let raised = interrupt.clone();
        ctrlc::set_handler(move || raised.raise()).context("listening for signals")?;
        agent::serve(io::stdin(), io::stdout(), setup, &interrupt)?;
        Ok(Exit::Fine)
    }
}
