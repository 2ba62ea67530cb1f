//! What the clock of a node shows when ours shows something: by the shortest of several exchanges.

/// How fast two clocks may part, in parts per million: crystals are good for 50 each.
const DRIFT_PPM: u64 = 100;

/// How the clock of a node stands to ours. Both are CLOCK_MONOTONIC, ns, which start with their hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    /// What it shows more than ours.
    offset_ns: i128,
    /// How far off that was at most when it was found: half the round trip.
    half_trip_ns: u64,
    /// When that was, by ours.
    taken_ns: u64,
}

impl Clock {
    /// By one exchange: asked at a moment of ours, answered with a time of theirs, heard at a moment of ours.
    pub(super) fn of(asked_ns: u64, theirs_ns: u64, heard_ns: u64) -> Clock {
        let half_trip_ns = heard_ns.saturating_sub(asked_ns).div_ceil(2);
        // Whenever in between they answered, the middle is no farther off than half the trip.
        let middle = i128::from(asked_ns) + i128::from(half_trip_ns);
        Clock { offset_ns: i128::from(theirs_ns) - middle, half_trip_ns, taken_ns: heard_ns }
    }

    /// The better known of two.
    pub(super) fn better(self, other: Clock) -> Clock {
        if other.half_trip_ns < self.half_trip_ns { other } else { self }
    }

    /// Their time at a moment of ours; 0 where it is before their start.
    pub(super) fn theirs(&self, ours_ns: u64) -> u64 {
        (i128::from(ours_ns) + self.offset_ns).clamp(0, i128::from(u64::MAX)) as u64
    }

    /// From a moment of ours to a moment of theirs, ns.
    pub(super) fn since(&self, ours_ns: u64, theirs_ns: u64) -> i64 {
        let late = i128::from(theirs_ns) - self.offset_ns - i128::from(ours_ns);
        late.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// How far off it may be at a moment of ours, ns.
    pub(super) fn uncertainty_ns(&self, ours_ns: u64) -> u64 {
        let age = u128::from(ours_ns.abs_diff(self.taken_ns));
        let drift = age * u128::from(DRIFT_PPM) / 1_000_000;
        self.half_trip_ns.saturating_add(drift as u64)
    }

    /// How long the way there and back took, ns.
    pub(super) fn trip_ns(&self) -> u64 {
        self.half_trip_ns * 2
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the delays of both ways and the distance of the clocks: the truth is within what is said.
        #[test]
        fn the_offset_is_never_farther_off_than_it_says(
            asked in 1_u64 << 50..1 << 51, there in 0_u64..1 << 32, back in 0_u64..1 << 32, offset in -(1_i64 << 49)..1 << 49,
        ) {
            let theirs_at = |ours: u64| (ours as i64 + offset) as u64;
            let (answered, heard) = (asked + there, asked + there + back);
            let clock = Clock::of(asked, theirs_at(answered), heard);
            prop_assert!(clock.theirs(heard).abs_diff(theirs_at(heard)) <= clock.uncertainty_ns(heard));
            prop_assert!(clock.trip_ns() - (there + back) <= 1);
        }

        /// A moment of ours named in their time is told back as on time.
        #[test]
        fn there_and_back_is_the_same_moment(asked in 1_u64 << 50..1 << 51, theirs in 1_u64 << 50..1 << 51, trip in 0_u64..1 << 32, late in -(1_i64 << 40)..1 << 40) {
            let clock = Clock::of(asked, theirs, asked + trip);
            let post = (clock.theirs(asked) as i64 + late) as u64;
            prop_assert_eq!(clock.since(asked, post), late);
        }

        /// Clocks that part no faster than crystals do stay within what is said.
        #[test]
        fn it_grows_less_certain_as_fast_as_clocks_part(ppm in -100_i64..=100, age in 0_u64..1 << 40) {
            let (asked, theirs) = (1 << 50, 1 << 45);
            let clock = Clock::of(asked, theirs, asked);
            let shown = (theirs + age) as i64 + (i128::from(age) * i128::from(ppm) / 1_000_000) as i64;
            prop_assert!(clock.theirs(asked + age).abs_diff(shown as u64) <= clock.uncertainty_ns(asked + age) + 1);
        }
    }

    #[test]
    fn the_shorter_exchange_is_believed_and_a_time_before_the_start_is_none() {
        let (long, short) = (Clock::of(1_000, 50, 1_200), Clock::of(2_000, 1_040, 2_020));
        assert_eq!(long.better(short), short);
        assert_eq!(short.better(long), short);
        assert_eq!(short.uncertainty_ns(2_020), 10);
        assert_eq!(short.theirs(0), 0);
    }
}
