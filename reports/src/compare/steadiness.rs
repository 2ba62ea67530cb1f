//! Whether a run held still while it was measured, and whether the machine was the same from block to block.

use schema::{Point, Test, record::Interval};

use super::{
    effect::median,
    model::{Pair, Step},
    stats::change_point,
};

/// First and last third may differ by this share.
pub(super) const DRIFT: f64 = 0.05;
/// Fewer intervals have no thirds worth comparing.
const FEWEST_INTERVALS: usize = 6;

/// Whether the median of the last third of the intervals differs from that of the first third by more than 5 %; none with
/// too few intervals to say.
pub(super) fn drifts(point: &Point) -> Option<bool> {
    let level: Vec<f64> = point.intervals.iter().filter_map(|interval| level(point.test, interval)).collect();
    if level.len() < FEWEST_INTERVALS {
        return None;
    }
    let third = level.len() / 3;
    let first = median(&level[..third])?;
    let last = median(&level[level.len() - third..])?;
    Some((last / first - 1.0).abs() > DRIFT)
}

/// What an interval is judged by: messages per second under load, the median of a latency test.
pub fn level(test: Test, interval: &Interval) -> Option<f64> {
    match test {
        Test::Bandwidth => {
            let seconds = interval.duration_ns.get() as f64 / 1e9;
            (seconds > 0.0).then(|| interval.messages as f64 / seconds)
        }
        Test::Latency => interval.p50_ns.map(|ns| ns as f64),
    }
}

/// Where the level of the baseline moved most: the geometric mean of its two runs in each block.
pub(super) fn level_step(controls: &[Pair]) -> Option<Step> {
    step(controls, |pair| pair.baseline.ln() + pair.ln_ratio / 2.0)
}

/// Where candidate/baseline moved most.
pub(super) fn ratio_step(pairs: &[Pair]) -> Option<Step> {
    step(pairs, |pair| pair.ln_ratio)
}

fn step(pairs: &[Pair], ln: fn(&Pair) -> f64) -> Option<Step> {
    let found = change_point::of(&pairs.iter().map(ln).collect::<Vec<_>>())?;
    let block = pairs[found.before as usize].block;
    Some(Step { block, change: found.change.exp_m1(), p: found.p, p_adjusted: found.p })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{interval, point_of_bandwidth};
    use schema::Bytes;

    fn run(messages: impl Iterator<Item = u64>) -> Point {
        let mut point = point_of_bandwidth(Bytes(4096), 1e9);
        point.intervals = messages.enumerate().map(|(i, messages)| interval(i, messages)).collect();
        point
    }

    #[test]
    fn a_run_that_warms_up_too_long_drifts() {
        assert_eq!(drifts(&run((0..12).map(|i| 1_000 + 10 * i))), Some(true));
        assert_eq!(drifts(&run((0..12).map(|i| 1_000 + i % 3))), Some(false));
        assert_eq!(drifts(&run(0..5)), None);
    }

    #[test]
    fn a_load_that_starts_half_way_is_a_step() {
        let pair = |block: u32| {
            let level = if block < 5 { 100.0 } else { 80.0 } + f64::from(block % 3);
            Pair { block: 2 * block, baseline: level, candidate: 1.01 * level, ln_ratio: 1.01f64.ln() }
        };
        let pairs: Vec<Pair> = (0..10).map(pair).collect();
        let moved = level_step(&pairs).unwrap();
        assert_eq!(moved.block, 10);
        assert!((moved.change + 0.2).abs() < 0.01 && moved.p < 1e-6, "{moved:?}");
        // What hits both runs of a pair alike is not in their ratio.
        assert_eq!(ratio_step(&pairs), None);
    }
}
