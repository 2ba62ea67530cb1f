//! Exit codes: what a script may rely on.

use std::process::ExitCode;

use rdma_harness::{
    cluster::{drain::DrainError, launch::LaunchError, pattern::PatternError},
    doctor::DoctorError,
    scenario::{ScenarioError, profile::ProfileError},
    snapshot::SnapshotError,
    store::StoreError,
    suite::SuiteError,
    tuning::TuneError,
};
use reports::Comparison;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; no regression.
    Fine = 0,
    /// A gate regressed, or an audit found something that is wrong.
    Regression = 1,
    /// The command line or the scenario is wrong; nothing was run.
    Usage = 2,
    /// It could not run, or was stopped.
    CouldNotRun = 3,
    /// It ran, and it can't be told.
    Unsettled = 4,
}

/// A wrong use of the command line that clap can't see.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The exit code of an error.
pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
    let asked_wrongly = matches!(
        error.downcast_ref::<StoreError>(),
        Some(
            StoreError::NoCampaign { .. }
                | StoreError::NoCluster { .. }
                | StoreError::NoNight { .. }
                | StoreError::NoSeries { .. }
                | StoreError::Missing { .. }
        )
    );
    let no_such_device = matches!(error.downcast_ref::<DoctorError>(), Some(DoctorError::NoDevice { .. }));
    let no_place = matches!(
        error.downcast_ref::<SnapshotError>(),
        Some(SnapshotError::NoDevice { .. } | SnapshotError::InTheWay(_))
    );
    let wrong_tuning = matches!(
        error.downcast_ref::<TuneError>(),
        Some(TuneError::Value { .. } | TuneError::CheckOnly { .. })
    );
    let wrong_launch = error.downcast_ref::<LaunchError>().is_some_and(LaunchError::is_wrong_use);
    let wrong_drain = error.downcast_ref::<DrainError>().is_some_and(DrainError::is_wrong_use);
    let wrong_text = error.is::<ScenarioError>()
        || error.is::<SuiteError>()
        || error.is::<PatternError>()
        || error.is::<ProfileError>()
        || error.is::<UsageError>();
    if asked_wrongly
        || no_such_device
        || no_place
        || wrong_tuning
        || wrong_launch
        || wrong_drain
        || wrong_text
    {
        Exit::Usage
    } else {
        Exit::CouldNotRun
    }
}

/// The exit code of a comparison.
pub(crate) fn of_comparison(comparison: &Comparison) -> Exit {
    match comparison.exit_code() {
        0 => Exit::Fine,
        1 => Exit::Regression,
        4 => Exit::Unsettled,
        _ => Exit::CouldNotRun,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_wrong_scenario_is_usage_even_under_context() {
        let error = rdma_harness::scenario::parse("x.toml".as_ref(), String::new()).err().unwrap();
        let error = Err::<(), _>(error).context("planning").unwrap_err();
        assert_eq!(of_error(&error), Exit::Usage);
    }

    #[test]
    fn a_locked_store_could_not_run() {
        let busy = StoreError::Busy { file: "s.db".into() };
        assert_eq!(of_error(&busy.into()), Exit::CouldNotRun);
        let none = StoreError::NoCampaign { file: "s.db".into(), campaign: Some(3) };
        assert_eq!(of_error(&none.into()), Exit::Usage);
    }
}
