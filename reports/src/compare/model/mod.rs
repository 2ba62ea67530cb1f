//! What a comparison says: one cell per workload, message size, candidate and metric, and the verdict over the gates.
//!
//! Data only. Numbers are in [`schema::Metric::unit`]; shares are shares (0.02 is 2 %), never percent.

mod cell;
mod effect;
mod evidence;
mod factorial;
mod looks;
mod ranking;
mod unusable;
mod verdict;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cell::*;
pub use effect::*;
pub use evidence::*;
pub use factorial::*;
pub use looks::*;
pub use ranking::*;
pub use unusable::*;
pub use verdict::*;

/// The outcome of a campaign, with everything that led to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`schema::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Identity of the campaign in the store.
    pub campaign_id: i64,
    /// Name of the scenario.
    pub scenario: String,
    /// The question the scenario asks.
    pub question: String,
    /// Name of the variant all others are compared with.
    pub baseline: String,
    /// Labels of the simulated fabrics among the runs; empty when every run used a real device.
    pub simulated: Vec<String>,
    /// Whether every planned run has been tried.
    pub finished: bool,
    /// Significance level of all tests.
    pub alpha: f64,
    /// The answer.
    pub verdict: CampaignVerdict,
    /// How far a campaign that may stop early has looked; null for one that makes all its blocks.
    #[serde(default)]
    pub looks: Option<Looks>,
    /// What was combined and what can therefore be told apart; null for a campaign of listed variants.
    #[serde(default)]
    pub factorial: Option<FactorialDesign>,
    /// What brought what, for each metric of a workload and size that decides; empty for a campaign of listed variants.
    #[serde(default)]
    pub rankings: Vec<Ranking>,
    /// In the order of workload, message size, candidate, metric.
    pub cells: Vec<Cell>,
    /// Runs that could not be used, in time order.
    pub unusable: Vec<UnusableRun>,
    /// Runs whose samples, time series and evidence were pruned; their published numbers are compared as ever.
    #[serde(default)]
    pub pruned_runs: u32,
    /// What the hosts did around the runs; null where nobody watched, and in documents of earlier releases.
    #[serde(default)]
    pub evidence: Option<EvidenceSummary>,
}

impl Comparison {
    /// 0 fine, 1 regression, 3 could not run, 4 inconclusive or unstable.
    pub fn exit_code(&self) -> u8 {
        match self.verdict {
            CampaignVerdict::Improved | CampaignVerdict::Negligible | CampaignVerdict::Equivalent => 0,
            CampaignVerdict::Regressed => 1,
            CampaignVerdict::CouldNotRun | CampaignVerdict::Invalid => 3,
            CampaignVerdict::Unstable | CampaignVerdict::Inconclusive => 4,
        }
    }

    /// The cells the verdict rests on.
    pub fn gates(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| cell.gated)
    }
}
