//! `agent`: looks after this host for a campaign or a cluster. Started by `run` and `cluster run`, here or through ssh, or by a
//! scheduler, and then it connects.

use std::{
    io,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use host::Sysroot;
use rdma_harness::{
    agent::{
        self, Setup,
        identity::{self, Flags},
        join::{JoinToken, Target, dial},
    },
    interrupt::Interrupt,
};

use crate::exit::{Exit, UsageError};

/// Arguments of `agent`.
#[derive(Args)]
#[command(
    after_help = "`rdma-harness run` starts one agent a side, and speaks with it in lines of JSON; docs/agents.md has the protocol.
`rdma-harness cluster run` starts one a node, or waits for agents that mpirun or a Job starts: those connect; docs/cluster.md has how.
When stdin or the connection ends, or at SIGTERM, SIGINT or SIGHUP, it ends what it started, turns back what it turned, and goes.

Example, a rehearsal on a copy of a host's files:
  rdma-harness agent --sysroot ./tree
Example, one a node by Open MPI, for a controller that waits on node1:
  mpirun -N 1 rdma-harness agent --connect node1:18516 --token-file token

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
    /// Connect to a controller that waits here instead of speaking over stdin and stdout: HOST:PORT, or @slurm:PORT for the host where srun was started
    #[arg(long, value_name = "HOST:PORT", requires = "token_file")]
    connect: Option<Target>,
    /// The token that both prove to each other, in a file, or as the first line of stdin with -
    #[arg(long, value_name = "FILE", requires = "connect")]
    token_file: Option<PathBuf>,
    /// How long the controller may take to be there, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, requires = "connect")]
    wait: u64,
}

impl Agent {
    pub(super) fn execute(self) -> anyhow::Result<Exit> {
        let interrupt = Interrupt::default();
        let raised = interrupt.clone();
        ctrlc::set_handler(move || raised.raise()).context("listening for signals")?;
        let environment = identity::of_this_process();
        let Agent { verbs_bench, sysroot, state_dir, rank, node_name, address, connect, token_file, wait } =
            self;
        let flags = Flags { rank, node_name, address };
        // An agent that one stdio reaches is told by it; only of many that connect must each know which it is.
        let is_told = connect.is_some() || rank.is_some();
        let identity = is_told.then(|| identity::discover(&flags, &environment));
        let identity = identity.transpose().map_err(UsageError)?;
        let sysroot = Sysroot::new(sysroot);
        let setup = Setup { sysroot, state_dir, verbs_bench, identity: identity.clone(), ..Setup::live() };
        match (connect, token_file, identity) {
            (Some(target), Some(file), Some(identity)) => {
                let target = target.resolved(&environment).map_err(UsageError)?;
                let token =
                    if file == Path::new("-") { JoinToken::of_stdin() } else { JoinToken::read(&file) };
                let hostname = setup.sysroot.read("/proc/sys/kernel/hostname").known();
                let wait = Duration::from_secs(wait);
                let (input, output) = dial(&target, &token?, &identity, hostname, wait, &interrupt)?;
                agent::serve(input, output, setup, &interrupt)?;
            }
            _ => agent::serve(io::stdin(), io::stdout(), setup, &interrupt)?,
        }
        Ok(Exit::Fine)
    }
}
