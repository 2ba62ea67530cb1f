//! What brought what: the factors of one question in the order of what each brings.

use schema::{Bytes, Metric, Test};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Asks, Cell, Comparison};

/// One metric of one workload and size, and what each factor brings to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranking {
    /// Name of the workload.
    pub workload: String,
    /// What the workload measures.
    pub test: Test,
    /// Message size.
    pub msg_bytes: Bytes,
    /// What is compared.
    pub metric: Metric,
    /// Factors and interactions, the largest change first; those without an effect last.
    pub ranked: Vec<Ranked>,
    /// Share of what differs between the combinations, blocks averaged, that no factor and no interaction of two accounts for;
    /// null where the combinations do not differ.
    pub rest_share: Option<f64>,
}

/// A factor, or an interaction of two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ranked {
    /// [`Cell::candidate`] of its cell.
    pub candidate: String,
    /// Factor or interaction.
    pub asks: Asks,
    /// Share of what differs between the combinations (of the sum of squares of mean ln) that it accounts for; null where it has no
    /// effect, or they do not differ.
    pub share: Option<f64>,
    /// Of an interaction, the geometric means of the runs with neither, the first, the second and both on, over the usable
    /// blocks.
    pub means: Option<[f64; 4]>,
}

impl Comparison {
    /// The cell of a rank.
    pub fn ranked_cell(&self, ranking: &Ranking, ranked: &Ranked) -> Option<&Cell> {
        self.cells.iter().find(|cell| {
            cell.candidate == ranked.candidate
                && cell.workload == ranking.workload
                && cell.msg_bytes == ranking.msg_bytes
                && cell.metric == ranking.metric
        })
    }

    /// The gates in the order in which they are read: of factors those that bring most first, else as they stand.
    pub fn gates_by_rank(&self) -> Vec<&Cell> {
        if self.rankings.is_empty() {
            return self.gates().collect();
        }
        let ranked = self.rankings.iter().flat_map(|ranking| {
            ranking.ranked.iter().filter_map(move |ranked| self.ranked_cell(ranking, ranked))
        });
        ranked.filter(|cell| cell.gated).collect()
    }
}
