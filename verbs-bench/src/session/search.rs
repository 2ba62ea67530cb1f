//! The search for the fastest schedule that keeps a bound: pure; the requester measures what it asks for.
//!
//! Bisection between nothing and what a closed loop achieves. A rate holds if it was achieved and its p99 is published and
//! within the bound.

use schema::{Nanos, record::Probe};

/// Rates a search tries.
const PROBES: usize = 9;
/// How much of an asked rate counts as achieved.
const ACHIEVED: f64 = 0.99;
/// The search ends when it knows the rate to this part.
const FINE_ENOUGH: f64 = 0.01;

/// A search in progress.
pub(super) struct Search {
    p99_at_most: Nanos,
    holds: Option<f64>,
    fails: f64,
    probes: Vec<Probe>,
}

impl Search {
    /// For the bound, below what a closed loop achieved.
    pub(super) fn below(ceiling_messages_per_sec: f64, p99_at_most: Nanos) -> Search {
        Search { p99_at_most, holds: None, fails: ceiling_messages_per_sec, probes: Vec::new() }
    }

    /// The next rate to try; none when it is over.
    pub(super) fn next(&self) -> Option<f64> {
        let settled = self.holds.is_some_and(|holds| self.fails - holds <= FINE_ENOUGH * holds);
        // A slower rate has even fewer samples.
        let too_few = self.holds.is_none() && self.probes.last().is_some_and(|probe| probe.p99_ns.is_none());
        if too_few {
            return None;
        }
        let low = self.holds.unwrap_or(0.0);
        (self.probes.len() < PROBES && !settled).then_some((low + self.fails) / 2.0)
    }

    /// What came of the rate that was asked for last.
    pub(super) fn tried(&mut self, asked: f64, achieved: f64, p99_ns: Option<u64>) {
        let held = achieved >= ACHIEVED * asked && p99_ns.is_some_and(|p99| p99 <= self.p99_at_most.get());
        match held {
            true => self.holds = Some(asked),
            false => self.fails = asked,
        }
        self.probes.push(Probe {
            asked_messages_per_sec: asked,
            achieved_messages_per_sec: achieved,
            p99_ns,
            held,
        });
    }

    /// The fastest rate that held, or what to say when none did; with what was tried.
    pub(super) fn result(self) -> (Result<f64, String>, Vec<Probe>) {
        let bound = self.p99_at_most;
        let lowest = self.probes.iter().rev().find(|probe| probe.p99_ns.is_some()).or(self.probes.last());
        let found = self.holds.ok_or_else(|| match lowest {
            None => "no rate was tried".into(),
            Some(lowest) => format!(
                "no rate kept a p99 of {bound}: the lowest tried, {:.0} messages/s, had {} and achieved {:.0} messages/s",
                lowest.asked_messages_per_sec,
                lowest.p99_ns.map_or("too few samples for a p99".to_owned(), |p99| format!("a p99 of {}", Nanos(p99))),
                lowest.achieved_messages_per_sec
            ),
        });
        (found, self.probes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn search(ceiling: f64, limit: f64) -> (Result<f64, String>, Vec<Probe>) {
        let mut search = Search::below(ceiling, Nanos(100));
        while let Some(rate) = search.next() {
            let p99 = if rate <= limit { 50 } else { 500 };
            search.tried(rate, rate, Some(p99));
        }
        search.result()
    }

    proptest! {
        #[test]
        fn it_finds_the_limit_from_below(ceiling in 1e3f64..1e8, share in 0.1f64..1.0) {
            let limit = ceiling * share;
            let (found, probes) = search(ceiling, limit);
            let found = found.unwrap();
            prop_assert!(found <= limit && found >= limit - ceiling / 256.0 - limit * FINE_ENOUGH, "{found} for {limit}");
            prop_assert!(probes.len() <= PROBES);
        }
    }

    #[test]
    fn nothing_that_holds_says_what_was_tried_last() {
        let (found, probes) = search(1e6, 0.0);
        let text = found.unwrap_err();
        assert!(text.contains("1953 messages/s") && text.contains("500ns"), "{text}");
        assert_eq!(probes.len(), PROBES);
    }

    #[test]
    fn a_rate_that_was_not_achieved_or_has_no_p99_does_not_hold() {
        let mut search = Search::below(1_000.0, Nanos(100));
        search.tried(500.0, 400.0, Some(10));
        search.tried(250.0, 250.0, None);
        assert_eq!(search.next(), None);
        let text = search.result().0.unwrap_err();
        assert!(text.contains("500 messages/s") && text.contains("10ns"), "{text}");
    }
}
