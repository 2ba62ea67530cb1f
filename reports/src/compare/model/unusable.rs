//! A run that counts for nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A run that counts for nothing, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnusableRun {
    /// Position in the planned order, from 0.
    pub sequence: u32,
    /// Block, from 0.
    pub block: u32,
    /// Workload name.
    pub workload: String,
    /// Variant name.
    pub variant: String,
    /// Whether it is the second baseline run of its block.
    pub control: bool,
    /// Failed, skipped, invalid or excluded.
    pub kind: Unusable,
    /// In words: stage, side, cause and advice; the bound that was broken; or what the evidence says.
    pub reason: String,
}

impl UnusableRun {
    /// The run as people count: from 1.
    pub fn number(&self) -> u32 {
        self.sequence + 1
    }
}

/// Why a run counts for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unusable {
    /// It went wrong.
    Failed,
    /// The host or device can't do what was asked.
    Skipped,
    /// It claims more than the wire can carry.
    Invalid,
    /// It completed, and its evidence says that it was not measured as it was asked.
    Excluded,
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Unusable::Failed => "failed",
            Unusable::Skipped => "was skipped",
            Unusable::Invalid => "is invalid",
            Unusable::Excluded => "is invalid by its evidence",
        })
    }
}
