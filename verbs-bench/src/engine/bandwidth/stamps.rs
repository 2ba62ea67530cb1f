//! When the signaled work requests in flight were posted, run-length coded: a burst of posts has one stamp.
//!
//! Completions of a QP arrive in order, so a ring is enough: the n-th completion belongs to the n-th signaled work request.

/// So many signaled work requests with one stamp.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    tick: u64,
    left: u64,
}

/// The ring.
pub struct Stamps {
    runs: Box<[Run]>,
    head: usize,
    tail: usize,
    owed: u64,
}

impl Stamps {
    /// A ring for at most `signals` signaled work requests in flight.
    pub fn new(signals: u32) -> Self {
        let runs = vec![Run::default(); (signals as usize + 1).next_power_of_two()].into_boxed_slice();
        Stamps { runs, head: 0, tail: 0, owed: 0 }
    }

    /// Notes `signals` signaled work requests posted at `tick`; at least one.
    #[inline(always)]
    pub fn push(&mut self, tick: u64, signals: u64) {
        let mask = self.runs.len() - 1;
        self.runs[self.head & mask] = Run { tick, left: signals };
        self.head = self.head.wrapping_add(1);
        self.owed += signals;
    }

    /// Completions that are due.
    #[inline(always)]
    pub fn owed(&self) -> u64 {
        self.owed
    }

    /// Takes `completions` off the ring, at most [`Stamps::owed`]; hands on each stamp with how many bear it.
    #[inline(always)]
    pub fn take(&mut self, mut completions: u64, mut each: impl FnMut(u64, u64)) {
        let mask = self.runs.len() - 1;
        self.owed -= completions;
        while completions > 0 {
            let run = &mut self.runs[self.tail & mask];
            let count = completions.min(run.left);
            run.left -= count;
            let tick = run.tick;
            self.tail = self.tail.wrapping_add(usize::from(run.left == 0));
            completions -= count;
            each(tick, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out_in_order(
            depth in 1u32..70, steps in prop::collection::vec((1u64..9, 0u64..9), 1..400),
            start in prop_oneof![Just(0usize), Just(usize::MAX - 20)],
        ) {
            let mut stamps = Stamps::new(depth);
            (stamps.head, stamps.tail) = (start, start);
            let mut plain = VecDeque::new();
            for (tick, (push, take)) in steps.into_iter().enumerate() {
                let push = push.min(u64::from(depth) - plain.len() as u64);
                if push > 0 {
                    stamps.push(tick as u64, push);
                    plain.extend(std::iter::repeat_n(tick as u64, push as usize));
                }
                let take = take.min(plain.len() as u64);
                let mut got = Vec::new();
                stamps.take(take, |tick, count| got.extend(std::iter::repeat_n(tick, count as usize)));
                prop_assert_eq!(got, plain.drain(..take as usize).collect::<Vec<_>>());
                prop_assert_eq!(stamps.owed(), plain.len() as u64);
            }
        }
    }
}
