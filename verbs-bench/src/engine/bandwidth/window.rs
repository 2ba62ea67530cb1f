//! One QP's window: what may be posted now, which of it is signaled, and what a completion gives back. Counting only.
//!
//! Every `interval`-th work request is signaled, so every completion gives back `interval` work requests; the last one of
//! a budget is signaled too and gives back what is left.

use schema::RunSpec;

/// What is signaled in a list that is about to be posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signals {
    /// Position of the first signaled work request; at or beyond the list's length there is none.
    pub first: u64,
    /// How many there are, `interval` apart.
    pub count: u64,
}

/// The window.
#[derive(Debug, Clone)]
pub struct Window {
    depth: u64,
    list: u64,
    interval: u64,
    /// Position of the next signaled work request, counted from the start of the next list.
    next_signal: u64,
    posted: u64,
    credited: u64,
    /// Position after the last signaled work request.
    signaled: u64,
    /// Work requests still to post.
    budget: u64,
}

impl Window {
    /// The window of a spec whose `faults` are empty.
    pub fn new(spec: &RunSpec) -> Self {
        let interval = u64::from(spec.signal_interval);
        Window {
            depth: spec.tx_depth.into(),
            list: spec.post_list.into(),
            interval,
            next_signal: interval - 1,
            posted: 0,
            credited: 0,
            signaled: 0,
            budget: 0,
        }
    }

    /// Allows so many more work requests.
    pub fn allow(&mut self, work_requests: u64) {
        self.budget = work_requests;
    }

    /// Allows no more than what makes every outstanding work request complete; returns how many that is.
    pub fn allow_flush(&mut self) -> u64 {
        self.budget = u64::from(self.posted > self.signaled);
        self.budget
    }

    /// Work requests posted so far.
    pub fn posted(&self) -> u64 {
        self.posted
    }

    /// Whether a whole list fits into window and budget, with at least one work request left for the last, signaled post.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.posted + self.list <= self.credited + self.depth && self.budget > self.list
    }

    /// Whether only the last post is left and fits.
    #[inline(always)]
    pub fn has_last(&self) -> bool {
        self.budget <= self.list && self.budget > 0 && self.posted + self.budget <= self.credited + self.depth
    }

    /// Whether one of the next `lists` lists holds a signaled work request.
    #[inline(always)]
    pub fn signals_within(&self, lists: u64) -> bool {
        self.next_signal < self.list * lists
    }

    /// Takes a whole list out of window and budget.
    #[inline(always)]
    pub fn take_list(&mut self) -> Signals {
        let first = self.next_signal;
        let mut next = first;
        let mut count = 0;
        while next < self.list {
            count += 1;
            next += self.interval;
        }
        self.signaled = if count > 0 { self.posted + next - self.interval + 1 } else { self.signaled };
        self.next_signal = next - self.list;
        self.posted += self.list;
        self.budget -= self.list;
        Signals { first, count }
    }

    /// Takes what is left of the budget, at most a list: its length, and its signals beside the one on its last.
    #[cold]
    pub fn take_last(&mut self) -> (u64, Signals) {
        let length = self.budget;
        let first = self.next_signal;
        let regular = if first < length { (length - 1 - first) / self.interval + 1 } else { 0 };
        let last_is_regular = regular > 0 && first + (regular - 1) * self.interval == length - 1;
        self.posted += length;
        self.signaled = self.posted;
        self.budget = 0;
        self.next_signal = self.interval - 1;
        (length, Signals { first, count: regular + u64::from(!last_is_regular) })
    }

    /// Takes so many completions; returns how many work requests they give back.
    #[inline(always)]
    pub fn credit(&mut self, completions: u64) -> u64 {
        let credited = (self.credited + completions * self.interval).min(self.posted);
        let credit = credited - self.credited;
        self.credited = credited;
        credit
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use schema::Test;

    use super::*;

    fn outstanding(window: &Window) -> u64 {
        window.posted - window.credited
    }

    /// A queue that remembers which work requests are signaled and completes them in order.
    struct Queue {
        depth: u64,
        held: u64,
        posted: u64,
        signaled: VecDeque<u64>,
        freed: u64,
    }

    impl Queue {
        fn post(&mut self, length: u64, signals: Signals, interval: u64, last: bool) {
            let mut at = self.posted + signals.first;
            let end = self.posted + length;
            let mut seen = 0;
            while at < end {
                self.signaled.push_back(at);
                (at, seen) = (at + interval, seen + 1);
            }
            if last && self.signaled.back() != Some(&(end - 1)) {
                self.signaled.push_back(end - 1);
                seen += 1;
            }
            assert_eq!(seen, signals.count, "signals announced");
            self.posted = end;
            self.held += length;
            assert!(self.held <= self.depth, "more than the queue holds");
        }

        /// Completes some; returns how many completions that were.
        fn complete(&mut self, most: usize) -> u64 {
            let count = most.min(self.signaled.len());
            if let Some(last) = count.checked_sub(1).and_then(|last| self.signaled.get(last)) {
                self.held -= last + 1 - self.freed;
                self.freed = last + 1;
            }
            self.signaled.drain(..count);
            count as u64
        }
    }

    proptest! {
        #[test]
        fn never_more_than_the_queue_holds_never_less_than_was_asked_never_stuck(
            depth in 1u32..200, list in 0u32..200, interval in 0u32..200,
            budgets in prop::collection::vec(1u64..3_000, 1..4), polls in prop::collection::vec(1usize..20, 8),
            start in prop_oneof![Just(0u64), Just(u64::from(u32::MAX) - 100)],
        ) {
            let mut spec = RunSpec::new(Test::Bandwidth);
            (spec.tx_depth, spec.post_list, spec.signal_interval) = (depth, list % depth + 1, interval % depth + 1);
            prop_assume!(spec.faults().is_empty());
            let interval = u64::from(spec.signal_interval);
            let mut window = Window::new(&spec);
            // Counters that have run for long, past 32 bits.
            (window.posted, window.credited, window.signaled) = (start, start, start);
            let mut queue = Queue { depth: depth.into(), held: 0, posted: start, signaled: VecDeque::new(), freed: start };
            let mut turn = 0;
            for budget in budgets {
                window.allow(budget);
                let goal = window.posted() + budget;
                while window.posted() < goal || outstanding(&window) > 0 {
                    let before = (window.posted(), outstanding(&window));
                    while window.has_room() {
                        let promised = window.signals_within(1);
                        let signals = window.take_list();
                        prop_assert_eq!(promised, signals.count > 0);
                        queue.post(spec.post_list.into(), signals, interval, false);
                    }
                    if window.has_last() {
                        let (length, signals) = window.take_last();
                        queue.post(length, signals, interval, true);
                    }
                    let done = queue.complete(polls[turn % polls.len()]);
                    turn += 1;
                    window.credit(done);
                    prop_assert_eq!(outstanding(&window), queue.held);
                    prop_assert!(before != (window.posted(), outstanding(&window)), "stuck at {before:?}");
                }
                prop_assert_eq!(window.posted(), goal);
                prop_assert_eq!(queue.posted, goal);
                prop_assert_eq!(window.allow_flush(), 0);
            }
        }

        #[test]
        fn a_flush_completes_whatever_is_outstanding(
            depth in 1u32..100, list in 0u32..100, interval in 0u32..100, lists in 1u32..50,
        ) {
            let mut spec = RunSpec::new(Test::Bandwidth);
            (spec.tx_depth, spec.post_list, spec.signal_interval) = (depth, list % depth + 1, interval % depth + 1);
            prop_assume!(spec.faults().is_empty());
            let interval = u64::from(spec.signal_interval);
            let mut window = Window::new(&spec);
            let mut queue = Queue { depth: depth.into(), held: 0, posted: 0, signaled: VecDeque::new(), freed: 0 };
            window.allow(u64::MAX);
            for _ in 0..lists {
                while !window.has_room() {
                    let done = queue.complete(1);
                    prop_assert!(done > 0, "stuck");
                    window.credit(done);
                }
                let signals = window.take_list();
                queue.post(spec.post_list.into(), signals, interval, false);
            }
            window.allow_flush();
            while outstanding(&window) > 0 {
                if window.has_last() {
                    let (length, signals) = window.take_last();
                    queue.post(length, signals, interval, true);
                }
                let done = queue.complete(1);
                prop_assert!(done > 0, "stuck");
                window.credit(done);
            }
        }
    }
}
