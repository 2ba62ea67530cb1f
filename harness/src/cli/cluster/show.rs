//! `cluster show`: what is said of a cluster, of one of its nodes, of a pair, or all that is kept of a run.

use clap::Args;
use rdma_harness::words;
use reports::render::cluster;

use super::kept::{Which, rank};
use crate::{
    cli::{Place, output},
    exit::Exit,
};

/// Arguments of `cluster show`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness cluster show                        the newest cluster: verdict, findings, nodes
  rdma-harness cluster show 12 --node node7        what is said of a node, and what its host told
  rdma-harness cluster show 12 --pair node7 node3  every run of two nodes, both ways
  rdma-harness cluster show 12 --run 411 --json    the whole record of a run

The exit code is 0 whatever is said of the cluster; `cluster run` is what ends with 1 for a slow node.")]
pub(super) struct Show {
    #[command(flatten)]
    which: Which,
    /// One node
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Two nodes, both ways
    #[arg(long, num_args = 2, value_names = ["REQUESTER", "RESPONDER"], conflicts_with = "node")]
    pair: Option<Vec<String>>,
    /// One run, by its number
    #[arg(long, value_name = "RUN", conflicts_with_all = ["node", "pair"])]
    run: Option<u32>,
    /// List every node
    #[arg(long, conflicts_with_all = ["node", "pair", "run"])]
    all: bool,
    /// Print JSON: the report, or with --run the record
    #[arg(long, conflicts_with_all = ["node", "pair"])]
    json: bool,
}

impl Show {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        if let Some(sequence) = self.run {
            let record = store.pair_record(self.which.id(&store)?, sequence)?;
            let text = if self.json {
                serde_json::to_string_pretty(&record)?
            } else {
                let started = words::moment(record.started_at_unix_ms);
                format!("run {sequence}, {started}: {}: {}", words::measured(&record), words::ending(&record))
            };
            output::print(&text)?;
            return Ok(Exit::Fine);
        }
        let (measured, report) = self.which.judged(&store)?;
        let look = output::look(self.all);
        let text = if let Some(name) = &self.node {
            cluster::node(&measured, &report, rank(&measured, name)?, &look)
        } else if let Some([a, b]) = self.pair.as_deref() {
            cluster::pair(&measured, &report, [rank(&measured, a)?, rank(&measured, b)?], &look)
        } else if self.json {
            Some(cluster::json(&report))
        } else {
            Some(cluster::terminal(&report, &look))
        };
        output::print(&text.unwrap_or_default())?;
        Ok(Exit::Fine)
    }
}
