//! The looks at a campaign that may stop early, and what each of them was allowed to find.

use schema::Stopped;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a campaign that may stop early has looked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Looks {
    /// The planned looks, in order; the last is after the most blocks.
    pub planned: Vec<Look>,
    /// Position in `planned` of the look that this comparison is; null before the first.
    pub at: Option<u32>,
    /// Whole blocks there are.
    pub blocks: u32,
    /// Why no more runs are made; null while the campaign goes on.
    pub stopped: Option<Stopped>,
}

/// One planned look.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// Blocks after which it is.
    pub blocks: u32,
    /// Share of alpha that may be spent up to it.
    pub spent: f64,
    /// Two-sided level that a single gate is tested at.
    pub level: f64,
}
