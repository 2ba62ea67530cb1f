//! The device's clock against ours: two lines of readings, and how far the line drawn before a measurement lay off after it.
//!
//! A reading is the tightest of many brackets, so an interrupt or a slow call does not enter it. The rate comes from two
//! readings far apart; the device's nominal rate is never used.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use crate::{
    clock::Clock,
    engine::kept::DeviceLine,
    verbs::{Context, VerbsError},
};

/// Brackets a reading chooses from.
const BRACKETS: u32 = 64;
/// The two readings of a rate lie at least this far apart.
const BASE: Duration = Duration::from_millis(200);

/// One moment on both clocks.
#[derive(Debug, Clone, Copy)]
struct Reading {
    device: u64,
    ours: u64,
    width: u64,
}

/// The device's clock as it was seen so far.
pub(super) struct Correlation {
    context: Arc<Context>,
    first: Reading,
    taken: Instant,
}

/// What was drawn before a measurement and checked after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Checked {
    /// The device's rate over everything since the connection.
    pub(super) ticks_per_sec: f64,
    /// The error of the line at the end of the measurement, and the width of the readings.
    pub(super) error_ns: f64,
}

fn read(context: &Context, clock: &Clock) -> Result<Reading, VerbsError> {
    let mut best = Reading { device: 0, ours: 0, width: u64::MAX };
    for _ in 0..BRACKETS {
        let before = clock.source().now();
        let device = context.device_ticks()?;
        let width = clock.source().now().saturating_sub(before);
        if width < best.width {
            best = Reading { device, ours: before + width / 2, width };
        }
    }
    Ok(best)
}

/// The line through two readings, from the later one on.
fn line(first: Reading, last: Reading) -> DeviceLine {
    let ours = u128::from(last.ours.saturating_sub(first.ours));
    let device = u128::from(last.device.wrapping_sub(first.device).max(1));
    let multiplier = u64::try_from((ours << 32) / device).unwrap_or(u64::MAX);
    DeviceLine { device_zero: last.device, zero: last.ours, multiplier }
}

impl Correlation {
    /// Takes the first reading.
    pub(super) fn begin(context: &Arc<Context>, clock: &Clock) -> Result<Correlation, VerbsError> {
        let first = read(context, clock)?;
        Ok(Correlation { context: Arc::clone(context), first, taken: Instant::now() })
    }

    /// The line for a measurement that begins now.
    pub(super) fn line(&self, clock: &Clock) -> Result<DeviceLine, VerbsError> {
        thread::sleep(BASE.saturating_sub(self.taken.elapsed()));
        Ok(line(self.first, read(&self.context, clock)?))
    }

    /// How good a line was, for a measurement that has ended now.
    pub(super) fn check(&self, drawn: &DeviceLine, clock: &Clock) -> Result<Checked, VerbsError> {
        Ok(checked(self.first, read(&self.context, clock)?, drawn, clock))
    }
}

fn checked(first: Reading, last: Reading, drawn: &DeviceLine, clock: &Clock) -> Checked {
    let scale = clock.scale();
    let elapsed = scale.ns(last.ours.saturating_sub(first.ours)).max(1) as f64;
    let off = drawn.ticks(last.device).abs_diff(last.ours);
    Checked {
        ticks_per_sec: last.device.wrapping_sub(first.device) as f64 * 1e9 / elapsed,
        error_ns: scale.ns(off.saturating_add(first.width.max(last.width))) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of 1 GHz, 77 ticks ahead, seen from a clock of 2.5 GHz.
    fn reading(ours: u64) -> Reading {
        Reading { device: ours * 2 / 5 + 77, ours, width: 25 }
    }

    #[test]
    fn two_readings_make_a_line_that_meets_a_third() {
        let drawn = line(reading(1_000_000), reading(500_000_000));
        let third = reading(5_000_000_000);
        assert!(drawn.ticks(third.device).abs_diff(third.ours) <= 5);
    }

    #[test]
    fn a_device_that_drifts_is_told_by_its_error() {
        let clock = Clock::calibrate();
        let ticks_per_sec = clock.scale().ticks(1_000_000_000);
        let at = |second: u64, device: u64| Reading { device, ours: second * ticks_per_sec, width: 0 };
        let drawn = line(at(1, 1_000_000_000), at(2, 2_000_000_000));
        let steady = checked(at(1, 1_000_000_000), at(3, 3_000_000_000), &drawn, &clock);
        let drifted = checked(at(1, 1_000_000_000), at(3, 3_000_100_000), &drawn, &clock);
        assert!(steady.error_ns < 10.0 && (steady.ticks_per_sec / 1e9 - 1.0).abs() < 1e-6, "{steady:?}");
        assert!((drifted.error_ns - 100_000.0).abs() < 100.0, "{drifted:?}");
    }
}
