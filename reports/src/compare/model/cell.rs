//! One cell: what is asked, what came out, and the pairs behind it.

use schema::{Bytes, Metric, Test};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Flag, Range, Verdict};

/// One question: this metric, of this workload and size, under this candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Name of the workload.
    pub workload: String,
    /// What the workload measures.
    pub test: Test,
    /// Message size.
    pub msg_bytes: Bytes,
    /// Name of the candidate: a variant, a factor, or two factors joined by ` x `.
    pub candidate: String,
    /// What the candidate is.
    #[serde(default)]
    pub asks: Asks,
    /// Factors and interactions that this design cannot tell from this one; empty where it can.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What is compared.
    pub metric: Metric,
    /// Whether the verdict of the campaign rests on it.
    pub gated: bool,
    /// Changes below this share do not matter.
    pub margin: f64,
    /// The control may differ by this share before nothing is claimed: half the margin; for a factor more, since a contrast of many
    /// runs is so much steadier than the pair of runs that the control is.
    #[serde(default)]
    pub control_limit: f64,
    /// What it says.
    pub verdict: Verdict,
    /// Candidate against baseline; null without two pairs.
    pub effect: Option<Effect>,
    /// Second baseline run against the first; null without two pairs.
    pub control: Option<Effect>,
    /// Candidate against the second baseline run, which a change past the margin must hold against as well; null without two pairs,
    /// for what is not a variant, and in documents of earlier releases.
    #[serde(default)]
    pub against_control: Option<Effect>,
    /// Where the level of the baseline's runs moved most between one block and the next; null with too few blocks to say, and for
    /// what is no gate.
    #[serde(default)]
    pub level_step: Option<Step>,
    /// Where candidate/baseline moved most; null likewise.
    #[serde(default)]
    pub ratio_step: Option<Step>,
    /// The baseline's runs in the usable pairs.
    pub baseline: Option<Spread>,
    /// The candidate's runs in the usable pairs.
    pub candidate_runs: Option<Spread>,
    /// Usable pairs, in block order.
    pub pairs: Vec<Pair>,
    /// Blocks without a usable pair, in block order.
    pub dropped: Vec<DroppedPair>,
    /// What casts doubt on the pairs without deciding the verdict.
    pub flags: Vec<Flag>,
}

impl Cell {
    /// Whether a campaign that may stop early needs no more blocks for this gate.
    pub fn is_decided(&self) -> bool {
        match self.verdict {
            Verdict::Improved | Verdict::Regressed | Verdict::Negligible | Verdict::Equivalent => true,
            // Neither gets better by more runs.
            Verdict::Invalid | Verdict::CouldNotRun => true,
            Verdict::Unstable { .. } | Verdict::Inconclusive { .. } | Verdict::Exploratory => false,
        }
    }
}

/// A step in a series of blocks: a machine that was another one after it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The first block after it, from 0.
    pub block: u32,
    /// By what share the level after it lies above the level before it.
    pub change: f64,
    /// p of a step anywhere, of this series alone.
    pub p: f64,
    /// The same, corrected for the number of series looked at (Holm).
    pub p_adjusted: f64,
}

/// Smallest, median and largest of some runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Runs.
    pub runs: u32,
    /// Smallest.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Largest.
    pub max: f64,
    /// 95 % interval of the median of all runs there could be, by order statistics; null below six runs, and in documents of earlier
    /// releases.
    #[serde(default)]
    pub median_interval: Option<Range>,
}

/// A baseline and a candidate run of the same block; of a factor, the geometric means of the runs with it off and on; of an
/// interaction, what both factors together would be if each brought what it brings alone, and what they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Block, from 0.
    pub block: u32,
    /// The baseline's number.
    pub baseline: f64,
    /// The candidate's number.
    pub candidate: f64,
    /// ln(candidate/baseline).
    pub ln_ratio: f64,
}

/// A block whose pair could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedPair {
    /// Block, from 0.
    pub block: u32,
    /// Which run is missing, and why.
    pub reason: String,
}

/// What a cell asks of its candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// A variant against the baseline.
    #[default]
    Variant,
    /// The variants in which a factor is on against those in which it is off: what the factor brings by itself.
    Factor,
    /// What two factors bring together beyond the product of what each brings by itself.
    Interaction,
}
