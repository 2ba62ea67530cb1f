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
    /// Every planned run has been tried, or no more are needed ([`Campaign::stopped`]).
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

/// When a campaign has enough blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum StopRule {
    /// When all planned blocks are made.
    #[default]
    AllBlocks,
    /// When every gate is decided, or the budget is spent. The gates are looked at after `first_look` blocks, and again after
    /// every `look_every` further ones; the last look is after [`Design::blocks`] blocks, which are the most that are made.
    WhenDecided {
        /// Blocks before the first look.
        first_look: u32,
        /// Blocks between two looks.
        look_every: u32,
        /// No block is begun that would probably end later than this after the start; null without a limit.
        max_time_ns: Option<Nanos>,
    },
}

/// Why a campaign that may stop early has no more runs to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// Every gate was decided at a look.
    Decided,
    /// All planned blocks were made.
    BlocksSpent,
    /// Its time was spent: what there is is looked at for the last time.
    TimeSpent,
}

/// Something that is either off or on in a factorial campaign: the variants are the combinations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Factor {
    /// Its name in the scenario.
    pub name: String,
    /// What it sets where it is on, as written in the scenario.
    pub settings: BTreeMap<String, String>,
    /// What it turns on the hosts where it is on.
    #[serde(default)]
    pub tuning: SidesTuning,
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
    /// Names of the [`Campaign::factors`] that are on in it; empty for the baseline, and where there are no factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors_on: Vec<String>,
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
    /// Blocks, or the most that are made where the rule may stop earlier; each holds every variant once, and a second baseline
    /// as the control.
    pub blocks: u32,
    /// Seed of the order within the blocks.
    pub seed: u64,
    /// Pause between two runs.
    pub cooldown_ns: Nanos,
    /// What the runs of a block share.
    #[serde(default)]
    pub grouping: Grouping,
    /// When there are enough blocks.
    #[serde(default)]
    pub stop: StopRule,
}

impl Design {
    /// Blocks after which the gates are looked at, in order. The last look is after all blocks, and the only one where the
    /// rule is to make them all.
    pub fn looks(&self) -> Vec<u32> {
        let StopRule::WhenDecided { first_look, look_every, .. } = self.stop else {
            return vec![self.blocks];
        };
        let early = (first_look..self.blocks).step_by(look_every.max(1) as usize);
        early.chain([self.blocks]).collect()
    }
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
    /// When the samples of its histograms, its time series and the evidence of its hosts were pruned, ms since 1970 UTC; null
    /// while they are there. What was published of them is kept.
    #[serde(default)]
    pub pruned_at_unix_ms: Option<u64>,
}

impl CampaignRun {
    /// The run as people count: from 1. Documents count from 0, in `sequence`.
    pub fn number(&self) -> u32 {
        self.sequence + 1
    }
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
    /// Why it has no more runs to make; null while it has, and for a campaign that makes all its blocks.
    #[serde(default)]
    pub stopped: Option<Stopped>,
    /// What is on or off in the variants of a factorial campaign; empty in any other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<Factor>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(blocks: u32, first_look: u32, look_every: u32) -> Vec<u32> {
        let stop = StopRule::WhenDecided { first_look, look_every, max_time_ns: None };
        Design { blocks, seed: 1, cooldown_ns: Nanos(0), grouping: Grouping::PerRun, stop }.looks()
    }

    #[test]
    fn the_last_look_is_after_all_blocks_and_comes_once() {
        assert_eq!(looks(20, 6, 4), [6, 10, 14, 18, 20]);
        assert_eq!(looks(18, 6, 4), [6, 10, 14, 18]);
        assert_eq!(looks(6, 6, 4), [6]);
        assert_eq!(looks(4, 6, 0), [4], "what no scenario says ends all the same");
        let stop = StopRule::AllBlocks;
        let all = Design { blocks: 9, seed: 1, cooldown_ns: Nanos(0), grouping: Grouping::PerRun, stop };
        assert_eq!(all.looks(), [9]);
    }
}
