//! How often the verdicts are right: campaigns are simulated run by run, compared as measured ones are, and counted.
//!
//! Nothing of the comparison is done again here. `docs/measurement.md` has the table that `just calibrate` makes of it.

mod bounds;
mod noise;
mod rows;
mod runs;
mod table;
mod tally;

pub use bounds::Bounds;
pub use noise::Noise;
pub use rows::{Group, all};
pub use table::{Row, markdown};
pub use tally::Tally;

use std::ops::Range;

use schema::{Campaign, Metric};

use crate::{
    CompareOptions, Comparison,
    compare::{self, Cell},
};

/// What is simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// How runs vary.
    pub noise: Noise,
    /// Gates, with noise of their own each: message sizes of one workload.
    pub gates: u32,
    /// Blocks, at most.
    pub blocks: u32,
    /// Standard deviation of the pairs' log-ratio, in margins, were the runs independent.
    pub sd_in_margins: f64,
    /// True effect on every gate, in margins.
    pub effect_in_margins: f64,
    /// First look and blocks from look to look; none in a campaign that makes all its blocks.
    pub looks: Option<(u32, u32)>,
}

impl Setting {
    /// ln(1 + the gates' margin).
    fn margin(&self) -> f64 {
        Metric::Bandwidth.default_margin().ln_1p()
    }

    /// ln of the true effect.
    fn effect(&self) -> f64 {
        self.effect_in_margins * self.margin()
    }

    /// Standard deviation of ln of a run: a pair has two.
    fn run_sd(&self) -> f64 {
        self.sd_in_margins * self.margin() / 2.0_f64.sqrt()
    }

    /// Simulates the campaigns with these numbers. A number is the same campaign wherever it is simulated.
    pub fn simulate(self, seed: u64, numbers: Range<u64>) -> Tally {
        let mut runs = runs::Runs::of(self);
        let mut tally = Tally::default();
        for number in numbers {
            runs.draw(seed, number);
            let mut significant = false;
            for blocks in runs.whole.design.looks() {
                let later = runs.first(blocks);
                let comparison = compared(&runs.whole);
                runs.put_back(later);
                significant |= differs(&comparison);
                let decided = comparison.gates().all(Cell::is_decided);
                if decided || blocks == self.blocks {
                    tally.count(&self, &comparison, significant, blocks);
                    break;
                }
            }
        }
        tally
    }
}

fn compared(campaign: &Campaign) -> Comparison {
    compare::compare(campaign, &CompareOptions::default())
}

/// Whether a gate is found to differ at the level of this look.
fn differs(comparison: &Comparison) -> bool {
    let at_this_look = comparison.looks.as_ref().and_then(|looks| {
        let at = looks.at? as usize;
        Some(looks.planned.get(at)?.level)
    });
    let level = at_this_look.unwrap_or(comparison.alpha);
    comparison.gates().filter_map(|gate| gate.effect).any(|effect| effect.p_adjusted < level)
}
