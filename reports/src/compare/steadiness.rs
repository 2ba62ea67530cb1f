//! Whether a run held still while it was measured, and whether pairs depend on those before them.

use schema::{Point, Test, record::Interval};

use super::{effect::median_of_sorted, stats::student::mean_and_sd};

/// First and last third may differ by this share.
const DRIFT: f64 = 0.05;
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
    let first = median(&level[..third]);
    let last = median(&level[level.len() - third..]);
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

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// Lag-1 autocorrelation, where it is larger than chance allows (2 / sqrt n).
pub(super) fn autocorrelation(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let (mean, sd) = mean_and_sd(values);
    if values.len() < 2 || sd == 0.0 {
        return None;
    }
    let products: f64 = values.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let r = products / (sd * sd * (n - 1.0));
    (r.abs() > 2.0 / n.sqrt()).then_some(r)
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
    fn a_trend_is_autocorrelated_and_noise_is_not() {
        let trend: Vec<f64> = (0..10).map(f64::from).collect();
        // numpy: x = numpy.arange(10) - 4.5; (x[:-1] * x[1:]).sum() / (x * x).sum()
        assert!((autocorrelation(&trend).unwrap() - 0.7).abs() < 1e-12);
        assert_eq!(autocorrelation(&[0.1, -0.2, 0.15, 0.05, -0.1, 0.0, 0.2, -0.05, -0.1, 0.1]), None);
        assert_eq!(autocorrelation(&[1.0; 10]), None);
    }
}
