//! `prune`: takes out of old nights what only a closer look at them needs.

use std::time::Duration;

use clap::Args;
use rdma_harness::{
    store::{Prunable, PruneRule, Pruned},
    words,
};

use super::{Place, output};
use crate::exit::Exit;

/// Arguments of `prune`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness prune --older-than 90d --dry-run   what would go
  rdma-harness prune --older-than 90d             let it go

What goes: the samples of histograms, time series and host evidence of runs; the records of pairs of clusters.
What stays: every published number, the values of nights, what was said about them, and all of a night
in which something was found, or that a person noted, acknowledged or pinned as a baseline.")]
pub(super) struct Prune {
    /// Only what began longer ago: 90d, 26w, 1y
    #[arg(long, value_name = "AGE", value_parser = humantime::parse_duration)]
    older_than: Duration,
    /// Say what would go, and let it be
    #[arg(long)]
    dry_run: bool,
    /// Nights too that something was said about
    #[arg(long)]
    also_flagged: bool,
    /// Campaigns and clusters too that belong to no night
    #[arg(long)]
    also_campaigns: bool,
}

impl Prune {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let now = words::unix_ms();
        let age = u64::try_from(self.older_than.as_millis()).unwrap_or(u64::MAX);
        let rule = PruneRule {
            before_unix_ms: now.saturating_sub(age),
            also_flagged: self.also_flagged,
            also_campaigns: self.also_campaigns,
        };
        if self.dry_run {
            let what = place.open()?.prunable(&rule)?;
            output::print(&told("would go", &what, &rule))?;
            return Ok(Exit::Fine);
        }
        let mut store = place.open_to_write()?;
        let _lock = store.lock_to_measure()?;
        let what = store.prunable(&rule)?;
        let Pruned { bytes_before, bytes_after } = store.prune(&what, now)?;
        output::print(&told("pruned", &what, &rule))?;
        output::print(&format!("file      {bytes_after} bytes, was {bytes_before}"))?;
        Ok(Exit::Fine)
    }
}

fn told(did: &str, what: &Prunable, rule: &PruneRule) -> String {
    let Prunable { campaigns, nights, flagged, runs, clusters, pair_runs } = what;
    let mut text = format!(
        "{did:<10}runs {runs}, campaigns {}, pairs {pair_runs}, clusters {}, nights {}, begun before {}\n",
        campaigns.len(),
        clusters.len(),
        nights.len(),
        words::moment(rule.before_unix_ms)
    );
    if !flagged.is_empty() {
        let flagged: Vec<String> = flagged.iter().map(i64::to_string).collect();
        text.push_str(&format!("kept      nights {}: something was said about them\n", flagged.join(", ")));
    }
    text
}
