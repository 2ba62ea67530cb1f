//! `cluster list`: what clusters are in the store.

use clap::Args;
use rdma_harness::{store::ClusterSummary, words};

use crate::{
    cli::{Place, output, runs},
    exit::Exit,
};

/// Arguments of `cluster list`.
#[derive(Args)]
pub(super) struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let clusters = place.open()?.clusters()?;
        if self.json {
            output::print(&serde_json::to_string_pretty(&clusters)?)?;
            return Ok(Exit::Fine);
        }
        let mut table = runs::table(&[
            "cluster", "started", "suite", "launcher", "pattern", "nodes", "rounds", "runs", "state",
        ]);
        for one in &clusters {
            table.add_row([
                one.id.to_string(),
                words::moment(one.started_at_unix_ms),
                one.suite.clone(),
                one.launcher.to_string(),
                one.pattern.to_string(),
                nodes(one),
                one.rounds.to_string(),
                made(one),
                state(one),
            ]);
        }
        output::print(&table.trim_fmt())?;
        Ok(Exit::Fine)
    }
}

fn nodes(of: &ClusterSummary) -> String {
    match of.nodes - of.present {
        0 => of.nodes.to_string(),
        _ => format!("{} of {}", of.present, of.nodes),
    }
}

fn made(of: &ClusterSummary) -> String {
    let some = |count: u32, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let parts =
        [Some(of.runs.to_string()), some(of.could_not_run, "could not run"), some(of.invalid, "not usable")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn state(of: &ClusterSummary) -> String {
    match (of.ended_at_unix_ms, of.night) {
        (None, _) => "unfinished".to_owned(),
        (Some(_), None) => "finished".to_owned(),
        (Some(_), Some(night)) => format!("finished, night {night}"),
    }
}
