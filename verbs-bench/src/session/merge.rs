//! What the workers of a side brought back, as one: messages summed, histograms added, one window from the earliest begin
//! to the latest end, intervals joined by their number.

use hdrhistogram::Histogram;
use schema::{
    EncodedHistogram, LatencyKind, LatencySummary, Nanos,
    histogram::{HIGHEST_NS, LOWEST_NS, published_quantile},
    record::Interval,
};

use super::work::Output;
use crate::{clock::Scale, engine::recorder::Recorder};

/// All that a side measured.
pub(super) struct Measured {
    /// Messages completed in the window.
    pub(super) messages: u64,
    /// Its length.
    pub(super) duration: Nanos,
    /// Samples of the latency.
    pub(super) latency: Samples,
    /// Of the own messages of a latency test.
    pub(super) completion: Option<Samples>,
    /// Post to device completion.
    pub(super) nic: Option<Samples>,
    /// Device completion to poll.
    pub(super) software: Option<Samples>,
    /// The time series.
    pub(super) intervals: Vec<Interval>,
    /// Messages of a schedule that found their window full.
    pub(super) late_messages: u64,
    /// How far a thread was behind its schedule at worst.
    pub(super) max_lateness: Nanos,
    /// CPUs the workers were seen on.
    pub(super) cpus_seen: Vec<u32>,
}

/// A histogram, and how many samples lay above its range.
pub(super) struct Samples {
    histogram: Histogram<u64>,
    saturated: u64,
}

impl Samples {
    fn of<'r>(recorders: impl Iterator<Item = &'r Recorder>) -> Option<Samples> {
        let mut all: Option<Samples> = None;
        for recorder in recorders {
            let (histogram, saturated) = recorder.samples();
            match &mut all {
                None => all = Some(Samples { histogram: histogram.clone(), saturated }),
                Some(all) => {
                    all.histogram.add(histogram).expect("recorders have one shape");
                    all.saturated += saturated;
                }
            }
        }
        all
    }

    /// What may be read from them; none without a sample.
    pub(super) fn summary(&self, kind: LatencyKind) -> Option<LatencySummary> {
        LatencySummary::of(kind, &self.histogram)
    }

    /// Every sample.
    pub(super) fn encoded(&self) -> EncodedHistogram {
        EncodedHistogram::encode(&self.histogram, self.saturated)
    }

    /// A quantile, where enough samples lie beyond it.
    pub(super) fn quantile(&self, quantile: f64) -> Option<u64> {
        published_quantile(&self.histogram, quantile)
    }
}

/// Joins what measured; none if nobody did.
pub(super) fn merge(outputs: &[Output], scale: Scale) -> Option<Measured> {
    let measured: Vec<_> = outputs.iter().filter_map(|output| output.measured).collect();
    let kept: Vec<_> = outputs.iter().filter_map(|output| output.kept.as_ref()).collect();
    let began = measured.iter().map(|thread| thread.began).min()?;
    let ended = measured.iter().map(|thread| thread.ended).max()?;
    let late_ticks = measured.iter().map(|thread| thread.max_lateness_ticks).max().unwrap_or(0);
    let mut cpus_seen: Vec<u32> =
        kept.iter().flat_map(|kept| kept.latency.cpus_seen().iter().copied()).collect();
    cpus_seen.sort_unstable();
    cpus_seen.dedup();
    let split = || kept.iter().filter_map(|kept| kept.split.as_ref());
    Some(Measured {
        messages: measured.iter().map(|thread| thread.messages).sum(),
        duration: Nanos(scale.ns(ended - began)),
        latency: Samples::of(kept.iter().map(|kept| &kept.latency))?,
        completion: Samples::of(outputs.iter().filter_map(|output| output.completion.as_ref())),
        nic: Samples::of(split().map(|split| &split.nic)),
        software: Samples::of(split().map(|split| &split.software)),
        intervals: intervals(&kept.iter().map(|kept| &kept.latency).collect::<Vec<_>>()),
        late_messages: measured.iter().map(|thread| thread.late_messages).sum(),
        max_lateness: Nanos(scale.ns(late_ticks)),
        cpus_seen,
    })
}

/// The n-th intervals of all threads as one. A thread that ended earlier is missing in the last ones.
fn intervals(recorders: &[&Recorder]) -> Vec<Interval> {
    if let [one] = recorders {
        return one.intervals().to_vec();
    }
    let longest = recorders.iter().map(|recorder| recorder.intervals().len()).max().unwrap_or(0);
    (0..longest)
        .filter_map(|number| {
            let parts = || recorders.iter().filter_map(|recorder| recorder.intervals().get(number));
            let start = parts().map(|part| part.start_ns.get()).min()?;
            let end = parts().map(|part| part.start_ns.get() + part.duration_ns.get()).max()?;
            let mut window = Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, 2)
                .expect("the bounds are constants hdrhistogram accepts");
            for (ns, count) in
                recorders.iter().filter_map(|recorder| recorder.windows().get(number)).flatten()
            {
                let _ = window.record_n(*ns, *count);
            }
            let empty = window.is_empty();
            Some(Interval {
                start_ns: Nanos(start),
                duration_ns: Nanos(end - start),
                messages: parts().map(|part| part.messages).sum(),
                p50_ns: (!empty).then(|| window.value_at_quantile(0.5)),
                p99_ns: published_quantile(&window, 0.99),
                max_ns: parts().filter_map(|part| part.max_ns).max(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::engine::{bandwidth, kept::Kept};

    fn output(began: u64, samples: &[u64]) -> Output {
        let mut kept = Kept::new(Scale::NANOSECONDS, Nanos(1_000), None);
        kept.latency.keep_windows();
        kept.start(began, 0);
        let mut now = began;
        for (done, sample) in samples.iter().enumerate() {
            now += 500;
            kept.latency.add(*sample);
            if kept.latency.interval_over(now) {
                kept.latency.end_interval(now, done as u64 + 1);
            }
        }
        kept.finish(now, samples.len() as u64);
        let measured = bandwidth::Measured {
            messages: samples.len() as u64,
            began,
            ended: now,
            late_messages: 2,
            max_lateness_ticks: began,
            ..bandwidth::Measured::default()
        };
        Output {
            measured: Some(measured),
            kept: Some(kept),
            completion: None,
            sent: Vec::new(),
            arrived: Vec::new(),
            switches: None,
            began: Instant::now(),
        }
    }

    #[test]
    fn two_threads_are_one_window_one_histogram_and_one_series() {
        let outputs = [output(10_000, &[10, 10, 30, 30]), output(10_300, &[20, 20])];
        let merged = merge(&outputs, Scale::NANOSECONDS).unwrap();
        assert_eq!((merged.messages, merged.duration), (6, Nanos(2_000)));
        assert_eq!((merged.late_messages, merged.max_lateness), (4, Nanos(10_300)));
        assert_eq!(merged.latency.summary(LatencyKind::PostToCompletion).unwrap().count, 6);
        let messages: Vec<_> = merged.intervals.iter().map(|interval| interval.messages).collect();
        assert_eq!(messages, [4, 2]);
        let (first, last) = (&merged.intervals[0], &merged.intervals[1]);
        assert_eq!((first.p50_ns, first.max_ns, last.p50_ns), (Some(10), Some(20), Some(30)));
        assert_eq!(first.start_ns, Nanos(0));
    }

    #[test]
    fn nobody_measured_nothing() {
        assert!(merge(&[], Scale::NANOSECONDS).is_none());
    }
}
