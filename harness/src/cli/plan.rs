//! `plan`: shows what a scenario would run. Touches nothing.

use std::path::PathBuf;

use clap::Args;
use rdma_harness::{plan, scenario};

use crate::exit::Exit;

/// Arguments of `plan`.
#[derive(Args)]
#[command(after_help = "Example:\n  rdma-harness plan scenarios/queue-depth.toml")]
pub(super) struct Plan {
    /// The scenario file
    scenario: PathBuf,
}

impl Plan {
    pub(super) fn execute(self) -> anyhow::Result<Exit> {
        println!("{}", show(&self.scenario)?);
        Ok(Exit::Fine)
    }
}

/// The plan of a scenario in text, with a note where its seed was only drawn to show it.
pub(super) fn show(file: &std::path::Path) -> anyhow::Result<String> {
    let scenario = scenario::load(file)?;
    let text = plan::show(&plan::plan(&scenario, draw_seed()?)?);
    let note = "the seed was drawn now; another is drawn and recorded when it runs (`seed = N` in [design] fixes it)";
    Ok(if scenario.design.seed.is_none() { format!("{text}\n\n{note}") } else { text })
}

/// A seed for a scenario that names none; short enough to be retyped.
pub(super) fn draw_seed() -> anyhow::Result<u64> {
    Ok(u64::from(getrandom::u32()?))
}
