//! What suites have in common, those of nights and those of clusters: they name scenarios, of each one variant and what is kept of it.
//!
//! Everything is read and checked before anything runs; what is wrong with a scenario is shown in its own file.

mod entry;

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use schema::{Metric, Test};

use crate::scenario::{FaultReport, ScenarioError, Section, read_tables};

pub(crate) use entry::{Named, no_scenario, read_named, refuse_twins};

/// Why there is no suite to run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The file could not be read.
    #[error("reading suite {}: {cause}; give the path of a suite file, for example {example}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why not.
        cause: std::io::Error,
        /// A suite file there is.
        example: &'static str,
    },
    /// The file says something that can't be run.
    #[error("{0}")]
    Faults(FaultReport),
    /// A scenario that it names can't be run.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// The first scenario that can't be run, which is shown instead of the suite.
pub(crate) type Wrong = RefCell<Option<ScenarioError>>;

/// The text of a suite file.
pub(crate) fn text_of(file: &Path, example: &'static str) -> Result<String, SuiteError> {
    std::fs::read_to_string(file).map_err(|cause| SuiteError::Read { file: file.to_owned(), cause, example })
}

/// Reads the text of a suite file.
pub(crate) fn parse<T>(
    file: &Path,
    source: &str,
    read: impl FnOnce(&Section<'_>, &Wrong) -> Option<T>,
) -> Result<T, SuiteError> {
    let wrong = Wrong::default();
    let suite = read_tables(file, source, |root, _| read(root, &wrong));
    match wrong.into_inner() {
        Some(error) => Err(SuiteError::Scenario(error)),
        None => suite.map_err(SuiteError::Faults),
    }
}

/// What is kept of a test where a suite does not say: one number that stands for it, and of latency the tail, too. Each further
/// one is a series of its own, and asks for a share of the false alarms that are borne.
fn usual(test: Test) -> &'static [Metric] {
    match test {
        Test::Bandwidth => &[Metric::Bandwidth],
        Test::Latency => &[Metric::P50, Metric::P99],
    }
}

fn has(test: Test, metric: Metric) -> bool {
    test == Test::Bandwidth || metric.quantile().is_some()
}
