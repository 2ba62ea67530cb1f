//! A link that stands still at the end of every period: time on the link, which stops while it stalls.
//!
//! What is on its way waits and goes on afterwards with the time it had left, so nothing is lost, the order stays, and a
//! saturated link carries exactly the share of the time that is not stalled.

use schema::soft::StallFault;

use crate::clock::Scale;

/// Turns time into time on the link. Ticks in, ticks out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinkTime {
    duration: u64,
    period: u64,
    stall_from: u64,
    stall_until: u64,
    /// All stalls before the present period.
    stalled: u64,
    connected: u64,
}

impl LinkTime {
    /// A link that never stalls; also one that has not been connected yet.
    pub(super) const EVEN: LinkTime = LinkTime {
        duration: 0,
        period: 0,
        stall_from: u64::MAX,
        stall_until: u64::MAX,
        stalled: 0,
        connected: 0,
    };

    /// Periods count from `connected`.
    pub(super) fn stalling(stall: StallFault, scale: Scale, connected: u64) -> LinkTime {
        let duration = scale.ticks(stall.duration_ns.get());
        let period = scale.ticks(stall.period_ns.get());
        let stall_until = connected + period;
        LinkTime { duration, period, stall_from: stall_until - duration, stall_until, stalled: 0, connected }
    }

    /// The link's time at `now`, which must not be before an earlier call's by a period or more.
    #[inline]
    pub(super) fn at(&mut self, now: u64) -> u64 {
        while now >= self.stall_until && self.period > 0 {
            self.stalled += self.duration;
            self.stall_from += self.period;
            self.stall_until += self.period;
        }
        now.min(self.stall_from) - self.stalled
    }

    /// The first moment at which the link's time is `at`.
    #[inline]
    pub(super) fn clock_at(&self, at: u64) -> u64 {
        let run = self.period - self.duration;
        match at.checked_sub(self.connected + 1) {
            // The end of a running part comes before the stall, so a whole period has passed only beyond it.
            Some(before) if run > 0 => at + before / run * self.duration,
            _ => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use schema::Nanos;

    fn stalling(duration: u64, period: u64, connected: u64) -> LinkTime {
        let stall = StallFault { duration_ns: Nanos(duration), period_ns: Nanos(period) };
        LinkTime::stalling(stall, Scale::NANOSECONDS, connected)
    }

    #[test]
    fn time_stands_still_at_the_end_of_each_period() {
        let mut time = stalling(20, 100, 1_000);
        let at = [1_000, 1_079, 1_080, 1_099, 1_100, 1_179, 1_199, 1_200].map(|now| time.at(now));
        assert_eq!(at, [1_000, 1_079, 1_080, 1_080, 1_080, 1_159, 1_160, 1_160]);
    }

    #[test]
    fn an_even_link_keeps_the_time() {
        let mut time = LinkTime::EVEN;
        assert_eq!([0, 5, u64::MAX].map(|now| time.at(now)), [0, 5, u64::MAX]);
    }

    proptest! {
        #[test]
        fn it_never_runs_back_and_runs_the_right_share(
            duration in 1u64..1_000, more in 1u64..1_000, connected in 0u64..1 << 40,
            steps in proptest::collection::vec(0u64..5_000, 1..50),
        ) {
            let period = duration + more;
            let mut time = stalling(duration, period, connected);
            let (mut now, mut last) = (connected, connected);
            for step in steps {
                now += step;
                let at = time.at(now);
                prop_assert!(at >= last && at <= now);
                let clock = time.clock_at(at);
                prop_assert!(clock <= now && (clock == now || now - clock <= duration));
                prop_assert_eq!(time.clone().at(clock.max(time.stall_until - period)), at);
                last = at;
                let (whole, rest) = ((now - connected) / period, (now - connected) % period);
                prop_assert_eq!(at - connected, whole * more + rest.min(more));
            }
        }
    }
}
