//! How long a fleet waits for what.

use std::time::Duration;

use crate::run::ends::{MARGIN, PATIENCE};

/// How long a fleet waits for what.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// For all agents to say who they are.
    pub(super) hello: Duration,
    /// For an agent to be silent; agents say that they are there six times as often. It holds both ways.
    pub(super) silence: Duration,
    /// For an answer that is given at once. Longer than for silence, which says more.
    pub(super) clock: Duration,
    /// For all hosts to be audited.
    pub(super) audit: Duration,
    /// For an agent's knobs: a link that was taken down may need half a minute to train, and there may be several.
    pub(super) knobs: Duration,
    /// For a process to start to listen, or to end when it has nothing left to do.
    pub(super) process: Duration,
    /// For the requesters of a round to stand ready; verbs-bench itself holds for a minute.
    pub(super) ready: Duration,
    /// For a run beyond its plan.
    pub(super) margin: Duration,
    /// For an agent to end a process that it was told to end.
    pub(super) stop: Duration,
    /// For an agent to go.
    pub(super) farewell: Duration,
    /// For an agent that is lost to go, before it is left alone.
    pub(super) lost: Duration,
    /// From the order to start to the moment of the start, besides what the way there takes.
    pub(super) ahead: Duration,
    /// For which clocks that were compared are taken to go alike.
    pub(super) clocks_alike: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            hello: Duration::from_secs(30),
            silence: Duration::from_secs(15),
            clock: Duration::from_secs(20),
            audit: Duration::from_secs(60),
            knobs: Duration::from_secs(180),
            process: PATIENCE,
            ready: Duration::from_secs(45),
            margin: MARGIN,
            stop: Duration::from_secs(10),
            farewell: Duration::from_secs(180),
            lost: Duration::from_secs(2),
            ahead: Duration::from_millis(50),
            clocks_alike: Duration::from_secs(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_noticed_before_what_follows_from_it() {
        let limits = Limits::default();
        for later in [limits.clock, limits.ready, limits.audit, limits.knobs, limits.margin] {
            assert!(limits.silence + limits.silence / 6 < later, "{later:?}");
        }
    }
}
