//! `cluster drain`: takes confirmed slow nodes out of Slurm, and gives those back that are well again. Shows it only, unless told to do it.

use std::path::Path;

use clap::Args;
use rdma_harness::cluster::{
    drain::{self, Change, DrainPlan, Scontrol, Wishes},
    suite,
};
use reports::cluster::judge;

use super::super::{Place, output};
use crate::exit::Exit;

/// Arguments of `cluster drain`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness cluster drain 7
  rdma-harness cluster drain 7 --apply
  rdma-harness cluster drain 8 --release --apply

Nodes that a confirmed finding names are drained with a reason that begins with `rdma-harness:`. A node that bears any other reason, or
that somebody else drained, is left as it is. Without --apply nothing is changed.
Exit codes: 0 done, or nothing to do   2 wrong use   3 Slurm could not be asked or refused, or too many nodes would be drained.")]
pub(super) struct Drain {
    /// Number of the cluster
    cluster: i64,
    /// Do it; without this, what would be done is only shown
    #[arg(long)]
    apply: bool,
    /// Give back nodes that this program drained and of which this cluster says nothing bad
    #[arg(long)]
    release: bool,
    /// The most nodes that are drained by this program at the same time; where more are slow, nothing is changed
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    at_most: u32,
    /// The nodes of a cluster that ssh or others started bear the names that Slurm knows them by
    #[arg(long)]
    slurm_names: bool,
}

impl Drain {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        let id = store.cluster_id(Some(self.cluster))?;
        let cluster = store.cluster(id)?;
        drain::check(&cluster, self.slurm_names)?;
        let rules = suite::rules(Path::new(&cluster.suite), &store.cluster_text(id)?.suite_toml)?;
        let report = judge(&cluster, &rules);
        let scontrol = Scontrol::default();
        let wishes = Wishes { release: self.release, at_most: self.at_most };
        let plan = drain::plan(&report, &scontrol.show(None)?, wishes)?;
        output::print(&shown(&plan, self.apply))?;
        let mut exit = Exit::Fine;
        for change in plan.changes.iter().filter(|_| self.apply) {
            match drain::apply(&scontrol, change) {
                Ok(Ok(())) => {}
                Ok(Err(left)) => eprintln!("rdma-harness: {} {}; it is left alone", left.node, left.why),
                // The others are still worth it.
                Err(error) => {
                    eprintln!("rdma-harness: {error}");
                    exit = Exit::CouldNotRun;
                }
            }
        }
        Ok(exit)
    }
}

fn shown(plan: &DrainPlan, apply: bool) -> String {
    let mut lines: Vec<String> = plan.changes.iter().map(Change::command).collect();
    lines.extend(plan.left_alone.iter().map(|left| format!("# {} is left alone: {}", left.node, left.why)));
    lines.push(match (plan.changes.is_empty(), apply) {
        (true, _) => "# nothing to do".to_owned(),
        (false, false) => "# nothing was changed; --apply does it".to_owned(),
        (false, true) => "# done as above".to_owned(),
    });
    lines.join("\n")
}
