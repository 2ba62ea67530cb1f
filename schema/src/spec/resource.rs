//! How a run waits and what memory it touches: the choices that trade CPU, cache and TLB against latency.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{serde_as_text, word_enum};
use crate::units::{Nanos, UnitError};

/// How a thread waits for completions. Text form: `poll`, `event`, `hybrid:20us`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Wait {
    /// Polls without pause; its core is always busy.
    #[default]
    Poll,
    /// Sleeps on the completion channel whenever the queue is empty.
    Event,
    /// Polls for this long, then sleeps on the channel.
    Hybrid {
        /// How long an empty queue is polled.
        spin_ns: Nanos,
    },
}

impl FromStr for Wait {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.trim() {
            "poll" => Ok(Wait::Poll),
            "event" => Ok(Wait::Event),
            other => match other.strip_prefix("hybrid:") {
                Some(spin) => spin.parse().map(|spin_ns| Wait::Hybrid { spin_ns }),
                None => Err(UnitError(format!(
                    "wait `{text}`: write poll, event, or hybrid:TIME such as hybrid:20us"
                ))),
            },
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Poll => f.pad("poll"),
            Wait::Event => f.pad("event"),
            Wait::Hybrid { spin_ns } => f.pad(&format!("hybrid:{spin_ns}")),
        }
    }
}

serde_as_text!(Wait);

word_enum! {
    /// Pages of the message buffers.
    #[derive(Default)]
    Pages {
        /// The kernel's base pages.
        #[default]
        Base = "base",
        /// Huge pages of 2 MiB, from the host's pool.
        Huge2Mi = "2Mi",
        /// Huge pages of 1 GiB, from the host's pool.
        Huge1Gi = "1Gi",
    }
}

impl Pages {
    /// Size of a page in bytes; none is whatever the kernel's base page is.
    pub fn bytes(self) -> Option<u64> {
        match self {
            Pages::Base => None,
            Pages::Huge2Mi => Some(2 << 20),
            Pages::Huge1Gi => Some(1 << 30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_read_back_as_they_are_written() {
        for text in ["poll", "event", "hybrid:20us"] {
            assert_eq!(text.parse::<Wait>().unwrap().to_string(), text);
        }
        assert!("hybrid".parse::<Wait>().unwrap_err().0.contains("hybrid:20us"));
        assert!("hybrid:20".parse::<Wait>().is_err());
    }
}
