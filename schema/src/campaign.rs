//! A campaign: a scenario carried out, with every run in the order it happened.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{metric::Gate, record::RunRecord, spec::RunSpec, tuning::SidesTuning, units::Nanos};

/// What a variant is in the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What others are compared with; one per campaign.
    Baseline,
    /// Compared with the baseline.
    Candidate,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Part of a pair of baseline and candidate.
    Measure,
    /// A second run of the baseline in the block: the A/A control, where any difference is noise.
    Control,
}

/// How far a campaign has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CampaignState {
    /// Runs are missing; `run --resume` goes on.
    Unfinished,
    /// Every planned run has been tried.
    Finished,
}

/// What is done once and holds for several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    /// Hosts are tuned for one run and turned back after it: the runs of a block are shuffled freely.
    #[default]
    PerRun,
    /// Hosts are tuned once a block and variant, because turning a knob disturbs the link or takes long: the runs of one
    /// variant stand together in the block, and the order of the variants is shuffled.
    PerBlock,
}

/// One way to run the workloads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// Its name in the scenario.
    pub name: String,
    /// Baseline or candidate.
    pub role: Role,
    /// What it sets, as written in the scenario: `tx_depth` -> `128`.
    pub settings: BTreeMap<String, String>,
    /// What it turns on the hosts.
    #[serde(default)]
    pub tuning: SidesTuning,
}

/// One thing that is measured under every variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Its name in the scenario.
    pub name: String,
    /// The resolved spec per variant name: nothing is left to a default.
    pub specs: BTreeMap<String, RunSpec>,
}

/// How the runs are laid out in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Design {
    /// Blocks; each holds every variant once, and a second baseline as the control.
    pub blocks: u32,
    /// Seed of the order within the blocks.
    pub seed: u64,
    /// Pause between two runs.
    pub cooldown_ns: Nanos,
    /// What the runs of a block share.
    #[serde(default)]
    pub grouping: Grouping,
}

/// One run of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CampaignRun {
    /// Position in the planned order, from 0; also the order in time.
    pub sequence: u32,
    /// Block, from 0.
    pub block: u32,
    /// Workload name.
    pub workload: String,
    /// Variant name.
    pub variant: String,
    /// Pair or control.
    pub purpose: Purpose,
    /// What happened.
    pub record: RunRecord,
}

/// A scenario carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Campaign {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Identity in the store.
    pub id: i64,
    /// Name of the scenario.
    pub scenario: String,
    /// The question it answers.
    pub question: String,
    /// The scenario file as it was.
    pub scenario_toml: String,
    /// Start, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
    /// How far it has come.
    pub state: CampaignState,
    /// Baseline first.
    pub variants: Vec<Variant>,
    /// In scenario order.
    pub workloads: Vec<Workload>,
    /// How the runs are laid out.
    pub design: Design,
    /// What decides the verdict.
    pub gates: Vec<Gate>,
    /// In the order they happened.
    pub runs: Vec<CampaignRun>,
}
