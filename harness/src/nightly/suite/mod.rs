//! A suite as written: which scenarios a night measures, what their values must reach, and by which rules nights are judged.
//!
//! Reads the file and the scenarios it names and checks all of it before anything is run. What every key means is in
//! `docs/nightly.md`.

mod limit;
mod load;

use std::path::PathBuf;

use reports::history::Rules;
use schema::{Bytes, Metric};

use crate::{
    plan::{self, Plan, Single, SingleError},
    scenario::Scenario,
};

pub use limit::{Worst, WrittenLimit};
pub use load::{FEWEST_RUNS, load, parse, rules};

/// A suite file, read, with the scenarios it names.
pub struct Suite {
    /// Name of the file without its ending: nights of one name are compared with each other.
    pub name: String,
    /// The file as it was named.
    pub file: PathBuf,
    /// Its text.
    pub source: String,
    /// The question it answers.
    pub question: String,
    /// What is measured, in this order.
    pub entries: Vec<Entry>,
    /// What values must reach, whatever the history says.
    pub limits: Vec<WrittenLimit>,
    /// By what nights are judged.
    pub rules: Rules,
}

/// One variant of one scenario.
pub struct Entry {
    /// The scenario.
    pub scenario: Scenario,
    /// Name of the variant.
    pub variant: String,
    /// Runs a night, of each workload.
    pub runs: u32,
    /// What is kept of them.
    pub points: Vec<Kept>,
}

/// A number that is kept night after night.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Name of the workload.
    pub workload: String,
    /// Message size.
    pub msg_bytes: Bytes,
    /// What is measured.
    pub metric: Metric,
}

impl Entry {
    /// The plan of its runs.
    pub fn plan(&self, drawn_seed: u64) -> Result<Plan, SingleError> {
        let single = Single { variant: Some(&self.variant), runs: self.runs };
        plan::of_one_variant(&self.scenario, single, drawn_seed)
    }

    /// Scenario and variant, as people name it: `queue-depth/depth-128`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.scenario.name, self.variant)
    }
}
