//! Where a bandwidth loop puts its samples: the latency under load, and with device timestamps its two parts.

use schema::Nanos;

use super::recorder::Recorder;
use crate::clock::Scale;

/// The device's clock as a line in ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceLine {
    /// The device's ticks at some moment.
    pub device_zero: u64,
    /// Our ticks at the same moment.
    pub zero: u64,
    /// Our ticks per device tick, times 2^32.
    pub multiplier: u64,
}

impl DeviceLine {
    /// Our ticks at a time of the device; times before the zero are right too.
    #[inline(always)]
    pub fn ticks(&self, device: u64) -> u64 {
        let since = i128::from(device.wrapping_sub(self.device_zero) as i64);
        let ours = (since * i128::from(self.multiplier)) >> 32;
        self.zero.wrapping_add(ours as u64)
    }
}

/// The parts of a latency that the device's clock tells apart.
pub struct Split {
    /// Translates the device's time.
    pub line: DeviceLine,
    /// Post to device completion.
    pub nic: Recorder,
    /// Device completion to poll.
    pub software: Recorder,
}

/// The samples of one thread's point.
pub struct Kept {
    /// Latency under load.
    pub latency: Recorder,
    /// Its parts, where completions carry the device's time.
    pub split: Option<Split>,
}

impl Kept {
    /// Empty recorders; with a device line, for its parts too.
    pub fn new(scale: Scale, interval: Nanos, line: Option<DeviceLine>) -> Self {
        let recorder = || Recorder::new(scale, interval);
        Kept {
            latency: recorder(),
            split: line.map(|line| Split { line, nic: recorder(), software: recorder() }),
        }
    }

    /// The scale samples are converted with.
    pub fn scale(&self) -> Scale {
        self.latency.scale()
    }

    /// Forgets what there is and begins at `now`, with `completed` messages already done.
    pub fn start(&mut self, now: u64, completed: u64) {
        self.latency.start(now, completed);
        if let Some(split) = &mut self.split {
            split.nic.start(now, completed);
            split.software.start(now, completed);
        }
    }

    /// Ends at `now`.
    pub fn finish(&mut self, now: u64, completed: u64) {
        self.latency.finish(now, completed);
        if let Some(split) = &mut self.split {
            split.nic.finish(now, completed);
            split.software.finish(now, completed);
        }
    }

    /// Splits one sample. A device time outside of post and poll, which the error of the line may bring, counts as the nearer.
    #[inline(always)]
    pub fn split(&mut self, posted: u64, device: u64, polled: u64) {
        if let Some(split) = &mut self.split {
            let at = split.line.ticks(device).clamp(posted, polled.max(posted));
            split.nic.add(at - posted);
            split.software.add(polled.saturating_sub(at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_line_works_both_ways_from_its_zero() {
        // A device of 1 GHz seen from ticks of 3 GHz.
        let line = DeviceLine { device_zero: 1_000, zero: 500_000, multiplier: 3 << 32 };
        assert_eq!((line.ticks(1_000), line.ticks(1_010), line.ticks(990)), (500_000, 500_030, 499_970));
    }

    #[test]
    fn the_parts_of_a_sample_add_up() {
        let line = DeviceLine { device_zero: 0, zero: 0, multiplier: 1 << 32 };
        let mut kept = Kept::new(Scale::NANOSECONDS, Nanos(1_000_000), Some(line));
        kept.start(0, 0);
        kept.split(100, 700, 1_000);
        kept.split(100, 50, 1_000);
        kept.finish(2_000, 2);
        let split = kept.split.as_ref().unwrap();
        let (nic, software) = (split.nic.samples().0, split.software.samples().0);
        assert_eq!((nic.max(), nic.min()), (600, 0));
        assert_eq!((software.count_at(300), software.max()), (1, 900));
    }
}
