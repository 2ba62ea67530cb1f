//! Where the loops put their samples: one histogram of the whole Measure phase and a coarser one of the running interval.
//!
//! Everything is allocated before the loop. Samples that follow each other with the same value (one post burst answered
//! by one poll) are recorded at once. Nothing is dropped: what lies above the histogram's range is kept at its end and counted.

use hdrhistogram::Histogram;
use schema::{
    Nanos,
    histogram::{HIGHEST_NS, LOWEST_NS, new_latency_histogram, published_quantile},
    record::Interval,
};

use crate::{clock::Scale, placement};

/// Intervals that fit without another allocation; beyond that the series grows in the cold path.
const INTERVALS_AT_FIRST: usize = 16_384;

/// The samples of one point.
pub struct Recorder {
    scale: Scale,
    samples: Histogram<u64>,
    saturated: u64,
    pending_ns: u64,
    pending_count: u64,
    window: Histogram<u64>,
    intervals: Vec<Interval>,
    interval_ticks: u64,
    started: u64,
    interval_started: u64,
    interval_ends: u64,
    completed_before: u64,
    cpus_seen: Vec<u32>,
    /// The histograms of the intervals as values and counts, where they are to be joined with other threads'.
    windows: Option<Vec<Vec<(u64, u64)>>>,
}

impl Recorder {
    /// An empty recorder.
    pub fn new(scale: Scale, interval: Nanos) -> Self {
        let mut recorder = Recorder {
            scale,
            samples: new_latency_histogram(),
            saturated: 0,
            pending_ns: 0,
            pending_count: 0,
            window: Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, 2)
                .expect("the bounds are constants hdrhistogram accepts"),
            intervals: Vec::with_capacity(INTERVALS_AT_FIRST),
            interval_ticks: scale.ticks(interval.get()),
            started: 0,
            interval_started: 0,
            interval_ends: u64::MAX,
            completed_before: 0,
            cpus_seen: Vec::with_capacity(64),
            windows: None,
        };
        // Touches every counter, so that the first samples of Measure meet no page fault.
        recorder.samples.reset();
        recorder.window.reset();
        recorder
    }

    /// From now on the histogram of each interval is kept too.
    pub fn keep_windows(&mut self) {
        self.windows = Some(Vec::with_capacity(INTERVALS_AT_FIRST));
    }

    /// The scale samples are converted with.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Forgets what WarmUp left and starts the series at `now`, with `completed` messages already done. Of a fresh recorder
    /// there is nothing to forget, and nothing keeps the loop waiting.
    pub fn start(&mut self, now: u64, completed: u64) {
        if !self.samples.is_empty() {
            self.samples.reset();
            self.window.reset();
        }
        self.intervals.clear();
        self.windows.iter_mut().for_each(Vec::clear);
        (self.saturated, self.pending_count) = (0, 0);
        (self.started, self.interval_started, self.completed_before) = (now, now, completed);
        self.interval_ends = now + self.interval_ticks;
    }

    /// Adds a sample of so many ticks.
    #[inline(always)]
    pub fn add(&mut self, ticks: u64) {
        self.add_n(ticks, 1);
    }

    /// Adds `count` samples of so many ticks.
    #[inline(always)]
    pub fn add_n(&mut self, ticks: u64, count: u64) {
        let ns = self.scale.ns(ticks);
        if ns == self.pending_ns {
            self.pending_count += count;
        } else {
            self.flush();
            self.pending_ns = ns;
            self.pending_count = count;
        }
    }

    /// Adds half of a sample of so many ticks: a round trip.
    #[inline(always)]
    pub fn add_half(&mut self, ticks: u64) {
        self.add(ticks >> 1);
    }

    /// Moves the pending run of equal samples into the histograms.
    #[inline(always)]
    fn flush(&mut self) {
        if self.pending_count == 0 {
            return;
        }
        let ns = if self.pending_ns > HIGHEST_NS { self.saturate() } else { self.pending_ns };
        // Both calls fail only above HIGHEST_NS, which has just been ruled out.
        let _ = self.samples.record_n(ns, self.pending_count);
        let _ = self.window.record_n(ns, self.pending_count);
        self.pending_count = 0;
    }

    #[cold]
    fn saturate(&mut self) -> u64 {
        self.saturated += self.pending_count;
        HIGHEST_NS
    }

    /// Whether the running interval is over.
    #[inline(always)]
    pub fn interval_over(&self, now: u64) -> bool {
        now >= self.interval_ends
    }

    /// Closes the running interval at `now`, with `completed` messages done since the loop began.
    #[cold]
    #[inline(never)]
    pub fn end_interval(&mut self, now: u64, completed: u64) {
        self.flush();
        let empty = self.window.is_empty();
        self.intervals.push(Interval {
            start_ns: Nanos(self.scale.ns(self.interval_started - self.started)),
            duration_ns: Nanos(self.scale.ns(now - self.interval_started)),
            messages: completed - self.completed_before,
            p50_ns: (!empty).then(|| self.window.value_at_quantile(0.5)),
            p99_ns: published_quantile(&self.window, 0.99),
            max_ns: (!empty).then(|| self.window.max()),
        });
        if let Some(windows) = &mut self.windows {
            let counts = self.window.iter_recorded();
            windows.push(counts.map(|at| (at.value_iterated_to(), at.count_at_value())).collect());
        }
        self.window.reset();
        (self.interval_started, self.completed_before) = (now, completed);
        self.interval_ends = now + self.interval_ticks;
        if let Some(cpu) = placement::current_cpu()
            && !self.cpus_seen.contains(&cpu)
        {
            self.cpus_seen.push(cpu);
        }
    }

    /// Closes the series: a last interval if anything happened since the last boundary.
    pub fn finish(&mut self, now: u64, completed: u64) {
        if completed > self.completed_before || self.intervals.is_empty() {
            self.end_interval(now, completed);
        }
        self.flush();
        self.interval_ends = u64::MAX;
    }

    /// All samples, and how many of them were saturated.
    pub fn samples(&self) -> (&Histogram<u64>, u64) {
        (&self.samples, self.saturated)
    }

    /// The time series.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// The histograms of the intervals, as values and counts; empty unless they were asked for.
    pub fn windows(&self) -> &[Vec<(u64, u64)>] {
        self.windows.as_deref().unwrap_or_default()
    }

    /// CPUs the thread was seen on at interval ends.
    pub fn cpus_seen(&self) -> &[u32] {
        &self.cpus_seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder() -> Recorder {
        Recorder::new(Scale::NANOSECONDS, Nanos(1_000))
    }

    #[test]
    fn every_sample_is_kept_whatever_its_neighbours() {
        let mut recorder = recorder();
        recorder.start(0, 0);
        for ns in [5, 5, 5, 7, 5, HIGHEST_NS + 1] {
            recorder.add(ns);
        }
        recorder.finish(500, 6);
        let (samples, saturated) = recorder.samples();
        assert_eq!((samples.len(), saturated), (6, 1));
        assert_eq!((samples.count_at(5), samples.count_at(7)), (4, 1));
    }

    #[test]
    fn warm_up_is_forgotten() {
        let mut recorder = recorder();
        recorder.start(0, 0);
        recorder.add(9);
        recorder.start(100, 1);
        recorder.add(5);
        recorder.finish(200, 2);
        assert_eq!(recorder.samples().0.len(), 1);
        assert_eq!(recorder.intervals().len(), 1);
        assert_eq!(recorder.intervals()[0].messages, 1);
    }

    #[test]
    fn intervals_split_the_messages_and_lose_none() {
        let mut recorder = recorder();
        recorder.start(0, 0);
        let mut completed = 0;
        for now in (0..10_000).step_by(100) {
            completed += 1;
            recorder.add(42);
            if recorder.interval_over(now) {
                recorder.end_interval(now, completed);
            }
        }
        recorder.finish(10_000, completed);
        assert_eq!(recorder.intervals().iter().map(|interval| interval.messages).sum::<u64>(), completed);
        assert!(recorder.intervals().len() >= 9);
        assert_eq!(recorder.intervals()[3].p50_ns, Some(42));
    }
}
