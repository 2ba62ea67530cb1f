//! Quantities and moments as people read them.

use std::time::Duration;

use schema::{Metric, Point, RunRecord, Stopped, Test};

/// A duration to the precision a person plans by: `0.4 s`, `52 s`, `3 min 5 s`, `2 h 10 min`.
pub fn time(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", duration.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// Now, in ms since 1970 UTC.
pub fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// A kernel's command line without the words that name the kernel itself, which is told by its release.
pub fn boot_words(line: &str) -> String {
    let names_the_kernel = |word: &&str| word.starts_with("BOOT_IMAGE=") || word.starts_with("initrd=");
    line.split_whitespace().filter(|word| !names_the_kernel(word)).collect::<Vec<_>>().join(" ")
}

/// CLOCK_MONOTONIC of this host, ns: what moments are named by between processes of one host.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A moment in UTC, to the second.
pub fn moment(unix_ms: u64) -> String {
    let moment = std::time::UNIX_EPOCH + Duration::from_millis(unix_ms);
    humantime::format_rfc3339_seconds(moment).to_string()
}

/// What a run measured: the primary metric of each of its points.
pub fn measured(record: &RunRecord) -> String {
    let value =
        |point: &Point| Metric::primary(point.test).of(point).map(|value| quantity(value, point.test));
    let values = record.points.iter().map(|point| value(point).unwrap_or_else(|| "-".into()));
    values.collect::<Vec<_>>().join(", ")
}

/// How a run ended; for one that completed and is not used, why.
pub fn ending(record: &RunRecord) -> String {
    if record.outcome.is_completed() && !record.is_valid() {
        return format!("invalid: {}", record.invalid.join("; "));
    }
    record.outcome.to_string()
}

/// Why a campaign makes no more runs.
pub fn stopped(why: Stopped) -> &'static str {
    match why {
        Stopped::Decided => "every gate is decided",
        Stopped::BlocksSpent => "all blocks are made",
        Stopped::TimeSpent => "its time is spent",
    }
}

/// A text broken between words into lines of at most `width` columns, the first begun with `first` and the others with `rest`.
/// A longer word stays whole.
pub fn wrap(text: &str, width: usize, first: &str, rest: &str) -> String {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut has_word = false;
    for word in text.split_whitespace() {
        if has_word && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            has_word = false;
        }
        line = line + if has_word { " " } else { "" } + word;
        has_word = true;
    }
    lines.push(line.trim_end().to_owned());
    lines.join("\n")
}

fn quantity(value: f64, test: Test) -> String {
    let scales: &[(f64, &str)] = match test {
        Test::Bandwidth => &[(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")],
        Test::Latency => &[(1e6, "ms"), (1e3, "us"), (1.0, "ns")],
    };
    let (scale, unit) = scales.iter().find(|(scale, _)| value >= *scale).unwrap_or(&scales[scales.len() - 1]);
    let scaled = value / scale;
    let digits = if scaled >= 100.0 {
        0
    } else if scaled >= 10.0 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits() {
        assert_eq!(quantity(15.96e9, Test::Bandwidth), "16.0 Gb/s");
        assert_eq!(quantity(2_134.0, Test::Latency), "2.13 us");
        assert_eq!(quantity(0.0, Test::Latency), "0.00 ns");
    }

    #[test]
    fn a_run_that_is_not_used_says_why() {
        let mut record = reports::testing::record_of(Vec::new());
        assert_eq!(ending(&record), "completed");
        record.invalid = vec!["a thread moved".into(), "a counter wrapped".into()];
        assert_eq!(ending(&record), "invalid: a thread moved; a counter wrapped");
    }

    #[test]
    fn lines_are_broken_between_words_and_long_words_are_kept_whole() {
        let text = "one two  three\nincomprehensibilities four";
        assert_eq!(wrap(text, 11, "- ", "  "), "- one two\n  three\n  incomprehensibilities\n  four");
        assert_eq!(wrap("", 11, "  ", ""), "");
        assert_eq!(wrap("do: a/path/longer/than/it", 8, "", " "), "do:\n a/path/longer/than/it");
    }

    #[test]
    fn moments_and_times_read_well() {
        assert_eq!(moment(1_795_996_800_000), "2026-11-30T00:00:00Z");
        assert_eq!(time(Duration::from_secs(185)), "3 min 5 s");
        assert_eq!(time(Duration::from_millis(400)), "0.4 s");
    }
}
