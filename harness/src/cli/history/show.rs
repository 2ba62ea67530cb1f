//! `history show`: series in full.

use std::collections::BTreeMap;

use clap::Args;
use rdma_harness::{history::Since, store::Store};
use reports::render::history::{self, CampaignOfNight, Campaigns};

use super::{Place, Which, chosen, output};
use crate::exit::{Exit, UsageError};

/// More than this is no series in full any more.
const MOST: usize = 8;

#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness history show write 64Ki bandwidth node3
  rdma-harness history show nightly-rate/write/deep/64Ki/bandwidth/node1:mlx5_0/node2:mlx5_0 --all")]
pub(super) struct Show {
    /// Words that its name has: any part, several are and
    #[arg(required = true, value_name = "SERIES")]
    series: Vec<String>,
    #[command(flatten)]
    which: Which,
    /// Show nights from then on: 30d, 2026-10-01, "night 12"
    #[arg(long, value_name = "WHEN")]
    since: Option<Since>,
    /// List the runs of every night, not only of the last ones
    #[arg(long)]
    all: bool,
}

impl Show {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        let mut report = self.which.report(&store)?;
        let ids = chosen(&report, &self.series)?;
        if ids.len() > MOST {
            return Err(UsageError(format!(
                "{} series have {} in their names, and at most {MOST} are shown in full; give more words, `rdma-harness history {}` lists them",
                ids.len(),
                self.series.join(" "),
                self.series.join(" ")
            ))
            .into());
        }
        if let Some(since) = self.since {
            since.apply(&mut report);
        }
        let campaigns = campaigns(&store)?;
        let look = output::look(self.all);
        let shown = ids.iter().filter_map(|id| history::series(&report, *id, &campaigns, &look));
        output::print(&shown.collect::<Vec<_>>().join("\n"))?;
        Ok(Exit::Fine)
    }
}

/// The campaigns of the store, none with a page.
pub(super) fn campaigns(store: &Store) -> anyhow::Result<Campaigns> {
    let of = |head: rdma_harness::store::CampaignHead| {
        (head.id, CampaignOfNight { scenario: head.scenario, page: None })
    };
    Ok(store.campaigns()?.into_iter().map(of).collect::<BTreeMap<_, _>>())
}
