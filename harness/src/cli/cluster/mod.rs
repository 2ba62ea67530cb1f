//! `cluster`: many nodes, every pair. One file a subcommand.

mod drain;
mod export;
mod kept;
mod list;
mod nodes;
mod plan;
mod progress;
mod report;
mod run;
mod show;

use clap::{Args, Subcommand};

use super::Place;
use crate::exit::Exit;

/// Arguments of `cluster`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness cluster run scenarios/cluster/soft.toml
  rdma-harness cluster plan scenarios/cluster/soft.toml --nodes 8
  rdma-harness cluster plan scenarios/cluster/roce.toml --launcher ssh --hostfile rack.hosts
  rdma-harness cluster show
  rdma-harness cluster report --out report --open

docs/cluster.md tells how to write a suite, and how agents get onto the nodes.")]
pub(super) struct Cluster {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure the pairs of a cluster, and say which node, link or switch stands out
    Run(run::Run),
    /// Show which pairs a suite would measure, in which rounds, for how long, and what is kept
    Plan(plan::Plan),
    /// Drain the nodes in Slurm that a cluster found slow, and give back those that are well (shows it, unless told to do it)
    Drain(drain::Drain),
    /// List the clusters that were measured
    List(list::List),
    /// Show what is said of a cluster, of a node, of a pair, or all that is kept of a run
    Show(show::Show),
    /// Write the report of a cluster: report.html with a map of all pairs, report.md, report.json
    Report(report::Report),
    /// Write a cluster for other tools: JUnit, Prometheus, CSV, JSON
    Export(export::Export),
}

impl Cluster {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        match self.command {
            Command::Run(run) => run.execute(place),
            Command::Plan(plan) => plan.execute(),
            Command::Drain(drain) => drain.execute(place),
            Command::List(list) => list.execute(place),
            Command::Show(show) => show.execute(place),
            Command::Report(report) => report.execute(place),
            Command::Export(export) => export.execute(place),
        }
    }
}
