//! Compares the clocks of all nodes with ours, some at a time: an answer that queues here would look like a long way.

use std::{collections::BTreeMap, time::Instant};

use super::{Clock, Fleet, Rank};
use crate::{
    agent::protocol::{Order, Report},
    words,
};

/// Exchanges with each; the shortest counts.
const EXCHANGES: u32 = 8;
/// Nodes that are asked at a time.
const AT_A_TIME: usize = 16;

/// Exchanges with one node.
struct Exchanges {
    left: u32,
    asked_ns: u64,
    best: Option<Clock>,
}

impl Fleet {
    /// Compares clocks where they were not, or have gone alone for too long.
    pub(super) fn compare_clocks_if_old(&mut self) {
        if self.clocks_at.is_none_or(|at| at.elapsed() > self.limits.clocks_alike) {
            self.compare_clocks();
        }
    }

    fn compare_clocks(&mut self) {
        for ranks in self.ranks_here().chunks(AT_A_TIME) {
            let mut all: BTreeMap<Rank, Exchanges> = BTreeMap::new();
            for rank in ranks {
                let exchanges = Exchanges { left: EXCHANGES, asked_ns: words::monotonic_ns(), best: None };
                all.insert(*rank, exchanges);
                self.order(*rank, &Order::Clock {});
            }
            let deadline = Instant::now() + self.limits.clock;
            let late = self.gather(ranks, deadline, true, |fleet, rank, report| {
                let (Report::Clock { monotonic_ns }, Some(exchanges)) = (report, all.get_mut(&rank)) else {
                    return false;
                };
                let heard_ns = words::monotonic_ns();
                let clock = Clock::of(exchanges.asked_ns, monotonic_ns, heard_ns);
                let best = exchanges.best.map_or(clock, |best| best.better(clock));
                exchanges.best = Some(best);
                exchanges.left -= 1;
                if exchanges.left == 0 {
                    fleet.members[rank as usize].clock = Some(best);
                    return true;
                }
                exchanges.asked_ns = words::monotonic_ns();
                fleet.order(rank, &Order::Clock {});
                false
            });
            if Instant::now() < deadline {
                if late.is_empty() {
                    continue;
                }
                return; // someone asked to stop: nothing is measured any more
            }
            for rank in late {
                let within = self.limits.clock.as_secs_f32();
                self.lose(rank, format!("it did not tell the time within {within} s: hung or overloaded"));
            }
        }
        self.clocks_at = Some(Instant::now());
    }
}
