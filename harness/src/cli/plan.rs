//! `plan`: shows what a scenario would run. Touches nothing, and reads the store where there is one.

use std::path::{Path, PathBuf};

use clap::Args;
use rdma_harness::{
    plan::{self, Earlier, Noise, Outlook},
    scenario,
    store::StoreError,
};

use super::{Place, output};
use crate::exit::Exit;

/// Campaigns that are asked how noisy and how slow the next will be: the newest few.
const EARLIER: usize = 3;

/// Arguments of `plan`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness plan scenarios/queue-depth.toml
  rdma-harness plan scenarios/queue-depth.toml --json

Where the store holds campaigns of the same runs, what they took and how much their pairs differed is what is promised.")]
pub(super) struct Plan {
    /// The scenario file
    scenario: PathBuf,
    /// Print the plan as one JSON document
    #[arg(long)]
    json: bool,
}

impl Plan {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let text = if self.json { json(&self.scenario, place)? } else { show(&self.scenario, place)? };
        output::print(&text)?;
        Ok(Exit::Fine)
    }
}

/// The plan of a scenario in text, with a note where its seed was only drawn to show it.
pub(super) fn show(file: &Path, place: &Place) -> anyhow::Result<String> {
    let scenario = scenario::load(file)?;
    let plan = plan::plan(&scenario, draw_seed()?)?;
    let text = plan::show(&plan, &outlook(&plan, place)?);
    let note = "the seed was drawn now; another is drawn and recorded when it runs (`seed = N` in [design] fixes it)";
    Ok(if scenario.design.seed.is_none() { format!("{text}\n\n{note}") } else { text })
}

fn json(file: &Path, place: &Place) -> anyhow::Result<String> {
    let scenario = scenario::load(file)?;
    let plan = plan::plan(&scenario, draw_seed()?)?;
    let outlook = outlook(&plan, place)?;
    Ok(serde_json::to_string_pretty(&plan::document(&plan, &outlook, scenario.design.seed.is_some()))?)
}

/// What the plan promises; by the store, where there is one.
fn outlook(plan: &plan::Plan, place: &Place) -> anyhow::Result<Outlook> {
    let store = match place.open() {
        Ok(store) => store,
        Err(StoreError::Missing { .. } | StoreError::NoPlace) => return Ok(Outlook::of(plan, None)),
        Err(error) => return Err(error.into()),
    };
    let heads = store.comparisons(&plan.scenario)?.filter(|head| head.tried > 0).take(EARLIER);
    let earlier = heads.map(|head| {
        let (campaign, times) = (store.load(head.id)?, store.times(head.id)?);
        Ok(Earlier { campaign, times })
    });
    let earlier = earlier.collect::<Result<Vec<Earlier>, StoreError>>()?;
    Ok(Outlook::of(plan, Noise::of(plan, &earlier)))
}

/// A seed for a scenario that names none; short enough to be retyped.
pub(super) fn draw_seed() -> anyhow::Result<u64> {
    Ok(u64::from(getrandom::u32()?))
}
