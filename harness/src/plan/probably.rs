//! How many blocks a campaign that may stop early probably makes.

use reports::{
    CompareOptions,
    compare::{Assumed, Expected, Forecast},
};
use schema::{Nanos, StopRule};
use serde::Serialize;

use super::{Noise, Plan};

/// Spreads of the pairs, in margins, that are played through where none was measured.
const LADDER: [f64; 3] = [0.5, 1.0, 2.0];
/// The change that is played through beside none, in margins.
pub const CHANGE_IN_MARGINS: f64 = 2.0;

/// What is expected at one spread of the pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Probably {
    /// Standard deviation of the pairs' log-ratio in margins, the same for every gate; null for what earlier campaigns measured of each.
    pub sd_in_margins: Option<f64>,
    /// If nothing differs.
    pub unchanged: Expectation,
    /// If every gate changes by [`CHANGE_IN_MARGINS`].
    pub changed: Expectation,
}

/// A number of blocks to count on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expectation {
    /// Mean blocks.
    pub blocks: f64,
    /// Their time; null where that of a block is not known.
    pub time_ns: Option<Nanos>,
    /// Share of such campaigns in which every gate is decided in the end.
    pub decided: f64,
}

impl Probably {
    /// By what was measured of the gates or else by a ladder; empty for a plan that makes all its blocks.
    pub(super) fn of(plan: &Plan, earlier: Option<&Noise>, block: Option<Nanos>) -> Vec<Probably> {
        if plan.design.stop == StopRule::AllBlocks {
            return Vec::new();
        }
        let gates = plan.questions();
        let forecast =
            Forecast::of(&plan.design, gates, !plan.factors.is_empty(), &CompareOptions::default());
        let at = |sd_in_margins: Option<f64>, spreads: &[f64]| {
            let play = |effect: f64| {
                // Several candidates or factors are asked of what was measured once.
                let all = spreads.iter().cycle().take(gates as usize);
                let assumed = all.map(|sd| Assumed { effect_in_sd: effect / sd, margin_in_sd: 1.0 / sd });
                expectation(forecast.expected(&assumed.collect::<Vec<_>>()), block)
            };
            Probably { sd_in_margins, unchanged: play(0.0), changed: play(CHANGE_IN_MARGINS) }
        };
        let measured: Vec<f64> = earlier.map_or_else(Vec::new, Noise::in_margins);
        if measured.is_empty() {
            LADDER.into_iter().map(|sd| at(Some(sd), &[sd])).collect()
        } else {
            vec![at(None, &measured)]
        }
    }
}

fn expectation(expected: Expected, block: Option<Nanos>) -> Expectation {
    let time = |block: Nanos| Nanos((block.get() as f64 * expected.blocks) as u64);
    Expectation { blocks: expected.blocks, time_ns: block.map(time), decided: expected.decided }
}
