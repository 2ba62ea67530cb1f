//! What a cell says, and what all gates say together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of a campaign: what its declared gates say together, gravest first; the gravest of any gate is the campaign's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CampaignVerdict {
    /// A gate has no pair to judge by, because runs failed, were skipped or are invalid by their evidence.
    CouldNotRun,
    /// A gate rests on a run that is physically impossible.
    Invalid,
    /// The A/A control of a gate differs from its baseline: nothing can be claimed.
    Unstable,
    /// A gate is worse by more than its margin.
    Regressed,
    /// No gate is worse, and at least one cannot be told.
    Inconclusive,
    /// A gate is better by more than its margin, and every other gate is settled and not worse.
    Improved,
    /// Every gate is settled; some differ, by less than their margin.
    Negligible,
    /// Every gate is shown to be the same within its margin.
    Equivalent,
}

/// What a cell says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Verdict {
    /// Better, significantly and by more than the margin.
    Improved,
    /// Worse, significantly and by more than the margin.
    Regressed,
    /// Significantly different, and shown to lie within the margin.
    Negligible,
    /// Not different, and shown to lie within the margin.
    Equivalent,
    /// It cannot be told.
    Inconclusive {
        /// Why not.
        doubt: Doubt,
        /// Pairs in all that would probably settle it; null where more pairs would not, or too many are needed.
        pairs_needed: Option<u32>,
    },
    /// The A/A control failed, or the machine did not stay the same from block to block.
    Unstable {
        /// How.
        control: ControlFailure,
    },
    /// A run of the cell is physically impossible; [`Comparison::unusable`] says which.
    Invalid,
    /// No pair is usable, and runs failed, were skipped or are invalid by their evidence.
    CouldNotRun,
    /// Not a gate: shown, not judged.
    Exploratory,
}

/// Why a gate cannot be told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Doubt {
    /// Fewer pairs than any verdict needs.
    TooFewPairs {
        /// Usable pairs.
        have: u32,
        /// Pairs every verdict needs.
        least: u32,
    },
    /// Fewer A/A pairs than it takes to vouch for the baseline.
    TooFewControls {
        /// Usable A/A pairs.
        have: u32,
        /// A/A pairs every verdict needs.
        least: u32,
    },
    /// The interval reaches across the margin.
    WideInterval,
    /// Past the margin and significant, but not by as much as it takes to say so of a factor.
    NotSureEnough {
        /// The corrected p it takes.
        level: f64,
    },
    /// Past the margin against the first baseline run of each block, and not significantly so against the second.
    NotAgainstControl,
    /// Too few samples lie beyond the quantile in a run.
    TooFewSamples {
        /// Samples beyond the quantile, in the run that has fewest.
        beyond: f64,
        /// What a gate needs.
        least: f64,
    },
    /// p99.99 is reported, never gated.
    NeverGated,
}

/// How the machine was not steady enough for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlFailure {
    /// Baseline and baseline differ significantly, and by more than a quarter of the margin.
    Significant,
    /// Baseline and baseline differ by more than half the margin.
    TooFarApart,
    /// The level of the baseline moved on the way: the machine was another one after it.
    LevelMoved,
    /// What the candidate makes of the baseline moved on the way, by more than the margin: there is no one change to tell.
    RatioMoved,
}
