//! Fault: what stopped a run, on which side and at which stage. It travels to the peer and ends in the record.

use std::fmt::Display;

use schema::{Outcome, Side, Stage};
use serde::{Deserialize, Serialize};

/// What stopped a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{stage} on the {side}: {cause}{}{advice}", if .advice.is_empty() { "" } else { "; " })]
pub struct Fault {
    /// Where in the run.
    pub stage: Stage,
    /// On which side.
    pub side: Side,
    /// What happened.
    pub cause: String,
    /// What to do; empty when `cause` says it already.
    pub advice: String,
}

impl Fault {
    /// A fault whose cause speaks for itself.
    pub fn new(stage: Stage, side: Side, cause: impl Display) -> Self {
        Fault { stage, side, cause: cause.to_string(), advice: String::new() }
    }

    /// Adds what to do.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// The outcome a record keeps.
    pub fn outcome(&self) -> Outcome {
        Outcome::Failed {
            stage: self.stage,
            side: self.side,
            cause: self.cause.clone(),
            advice: self.advice.clone(),
        }
    }
}

/// Says at which stage and on which side an error happened.
pub trait At<T> {
    /// Wraps the error into a [`Fault`].
    fn at(self, stage: Stage, side: Side) -> Result<T, Fault>;
}

impl<T, E: Display> At<T> for Result<T, E> {
    fn at(self, stage: Stage, side: Side) -> Result<T, Fault> {
        self.map_err(|error| Fault::new(stage, side, error))
    }
}
