//! `cluster plan`: shows what a suite would do with these nodes. Touches nothing.

use std::path::PathBuf;

use clap::Args;
use rdma_harness::cluster::{launch, plan, suite};

use super::{
    super::{output, plan::draw_seed},
    nodes::Nodes,
};
use crate::exit::Exit;

/// Arguments of `cluster plan`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness cluster plan scenarios/cluster/soft.toml --nodes 8
  rdma-harness cluster plan scenarios/cluster/hops.toml --launcher ssh --nodes 'node[1-64]' --topology topology.conf
  rdma-harness cluster plan scenarios/cluster/roce.toml --hostfile rack.hosts --json")]
pub(super) struct Plan {
    /// The suite file
    suite: PathBuf,
    #[command(flatten)]
    nodes: Nodes,
    /// Print the plan as one JSON document
    #[arg(long)]
    json: bool,
}

impl Plan {
    pub(super) fn execute(self) -> anyhow::Result<Exit> {
        let suite = suite::load(&self.suite)?;
        let wanted = launch::wanted(&self.nodes.ask(suite.launch_wait))?;
        let plan = plan::plan(&suite, &wanted, draw_seed()?)?;
        let text = if self.json { serde_json::to_string_pretty(&plan)? } else { plan::show(&plan) };
        output::print(&text)?;
        Ok(Exit::Fine)
    }
}
