//! A difference between two sides, by one method after another, and what is odd about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A difference between two sides, from pairs of runs.
///
/// Shares are changes: 0.02 is 2 % more. Every interval but those of equivalence is one of 1 - level, the level being that of the look
/// (alpha where there is one look only), of this question alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// Pairs.
    pub pairs: u32,
    /// exp(mean of ln(candidate/baseline)) - 1.
    pub change: f64,
    /// Lower end of the interval of `change`: Student's t, or further out where `cross_check` says that it was widened.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// Lower end of the interval of 1 - 2 level, by which equivalence is judged.
    pub equivalence_low: f64,
    /// Upper end of it.
    pub equivalence_high: f64,
    /// Standard deviation of ln(candidate/baseline).
    pub sd_ln: f64,
    /// Two-sided sign-flip p, of this question alone; where the interval was widened, the larger of it and that method's p.
    pub p: f64,
    /// The same, corrected for the number of questions asked: Holm over gates and over their controls, else
    /// Benjamini-Hochberg.
    pub p_adjusted: f64,
    /// Two-sided p of Student's t on ln(candidate/baseline), beside `p` and never instead of it; null in documents of earlier
    /// releases.
    #[serde(default)]
    pub p_t: Option<f64>,
    /// The larger p of the two one-sided tests that the change lies within the margin; null in documents of earlier releases.
    #[serde(default)]
    pub p_equivalence: Option<f64>,
    /// Estimate that a few wild pairs hardly move; null with too few pairs for its interval.
    #[serde(default)]
    pub hodges_lehmann: Option<Estimate>,
    /// Share of the pairs in which the candidate is the better one; a tie counts half.
    pub better_share: f64,
    /// Interval of it (Wilson); null in documents of earlier releases.
    #[serde(default)]
    pub better_interval: Option<Range>,
    /// The interval by another method; null where none applies.
    #[serde(default)]
    pub cross_check: Option<CrossCheck>,
}

impl Effect {
    /// Whether the interval of equivalence lies within this margin.
    pub fn is_within(&self, margin: f64) -> bool {
        self.equivalence_low > -margin && self.equivalence_high < margin
    }
}

/// A change and its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The change.
    pub change: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Two ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The interval of a change by another method than Student's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CrossCheck {
    /// Which.
    pub method: Method,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Times that the pairs were drawn anew.
    pub resamples: u32,
    /// Pairs that were drawn together: successive ones of the moving-block bootstrap; 1 elsewhere.
    pub block: u32,
    /// Node pairs the pairs come from.
    pub node_pairs: u32,
    /// Whether the interval and the p of the effect are this method's where it is the more careful one: Student's does not hold for
    /// pairs that depend on each other.
    pub widened: bool,
}

/// A method beside Student's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Median of the means of two pairs, with the interval of Wilcoxon's signed-rank test.
    HodgesLehmann,
    /// Bootstrap over pairs, corrected for bias and acceleration.
    Bca,
    /// Bootstrap over pairs of the mean in units of its own error.
    Studentised,
    /// Bootstrap over blocks of successive pairs.
    MovingBlock,
    /// Bootstrap over node pairs, and over the pairs of each.
    Hierarchical,
}

/// What is odd about a cell's runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Flag {
    /// Runs whose last third differs from their first third by more than 5 %.
    NotStationary {
        /// How many.
        runs: u32,
        /// Out of.
        of: u32,
    },
    /// Successive pairs depend on each other.
    Autocorrelated {
        /// Lag-1 autocorrelation of ln(candidate/baseline).
        r: f64,
    },
    /// The intervals of two methods do not agree on whether there is a change.
    MethodsDisagree {
        /// The method whose interval does not say what the effect's own says.
        method: Method,
        /// Lower end of its interval.
        low: f64,
        /// Upper end of it.
        high: f64,
    },
}
