//! Choosing the clock of a run, and the conversion from its ticks to nanoseconds.
//!
//! The TSC's rate is measured against CLOCK_MONOTONIC_RAW (which no NTP steers) between two anchors; each anchor is the
//! tightest of many bracketed readings, so an interrupt between the two reads of a pair does not enter the rate.

use std::{thread, time::Duration};

use host::{Sysroot, cpuinfo};
use schema::record::ClockRecord;

use super::{
    overhead,
    tsc::{AnyTicks, KernelView, MonotonicRaw, Ticks, Tsc, judge_tsc},
};

/// Between the two anchors of the first calibration. An anchor is good to about 50 ns, so the rate is good to about 20 ppm,
/// a fifth of the 100 ppm allowed; [`Clock::refine`] makes it better with time that passes anyway.
const CALIBRATION: Duration = Duration::from_millis(5);
/// Bracketed readings an anchor chooses from.
const ANCHOR_READINGS: u32 = 200;
/// The environment variable that forces a source.
const FORCE: &str = "VERBS_BENCH_CLOCK";

/// Where ticks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// [`Tsc`].
    Tsc,
    /// [`MonotonicRaw`].
    MonotonicRaw,
}

impl Source {
    /// A reading, for cold code.
    pub fn now(self) -> u64 {
        self.ticks().now()
    }

    /// This source as one type for both.
    pub fn ticks(self) -> AnyTicks {
        AnyTicks(match self {
            Source::Tsc => || Tsc.now(),
            Source::MonotonicRaw => || MonotonicRaw.now(),
        })
    }
}

/// Why the clock could not be chosen as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// The environment names a source that does not exist.
    #[error(
        "{FORCE}=`{0}`: there is no such clock; write tsc or raw, or unset it to let the clock be chosen"
    )]
    UnknownSource(String),
}

/// The source the environment variable `VERBS_BENCH_CLOCK` forces (`tsc` or `raw`), if it is set.
pub fn forced_source() -> Result<Option<Source>, ClockError> {
    match std::env::var_os(FORCE) {
        None => Ok(None),
        Some(text) => parse_source(&text.to_string_lossy()).map(Some),
    }
}

fn parse_source(text: &str) -> Result<Source, ClockError> {
    match text {
        "tsc" => Ok(Source::Tsc),
        "raw" => Ok(Source::MonotonicRaw),
        other => Err(ClockError::UnknownSource(other.to_owned())),
    }
}

/// Ticks to nanoseconds by one multiplication and one shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Nanoseconds per tick, times 2^32.
    multiplier: u64,
}

impl Scale {
    const SHIFT: u32 = 32;

    /// The scale of a clock whose ticks are nanoseconds.
    pub const NANOSECONDS: Scale = Scale { multiplier: 1 << Scale::SHIFT };

    /// The scale of a counter of this rate; none outside 1 MHz to 1 THz, where no counter of a CPU lies.
    pub fn from_ticks_per_sec(rate: f64) -> Option<Scale> {
        (1e6..=1e12)
            .contains(&rate)
            .then(|| Scale { multiplier: (1e9 / rate * (1u64 << Scale::SHIFT) as f64).round() as u64 })
    }

    /// The nanoseconds of a span of ticks, rounded down. Right for spans up to 584 years; longer ones saturate.
    #[inline(always)]
    pub fn ns(&self, ticks: u64) -> u64 {
        let ns = (u128::from(ticks) * u128::from(self.multiplier)) >> Scale::SHIFT;
        if ns > u128::from(u64::MAX) { u64::MAX } else { ns as u64 }
    }

    /// The fewest ticks that last at least `ns` nanoseconds. Divides: not for the hot loop.
    pub fn ticks(&self, ns: u64) -> u64 {
        let ticks = (u128::from(ns) << Scale::SHIFT).div_ceil(u128::from(self.multiplier));
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// Ticks per second, as this scale has them.
    pub fn ticks_per_sec(&self) -> f64 {
        1e9 * (1u64 << Scale::SHIFT) as f64 / self.multiplier as f64
    }

    /// Nanoseconds of a span smaller than a tick matters for; only for records.
    fn ns_f64(&self, ticks: f64) -> f64 {
        ticks * self.multiplier as f64 / (1u64 << Scale::SHIFT) as f64
    }
}

/// One moment on both clocks.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    ticks: u64,
    raw_ns: u64,
}

impl Anchor {
    /// The tightest of many readings of the raw clock between two of the counter.
    fn take() -> Anchor {
        let mut best = Anchor { ticks: 0, raw_ns: 0 };
        let mut tightest = u64::MAX;
        for _ in 0..ANCHOR_READINGS {
            let before = Tsc.now();
            let raw_ns = MonotonicRaw.now();
            let width = Tsc.now().saturating_sub(before);
            if width < tightest {
                tightest = width;
                best = Anchor { ticks: before + width / 2, raw_ns };
            }
        }
        best
    }

    fn ticks_per_sec_until(&self, later: &Anchor) -> f64 {
        let ns = later.raw_ns.saturating_sub(self.raw_ns).max(1);
        later.ticks.saturating_sub(self.ticks) as f64 * 1e9 / ns as f64
    }
}

/// The clock of one side of a run: its source, its scale, and what it costs to read.
#[derive(Debug, Clone)]
pub struct Clock {
    source: Source,
    scale: Scale,
    /// Where the run's drift is measured from; none where ticks are nanoseconds by definition.
    start: Option<Anchor>,
    tsc_refused: Option<String>,
    drift_ppm: Option<f64>,
    overhead_ns: f64,
    resolution_ns: f64,
}

impl Clock {
    /// Chooses and calibrates the clock; takes some 7 ms. Call it on the pinned thread that will measure.
    ///
    /// An environment that names no known source is no reason to guess: it gives CLOCK_MONOTONIC_RAW, and the record
    /// says why. [`forced_source`] lets a program refuse it beforehand.
    pub fn calibrate() -> Clock {
        let verdict = judge_this_host(&Sysroot::new("/"));
        match (forced_source(), verdict) {
            (Err(unknown), _) => Clock::raw(Some(unknown.to_string())),
            (Ok(Some(Source::MonotonicRaw)), _) => Clock::raw(Some(format!("forced by {FORCE}=raw"))),
            (Ok(Some(Source::Tsc)), verdict) => Clock::tsc(
                verdict.err().map(|why| format!("used all the same, forced by {FORCE}=tsc: {why}")),
            ),
            (Ok(None), Ok(())) => Clock::tsc(None),
            (Ok(None), Err(why)) => Clock::raw(Some(why)),
        }
    }

    fn raw(tsc_refused: Option<String>) -> Clock {
        Clock::measured(MonotonicRaw, Source::MonotonicRaw, Scale::NANOSECONDS, None, tsc_refused)
    }

    fn tsc(overruled: Option<String>) -> Clock {
        let start = Anchor::take();
        thread::sleep(CALIBRATION);
        let rate = start.ticks_per_sec_until(&Anchor::take());
        match Scale::from_ticks_per_sec(rate) {
            Some(scale) => Clock::measured(Tsc, Source::Tsc, scale, Some(start), overruled),
            None => Clock::raw(Some(format!(
                "its measured rate of {rate:.0} ticks per second is not a counter's"
            ))),
        }
    }

    fn measured<T: Ticks>(
        clock: T,
        source: Source,
        scale: Scale,
        start: Option<Anchor>,
        tsc_refused: Option<String>,
    ) -> Clock {
        let overhead_ns = scale.ns_f64(overhead::overhead_ticks(clock));
        let resolution_ns = overhead::resolution_ticks(clock).map_or(0.0, |ticks| scale.ns_f64(ticks as f64));
        Clock { source, scale, start, tsc_refused, drift_ppm: None, overhead_ns, resolution_ns }
    }

    /// Where its ticks come from: which [`Ticks`] the hot loop must be given.
    pub fn source(&self) -> Source {
        self.source
    }

    /// From its ticks to nanoseconds.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Calibrates again over everything since [`Clock::calibrate`], and takes the new scale: for the time between that call
    /// and the first loop, in which the core is watched anyway. Scales handed out before are the less exact ones.
    pub fn refine(&mut self) {
        let Some(start) = &self.start else { return };
        if let Some(scale) = Scale::from_ticks_per_sec(start.ticks_per_sec_until(&Anchor::take())) {
            self.scale = scale;
        }
    }

    /// Calibrates again over everything since [`Clock::calibrate`], for the record; the scale stays as it was.
    pub fn recalibrate_drift(&mut self) {
        if let Some(start) = &self.start {
            let rate = start.ticks_per_sec_until(&Anchor::take());
            self.drift_ppm = Some((rate / self.scale.ticks_per_sec() - 1.0) * 1e6);
        }
    }

    /// What the record says of it.
    pub fn record(&self) -> ClockRecord {
        ClockRecord {
            source: match self.source {
                Source::Tsc => "tsc".into(),
                Source::MonotonicRaw => "clock_monotonic_raw".into(),
            },
            tsc_refused: self.tsc_refused.clone(),
            ticks_per_sec: self.scale.ticks_per_sec(),
            drift_ppm: self.drift_ppm,
            overhead_ns: self.overhead_ns,
            resolution_ns: self.resolution_ns,
        }
    }
}

/// Whether this host's counter may be used; the error says why not.
fn judge_this_host(sysroot: &Sysroot) -> Result<(), String> {
    if cfg!(target_arch = "aarch64") {
        // The architecture guarantees the generic timer's rate and that it is one for all cores.
        return Ok(());
    }
    if !cfg!(target_arch = "x86_64") {
        return Err("no counter of this architecture is known to us".into());
    }
    let flags = cpuinfo::flags(sysroot);
    let Some(cpu_flags) = flags.as_ref().known() else {
        return Err(format!("the CPU's flags are not known: {}", flags.why_unknown().unwrap_or_default()));
    };
    let clocksource = cpuinfo::clocksource(sysroot);
    let clocksource = match &clocksource {
        host::Value::Known(name) => Ok(name.as_str()),
        unknown => Err(unknown.why_unknown().unwrap_or_default()),
    };
    judge_tsc(&KernelView { cpu_flags, clocksource })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const YEAR_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

    #[test]
    fn the_scale_of_nanoseconds_is_the_identity() {
        for ns in [0, 1, 999, u64::MAX / 2, u64::MAX] {
            assert_eq!(Scale::NANOSECONDS.ns(ns), ns);
            assert_eq!(Scale::NANOSECONDS.ticks(ns), ns);
        }
    }

    #[test]
    fn rates_no_counter_has_are_refused() {
        for rate in [0.0, 1e5, 2e12, f64::NAN, f64::INFINITY, -3e9] {
            assert_eq!(Scale::from_ticks_per_sec(rate), None, "{rate}");
        }
    }

    /// Criterion of the calibration: its error over a long time is the rate's error alone.
    #[test]
    fn ten_seconds_by_the_counter_are_ten_seconds_by_the_raw_clock() {
        let first = Clock::calibrate();
        let mut refined = first.clone();
        thread::sleep(Duration::from_millis(10));
        refined.refine();
        if first.source() != Source::Tsc {
            return;
        }
        let start = Anchor::take();
        thread::sleep(Duration::from_secs(10));
        let end = Anchor::take();
        for (name, clock) in [("as calibrated", first), ("as refined after 10 ms", refined)] {
            let ns = clock.scale().ns(end.ticks - start.ticks) as f64;
            let ppm = (ns / (end.raw_ns - start.raw_ns) as f64 - 1.0) * 1e6;
            println!("clock {name}: {ppm:+.2} ppm over 10 s");
            assert!(ppm.abs() < 100.0, "{name}: {ppm} ppm");
        }
    }

    #[test]
    fn a_refined_scale_is_used_from_then_on_and_the_drift_is_measured_against_it() {
        let mut clock = Clock::calibrate();
        clock.refine();
        clock.recalibrate_drift();
        let record = clock.record();
        assert_eq!(record.ticks_per_sec, clock.scale().ticks_per_sec());
        assert!(record.drift_ppm.is_none_or(|ppm| ppm.abs() < 100.0), "{record:?}");
    }

    #[test]
    fn the_counter_agrees_with_the_raw_clock_within_100_ppm() {
        let clock = Clock::tsc(None);
        if clock.source() != Source::Tsc || judge_this_host(&Sysroot::new("/")).is_err() {
            return;
        }
        let start = Anchor::take();
        thread::sleep(Duration::from_millis(100));
        let end = Anchor::take();
        let ns = clock.scale().ns(end.ticks - start.ticks) as f64;
        let raw = (end.raw_ns - start.raw_ns) as f64;
        assert!((ns / raw - 1.0).abs() < 100e-6, "{ns} ns by the counter, {raw} ns by the raw clock");
    }

    #[test]
    fn the_record_says_what_was_used_and_what_it_costs() {
        let mut clock = Clock::calibrate();
        clock.recalibrate_drift();
        let record = clock.record();
        assert_eq!(record.source == "tsc", clock.source() == Source::Tsc);
        assert!(record.overhead_ns > 0.0, "{record:?}");
        assert!(record.resolution_ns > 0.0, "{record:?}");
        assert_eq!(record.drift_ppm.is_some(), clock.source() == Source::Tsc);
    }

    #[test]
    fn a_refusal_is_in_the_record() {
        let record = Clock::raw(Some("forced".into())).record();
        assert_eq!(
            (record.source.as_str(), record.tsc_refused.as_deref()),
            ("clock_monotonic_raw", Some("forced"))
        );
        assert_eq!(record.ticks_per_sec, 1e9);
    }

    #[test]
    fn an_unknown_source_names_the_variable_and_the_choices() {
        let text = parse_source("hpet").expect_err("refused").to_string();
        assert!(
            text.contains("VERBS_BENCH_CLOCK") && text.contains("hpet") && text.contains("raw"),
            "{text}"
        );
    }

    proptest! {
        #[test]
        fn ns_is_monotone(rate in 1e6f64..1e12, a in any::<u64>(), b in any::<u64>()) {
            let scale = Scale::from_ticks_per_sec(rate).expect("a counter's rate");
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(scale.ns(low) <= scale.ns(high));
        }

        #[test]
        fn ns_is_right_to_a_millionth_for_a_century(rate in 1e6f64..5e9, ns in 0..100 * YEAR_NS) {
            let scale = Scale::from_ticks_per_sec(rate).expect("a counter's rate");
            let ticks = ns as f64 * rate / 1e9;
            prop_assume!(ticks < u64::MAX as f64);
            let error = (scale.ns(ticks as u64) as f64 - ns as f64).abs();
            prop_assert!(error <= ns as f64 * 1e-6 + 1e9 / rate + 1.0, "off by {error} ns");
        }

        #[test]
        fn ticks_are_the_fewest_that_last_as_long(rate in 1e6f64..5e9, ns in 1..100 * YEAR_NS) {
            let scale = Scale::from_ticks_per_sec(rate).expect("a counter's rate");
            let ticks = scale.ticks(ns);
            prop_assume!(ticks < u64::MAX);
            prop_assert!(scale.ns(ticks) >= ns);
            prop_assert!(scale.ns(ticks - 1) < ns);
        }
    }
}
