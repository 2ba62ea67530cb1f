//! What the hosts did around the runs, variant beside variant.

use schema::{
    Side,
    evidence::{Level, Unit},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Spread;

/// What the hosts did around the runs, variant beside variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceSummary {
    /// The variants in the order of the columns below; baseline first.
    pub variants: Vec<String>,
    /// What was tuned, and what became of it.
    pub tuned: Vec<TunedRow>,
    /// The checks of the evidence, the gravest first.
    pub checks: Vec<CheckRow>,
    /// Counters that moved, or could not be told, in some run.
    pub counters: Vec<CounterRow>,
    /// MTUs, and daemons that move interrupts.
    pub conditions: Vec<ConditionRow>,
}

/// Targets of one knob that fared the same under a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TunedRow {
    /// The variant.
    pub variant: String,
    /// On which side's host.
    pub side: Side,
    /// The knob.
    pub knob: String,
    /// Which part of it; empty where it has one.
    pub item: String,
    /// What was written to.
    pub targets: Vec<String>,
    /// What it was: every value it had before a run.
    pub old: Vec<String>,
    /// What was asked.
    pub asked: String,
    /// What was read back while it was turned: every value.
    pub effective: Vec<String>,
    /// The states it ended in, with the number of runs, and the notes.
    pub became: String,
}

/// One check under every variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRow {
    /// Which side; null where both together were judged.
    pub side: Option<Side>,
    /// Its name.
    pub check: String,
    /// How it came out under each variant; null where it was not made.
    pub variants: Vec<Option<CheckOfVariant>>,
}

/// How a check came out over the completed runs of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckOfVariant {
    /// Runs in which it was made.
    pub runs: u32,
    /// The worst of them.
    pub worst: Level,
    /// Runs that came out so.
    pub of_worst: u32,
    /// The first of these, by its position in the planned order, from 0.
    pub example_run: u32,
    /// What was found in it.
    pub found: String,
    /// What was held against it.
    pub threshold: String,
    /// What it means.
    pub meaning: String,
}

impl CheckOfVariant {
    /// The number of the example as people count: from 1.
    pub fn example_number(&self) -> u32 {
        self.example_run + 1
    }
}

/// A counter under every variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterRow {
    /// On which side's host.
    pub side: Side,
    /// Where it was read.
    pub source: String,
    /// Its name.
    pub name: String,
    /// What it counts.
    pub unit: Unit,
    /// Its growth in a run under each variant; null where every run saw it stand still, or has none.
    pub variants: Vec<Option<CounterOfVariant>>,
}

/// Growth of a counter over the completed runs of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterOfVariant {
    /// Over the runs in which it can be told; null without any.
    pub spread: Option<Spread>,
    /// Runs in which it can't.
    pub untold: u32,
}

/// A condition under every variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionRow {
    /// What, with its unit.
    pub name: String,
    /// Every value it had in the completed runs of each variant.
    pub variants: Vec<Vec<String>>,
}
