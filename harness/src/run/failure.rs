//! What stands in the record of a run whose processes gave none.

use std::{process::ExitStatus, time::Instant};

use schema::{Fabric, Nanos, Outcome, RunRecord, RunSpec, Side, Stage};

use crate::agent::ended::{REFUSED, explain};

/// What stands in the record of a run whose processes gave none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) stage: Stage,
    pub(crate) side: Side,
    pub(crate) cause: String,
    pub(crate) advice: String,
}

impl Failure {
    /// A failure to start or to drive the processes.
    pub(crate) fn launch(side: Side, cause: impl Into<String>, advice: impl Into<String>) -> Self {
        Failure { stage: Stage::Launch, side, cause: cause.into(), advice: advice.into() }
    }

    /// How a process ended that should have given something else.
    pub(crate) fn ended(side: Side, status: ExitStatus, stderr: &str) -> Self {
        let (cause, advice) = explain(status, stderr);
        let stage = if status.code() == Some(REFUSED) { Stage::Preflight } else { Stage::Launch };
        Failure { stage, side, cause, advice }
    }

    /// The record of a run that failed this way.
    pub(crate) fn record(self, spec: &RunSpec, started: &Started) -> RunRecord {
        let Failure { stage, side, cause, advice } = self;
        let fabric = if spec.requester.device == "soft" { Fabric::Soft } else { Fabric::Verbs };
        let outcome = Outcome::Failed { stage, side, cause, advice };
        let mut record = RunRecord::start(spec.clone(), fabric, started.unix_ms, outcome);
        record.wall_ns = Nanos(started.instant.elapsed().as_nanos() as u64);
        record
    }
}

/// When a run started, by both clocks.
pub(crate) struct Started {
    pub(crate) unix_ms: u64,
    pub(crate) instant: Instant,
}

impl Started {
    /// Now.
    pub(crate) fn now() -> Self {
        Started { unix_ms: crate::words::unix_ms(), instant: Instant::now() }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn code(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn a_refusal_is_of_preflight() {
        let failure = Failure::ended(Side::Requester, code(2), "error: tx_depth: 0 is outside 1..=32768\n");
        assert_eq!(failure.stage, Stage::Preflight);
        assert!(failure.cause.contains("tx_depth"), "{}", failure.cause);
    }
}
