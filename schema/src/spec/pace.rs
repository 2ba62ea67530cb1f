//! When messages are posted: as fast as completions allow, or by a schedule of their own.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{BitsPerSec, Bytes, Nanos, UnitError};

/// How fast messages shall come, all QPs and threads of one direction together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Rate {
    /// So many messages a second.
    MessagesPerSec(u64),
    /// So many payload bits a second.
    BitsPerSec(BitsPerSec),
}

/// The gaps of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// All the same.
    #[default]
    Fixed,
    /// Exponential, as independent sources make them; drawn from the seed.
    Poisson,
}

/// When messages are posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pace {
    /// As soon as the window has room: a stall delays what would have come meanwhile, and one sample shows it.
    #[default]
    Closed,
    /// By a schedule. Latency counts from the intended time, so a stall shows in every message it delayed.
    Open {
        /// How fast.
        rate: Rate,
        /// With what gaps.
        arrivals: Arrivals,
        /// Of the gaps.
        seed: u64,
    },
    /// By the fastest schedule whose p99 latency stays within a bound, searched for before the point is measured.
    Search {
        /// The bound.
        p99_at_most_ns: Nanos,
        /// With what gaps.
        arrivals: Arrivals,
        /// Of the gaps.
        seed: u64,
    },
}

impl Rate {
    /// Messages a second at this message size.
    pub fn messages_per_sec(self, msg_bytes: Bytes) -> f64 {
        match self {
            Rate::MessagesPerSec(messages) => messages as f64,
            Rate::BitsPerSec(bits) => bits.get() as f64 / (msg_bytes.get() as f64 * 8.0),
        }
    }
}

/// Seed of the gaps when none is given.
pub const DEFAULT_SEED: u64 = 1;

impl Pace {
    /// Reads the bound of a search, `p99=50us`, as flags and scenarios write it.
    pub fn parse_bound(text: &str) -> Result<Nanos, UnitError> {
        let bound = text.trim().strip_prefix("p99=").and_then(|time| time.parse().ok());
        bound.ok_or_else(|| UnitError(format!("bound `{text}`: write p99=TIME, such as p99=50us")))
    }
}

impl FromStr for Pace {
    type Err = UnitError;

    /// `closed`; or a rate or a bound, and then the gaps: `250k/s`, `10Gbps poisson`, `p99=50us poisson:7` (the seed).
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let unclear = |what: &str| {
            UnitError(format!(
                "pace `{text}`: {what}; write closed, a rate (250k/s, 10Gbps) or a bound (p99=50us), and then fixed, poisson or poisson:SEED"
            ))
        };
        let mut words = text.split_whitespace();
        let first = words.next().ok_or_else(|| unclear("is empty"))?;
        let (arrivals, seed) = match words.next() {
            None | Some("fixed") => (Arrivals::Fixed, DEFAULT_SEED),
            Some("poisson") => (Arrivals::Poisson, DEFAULT_SEED),
            Some(gaps) => match gaps.strip_prefix("poisson:").and_then(|seed| seed.parse().ok()) {
                Some(seed) => (Arrivals::Poisson, seed),
                None => return Err(unclear(&format!("`{gaps}` are no gaps"))),
            },
        };
        if let Some(more) = words.next() {
            return Err(unclear(&format!("`{more}` is too much")));
        }
        match first {
            "closed" if text.trim() == "closed" => Ok(Pace::Closed),
            "closed" => Err(unclear("a closed loop has no gaps")),
            bound if bound.starts_with("p99") => {
                Pace::parse_bound(bound).map(|p99_at_most_ns| Pace::Search { p99_at_most_ns, arrivals, seed })
            }
            rate => rate.parse().map(|rate| Pace::Open { rate, arrivals, seed }),
        }
    }
}

impl fmt::Display for Pace {
    /// In one line, as plans and tables show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gaps = |arrivals: &Arrivals, seed: &u64| match arrivals {
            Arrivals::Fixed => "fixed gaps".to_owned(),
            Arrivals::Poisson => format!("Poisson arrivals, seed {seed}"),
        };
        match self {
            Pace::Closed => f.pad("closed loop"),
            Pace::Open { rate, arrivals, seed } => {
                f.pad(&format!("open loop at {rate}, {}", gaps(arrivals, seed)))
            }
            Pace::Search { p99_at_most_ns, arrivals, seed } => f.pad(&format!(
                "highest rate with a p99 of at most {p99_at_most_ns}, {}",
                gaps(arrivals, seed)
            )),
        }
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    /// `250000/s`, `250k/s`, `2M/s` (messages, decimal) or `10Gbps` (payload bits).
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        let Some(messages) = text.strip_suffix("/s") else {
            return text.parse().map(Rate::BitsPerSec).map_err(|UnitError(reason)| {
                UnitError(format!("{reason}; for messages a second write `{text}/s`, e.g. `250k/s`"))
            });
        };
        let (number, factor) = match messages.strip_suffix(['k', 'M']) {
            Some(number) if messages.ends_with('k') => (number, 1_000),
            Some(number) => (number, 1_000_000),
            None => (messages, 1),
        };
        crate::units::scale_decimal(number, factor).map(Rate::MessagesPerSec).ok_or_else(|| {
            UnitError(format!("rate `{text}`: write messages a second as `250000/s`, `250k/s` or `2M/s`"))
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::BitsPerSec(bits) => bits.fmt(f),
            Rate::MessagesPerSec(messages) if messages.is_multiple_of(1_000_000) && *messages > 0 => {
                f.pad(&format!("{}M/s", messages / 1_000_000))
            }
            Rate::MessagesPerSec(messages) if messages.is_multiple_of(1_000) && *messages > 0 => {
                f.pad(&format!("{}k/s", messages / 1_000))
            }
            Rate::MessagesPerSec(messages) => f.pad(&format!("{messages}/s")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_back_as_they_are_written() {
        for (text, rate) in [
            ("250000/s", Rate::MessagesPerSec(250_000)),
            ("1.5M/s", Rate::MessagesPerSec(1_500_000)),
            ("7/s", Rate::MessagesPerSec(7)),
            ("10Gbps", Rate::BitsPerSec(BitsPerSec(10_000_000_000))),
        ] {
            assert_eq!(text.parse(), Ok(rate));
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        assert!("250".parse::<Rate>().unwrap_err().0.contains("250/s"));
        assert!("x/s".parse::<Rate>().is_err());
    }

    #[test]
    fn a_pace_is_said_in_one_line() {
        let p99_at_most_ns = Pace::parse_bound("p99=50us").unwrap();
        let search = Pace::Search { p99_at_most_ns, arrivals: Arrivals::Poisson, seed: 7 };
        assert_eq!(search.to_string(), "highest rate with a p99 of at most 50us, Poisson arrivals, seed 7");
        for unclear in ["50us", "p99<=50us", "p99=50", "p50=1us"] {
            assert!(Pace::parse_bound(unclear).unwrap_err().0.contains("p99=50us"), "{unclear}");
        }
    }

    #[test]
    fn a_pace_is_written_in_one_text() {
        let rate = Rate::MessagesPerSec(250_000);
        for (text, pace) in [
            ("closed", Pace::Closed),
            ("250k/s", Pace::Open { rate, arrivals: Arrivals::Fixed, seed: 1 }),
            ("250k/s poisson", Pace::Open { rate, arrivals: Arrivals::Poisson, seed: 1 }),
            (
                "p99=50us poisson:7",
                Pace::Search { p99_at_most_ns: Nanos(50_000), arrivals: Arrivals::Poisson, seed: 7 },
            ),
        ] {
            assert_eq!(text.parse(), Ok(pace), "{text}");
        }
        for unclear in
            ["", "250", "closed poisson", "250k/s uniform", "250k/s poisson:x", "1k/s fixed 3", "p99<=1us"]
        {
            assert!(unclear.parse::<Pace>().is_err(), "{unclear}");
        }
    }

    #[test]
    fn bits_become_messages_by_the_size() {
        assert_eq!(Rate::BitsPerSec(BitsPerSec(8_000)).messages_per_sec(Bytes(100)), 10.0);
    }
}
