//! What a factorial campaign combined, and what it can therefore tell apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The combinations of the factors that were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorialDesign {
    /// Names of the factors, in the order of the scenario.
    pub factors: Vec<String>,
    /// Combinations, the one with all factors off included.
    pub combinations: u32,
    /// What can't be told apart.
    pub confounding: Confounding,
    /// Factors and interactions of two that are one and the same column of the design: what one brings, any of them may have
    /// brought.
    pub confounded: Vec<Vec<String>>,
}

/// How a design confounds what factors bring.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Confounding {
    /// It does not: all combinations were measured.
    None,
    /// A regular fraction. An interaction of as many factors as are left to make up the resolution can't be told: at III, a factor
    /// from interactions of two others; at IV, a factor from those of three, and interactions of two from each other.
    Resolution {
        /// Factors in the shortest word of the defining relation.
        resolution: u32,
    },
    /// Each factor's effect holds a share of interactions of two others.
    Partial {
        /// The largest share.
        share: f64,
    },
}
