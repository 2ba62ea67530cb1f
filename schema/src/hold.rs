//! The two lines of a run that stands ready until it is told when to begin: `verbs-bench run --hold` writes one, reads the other.

use serde::{Deserialize, Serialize};

/// Written on stdout once everything is set up and the next thing is the first post of the first measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holding {
    /// Always true.
    pub holding: bool,
}

/// Awaited on stdin after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartAt {
    /// The moment of the first post, by CLOCK_MONOTONIC of the host, ns; one that has passed means at once.
    pub start_at_monotonic_ns: u64,
}

/// How long a run stands ready at most before it is told the moment, s.
pub const MOST_HELD_S: u64 = 60;
/// How far ahead of the telling that moment may lie, s.
pub const MOST_AHEAD_S: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_as_documented() {
        assert_eq!(serde_json::to_string(&Holding { holding: true }).unwrap(), r#"{"holding":true}"#);
        let start = StartAt { start_at_monotonic_ns: u64::MAX };
        let line = r#"{"start_at_monotonic_ns":18446744073709551615}"#;
        assert_eq!(serde_json::to_string(&start).unwrap(), line);
        assert_eq!(serde_json::from_str::<StartAt>(line).unwrap(), start);
        assert!(serde_json::from_str::<StartAt>(r#"{"start_at_monotonic_ns":1.5}"#).is_err());
        assert!(serde_json::from_str::<StartAt>(r#"{"start_at_monotonic_ns":1,"now":2}"#).is_err());
    }
}
