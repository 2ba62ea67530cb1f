//! How a run ended. A failed run is data: a stage and a cause, never zeros.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where in a run something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Checking the spec against the host and the device, before anything is created.
    Preflight,
    /// Turning the knobs of the hosts, or proving that none is turned.
    Tune,
    /// Starting processes.
    Launch,
    /// The TCP exchange: reaching the peer, versions, token.
    Handshake,
    /// Creating verbs objects.
    Setup,
    /// Moving the queue pairs to RTR and RTS.
    Connect,
    /// Writing every byte of the target once and checking it.
    Verify,
    /// WarmUp phase.
    WarmUp,
    /// Measure phase.
    Measure,
    /// Drain phase, and the exchange of results.
    Drain,
}

/// Which end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The end that posts.
    Requester,
    /// The end that is written to.
    Responder,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// Every point was measured.
    Completed,
    /// The host or device can't do what was asked; nothing was measured and nothing is wrong.
    Skipped {
        /// Why, and what would be needed.
        reason: String,
    },
    /// It went wrong.
    Failed {
        /// Where.
        stage: Stage,
        /// On which side.
        side: Side,
        /// What happened, with errno or completion status spelled out.
        cause: String,
        /// What to do about it; empty when there is nothing to say.
        advice: String,
    },
}

impl Outcome {
    /// Whether the points of the run may be used.
    pub fn is_completed(&self) -> bool {
        matches!(self, Outcome::Completed)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Stage::Preflight => "preflight",
            Stage::Tune => "tune",
            Stage::Launch => "launch",
            Stage::Handshake => "handshake",
            Stage::Setup => "setup",
            Stage::Connect => "connect",
            Stage::Verify => "verify",
            Stage::WarmUp => "warm-up",
            Stage::Measure => "measure",
            Stage::Drain => "drain",
        })
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Side::Requester => "requester",
            Side::Responder => "responder",
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Completed => f.write_str("completed"),
            Outcome::Skipped { reason } => write!(f, "skipped: {reason}"),
            Outcome::Failed { stage, side, cause, advice } => {
                write!(f, "failed at {stage} on the {side}: {cause}")?;
                if advice.is_empty() { Ok(()) } else { write!(f, "; {advice}") }
            }
        }
    }
}
