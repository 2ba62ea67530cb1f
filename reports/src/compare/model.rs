//! What a comparison says: one cell per workload, message size, candidate and metric, and the verdict over the gates.
//!
//! Data only. Numbers are in [`Metric::unit`]; shares are shares (0.02 is 2 %), never percent.

use schema::{
    Bytes, Metric, Side, Test,
    evidence::{Level, Unit},
};
use serde::{Deserialize, Serialize};

/// The outcome of a campaign, with everything that led to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// In the order of workload, message size, candidate, metric.
    pub cells: Vec<Cell>,
    /// Runs that could not be used, in time order.
    pub unusable: Vec<UnusableRun>,
    /// What the hosts did around the runs; null where nobody watched, and in documents of earlier releases.
    #[serde(default)]
    pub evidence: Option<EvidenceSummary>,
}

/// What the hosts did around the runs, variant beside variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRow {
    /// Which side; null where both together were judged.
    pub side: Option<Side>,
    /// Its name.
    pub check: String,
    /// How it came out under each variant; null where it was not made.
    pub variants: Vec<Option<CheckOfVariant>>,
}

/// How a check came out over the completed runs of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckOfVariant {
    /// Runs in which it was made.
    pub runs: u32,
    /// The worst of them.
    pub worst: Level,
    /// Runs that came out so.
    pub of_worst: u32,
    /// The first of these, by its position in the planned order.
    pub example_run: u32,
    /// What was found in it.
    pub found: String,
    /// What was held against it.
    pub threshold: String,
    /// What it means.
    pub meaning: String,
}

/// A counter under every variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CounterOfVariant {
    /// Over the runs in which it can be told; null without any.
    pub spread: Option<Spread>,
    /// Runs in which it can't.
    pub untold: u32,
}

/// A condition under every variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionRow {
    /// What, with its unit.
    pub name: String,
    /// Every value it had in the completed runs of each variant.
    pub variants: Vec<Vec<String>>,
}

/// The answer of a campaign: what its declared gates say together, gravest first; the gravest of any gate is the campaign's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Verdict {
    /// Better, significantly and by more than the margin.
    Improved,
    /// Worse, significantly and by more than the margin.
    Regressed,
    /// Significantly different, by no more than the margin.
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
    /// The A/A control failed.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// How an A/A control failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlFailure {
    /// Baseline and baseline differ significantly, and by more than a quarter of the margin.
    Significant,
    /// Baseline and baseline differ by more than half the margin.
    TooFarApart,
}

/// One question: this metric, of this workload and size, under this candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Name of the workload.
    pub workload: String,
    /// What the workload measures.
    pub test: Test,
    /// Message size.
    pub msg_bytes: Bytes,
    /// Name of the candidate variant.
    pub candidate: String,
    /// What is compared.
    pub metric: Metric,
    /// Whether the verdict of the campaign rests on it.
    pub gated: bool,
    /// Changes below this share do not matter.
    pub margin: f64,
    /// What it says.
    pub verdict: Verdict,
    /// Candidate against baseline; null without two pairs.
    pub effect: Option<Effect>,
    /// Second baseline run against the first; null without two pairs.
    pub control: Option<Effect>,
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

/// A difference between two sides, from pairs of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Pairs.
    pub pairs: u32,
    /// exp(mean of ln(candidate/baseline)) - 1.
    pub change: f64,
    /// Lower end of the 95 % interval of `change` (1 - alpha), Student t.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// Lower end of the 90 % interval (1 - 2 alpha), by which equivalence is judged.
    pub equivalence_low: f64,
    /// Upper end of it.
    pub equivalence_high: f64,
    /// Standard deviation of ln(candidate/baseline).
    pub sd_ln: f64,
    /// Two-sided sign-flip p, of this question alone.
    pub p: f64,
    /// The same, corrected for the number of questions asked: Holm over gates and over their controls, else
    /// Benjamini-Hochberg.
    pub p_adjusted: f64,
    /// Share of the pairs in which the candidate is the better one; a tie counts half.
    pub better_share: f64,
}

/// Smallest, median and largest of some runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Runs.
    pub runs: u32,
    /// Smallest.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Largest.
    pub max: f64,
}

/// A baseline and a candidate run of the same block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedPair {
    /// Block, from 0.
    pub block: u32,
    /// Which run is missing, and why.
    pub reason: String,
}

/// What is odd about a cell's runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Flag {
    /// Runs whose last third differs from their first third by more than 5 %.
    NotStationary {
        /// How many.
        runs: u32,
        /// Out of.
        of: u32,
    },
    /// Successive pairs depend on each other: the interval is narrower than it should be.
    Autocorrelated {
        /// Lag-1 autocorrelation of ln(candidate/baseline).
        r: f64,
    },
}

/// A run that counts for nothing, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusableRun {
    /// Position in the planned order.
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

/// Why a run counts for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
