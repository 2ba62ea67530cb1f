//! Numbers as people read them: with their unit, and never finer than they were measured.
//!
//! Histograms keep 0.1 %, so three significant digits are all there is; a change in percent has one decimal.

use schema::{Bytes, Metric};

/// A value of a metric: `12.3 Gb/s`, `1.99 us`.
pub(super) fn value(metric: Metric, value: f64) -> String {
    scaled(value, units(metric))
}

/// What a value is divided by for the unit it is written in, and the unit.
pub(super) fn unit_of(metric: Metric, value: f64) -> (f64, &'static str) {
    unit_for(to_three_digits(value), units(metric))
}

/// A span of time given in ns.
pub(super) fn nanos(ns: f64) -> String {
    scaled(ns, NANOS)
}

/// How many of the smallest unit a larger one is, and its name, the largest first.
type Units = &'static [(f64, &'static str)];

const NANOS: Units = &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];

fn units(metric: Metric) -> Units {
    match metric {
        Metric::Bandwidth => &[(1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")],
        Metric::MessageRate => &[(1e6, "M msg/s"), (1e3, "k msg/s"), (1.0, "msg/s")],
        _ => NANOS,
    }
}

/// The largest unit in which a whole part is left, else the smallest.
fn unit_for(value: f64, units: Units) -> (f64, &'static str) {
    let fits = units.iter().find(|(unit, _)| value.abs() >= *unit).or(units.last());
    *fits.expect("every list of units has some")
}

/// A latency of an interval, which was kept to two digits: `2.0 us`.
pub(super) fn nanos_of_interval(ns: f64) -> String {
    let step = 10f64.powi(ns.abs().max(1.0).log10().floor() as i32 - 1);
    let text = nanos((ns / step).round() * step);
    match text.split_once(' ') {
        Some((number, unit)) if number.len() == 4 && number.contains('.') => {
            format!("{} {unit}", number[..3].trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A value for an axis: like [`value`], without digits that say nothing.
pub(super) fn value_short(metric: Metric, v: f64) -> String {
    trimmed(&value(metric, v))
}

/// A span of time for an axis.
pub(super) fn nanos_short(ns: f64) -> String {
    trimmed(&nanos(ns))
}

/// A change for an axis: `+25%`.
pub(super) fn change_short(share: f64) -> String {
    change(share).replace(".0%", "%")
}

/// A number for an axis: `1`, `0.5`.
pub(super) fn plain(value: f64) -> String {
    trimmed(&format!("{} ", three_digits(value))).trim_end().to_owned()
}

/// Drops zeros behind the point of the number before the unit.
fn trimmed(text: &str) -> String {
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text.to_owned(),
    }
}

/// In the largest unit in which three digits leave a whole part.
fn scaled(value: f64, units: Units) -> String {
    let rounded = to_three_digits(value);
    let (unit, name) = unit_for(rounded, units);
    format!("{} {name}", three_digits(rounded / unit))
}

fn to_three_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let step = 10f64.powi(value.abs().log10().floor() as i32 - 2);
    (value / step).round() * step
}

/// Three significant digits.
pub(super) fn three_digits(value: f64) -> String {
    let rounded = to_three_digits(value);
    let whole_digits = if rounded == 0.0 { 1 } else { rounded.abs().log10().floor() as i32 + 1 };
    let decimals = (3 - whole_digits).clamp(0, 6) as usize;
    format!("{rounded:.decimals$}")
}

/// A message size: `8 B`, `64 KiB`.
pub(super) fn size(size: Bytes) -> String {
    let text = size.to_string();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = text.trim_end_matches(unit);
    format!("{number} {unit}B")
}

/// A change with its sign: `+12.3%`, `-0.4%`, `+1,230%`.
pub(super) fn change(share: f64) -> String {
    let text = percent(share.abs());
    let nothing = text.bytes().all(|c| !c.is_ascii_digit() || c == b'0');
    let sign = if nothing {
        ""
    } else if share < 0.0 {
        "\u{2212}"
    } else {
        "+"
    };
    format!("{sign}{text}")
}

/// A share without a sign: `12.3%`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 99.95 {
        return format!("{percent:.1}%");
    }
    format!("{}%", grouped(to_three_digits(percent).round() as u64))
}

/// A share that may be very small, to three digits: `12.3%`, `0.00123%`.
pub(super) fn share(share: f64) -> String {
    if share == 0.0 {
        return "0%".to_owned();
    }
    format!("{}%", trimmed(&format!("{} ", three_digits(share * 100.0))).trim_end())
}

/// A margin, as it was written: `2%`, `0.5%`.
pub(super) fn margin(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A p-value to two digits.
pub(super) fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => "< 0.0001".to_owned(),
        p if p < 0.001 => format!("{p:.4}"),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

/// With commas between groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Date and time of day, to the second.
pub(super) fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1000;
    let (hour, minute) = (seconds / 3_600 % 24, seconds / 60 % 60);
    format!("{} {hour:02}:{minute:02}:{:02}", date(unix_ms), seconds % 60)
}

/// The date alone.
pub(super) fn date(unix_ms: u64) -> String {
    let (year, month, day) = civil((unix_ms / 86_400_000) as i64);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The same in the form of ISO 8601 that programs read: `2026-11-30T02:00:00Z`.
pub(crate) fn utc_iso(unix_ms: u64) -> String {
    utc(unix_ms).replace(' ', "T") + "Z"
}

/// Year, month and day of the days since 1970: counted in years that begin in March, so that leap days come last.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// How long something took, behind when it began: `, took 17 seconds`, `, took 3 minutes`; nothing where it did not end.
pub(super) fn took(started_at_unix_ms: u64, ended_at_unix_ms: Option<u64>) -> String {
    ended_at_unix_ms.map_or_else(String::new, |ended| {
        let seconds = ended.saturating_sub(started_at_unix_ms).div_ceil(1_000);
        let (count, noun) =
            if seconds < 120 { (seconds, "second") } else { (seconds.div_ceil(60), "minute") };
        format!(", took {}", counted(count as u32, noun))
    })
}

/// `1 pair`, `2 pairs`.
pub(crate) fn counted(count: u32, noun: &str) -> String {
    counted_as(count, noun, &format!("{noun}s"))
}

/// The same of a noun whose plural has no plain `s`: `2 entries`.
pub(super) fn counted_as(count: u32, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_less_than_two_minutes_is_told_in_seconds() {
        let took = |ms: u64| took(5, Some(5 + ms));
        assert_eq!(
            [took(900), took(16_300), took(119_000)],
            [", took 1 second", ", took 17 seconds", ", took 119 seconds"]
        );
        assert_eq!([took(120_000), took(121_000)], [", took 2 minutes", ", took 3 minutes"]);
        assert_eq!(super::took(5, None), "");
    }

    #[test]
    fn a_latency_of_an_interval_has_two_digits() {
        let texts = [7.0, 43.0, 437.0, 2_049.0, 24_900.0, 131_000.0].map(nanos_of_interval);
        assert_eq!(texts, ["7.0 ns", "43 ns", "440 ns", "2.0 us", "25 us", "130 us"]);
    }

    #[test]
    fn a_share_may_be_very_small() {
        assert_eq!([0.0, 0.1234, 0.000_012_34, 1.0].map(share), ["0%", "12.3%", "0.00123%", "100%"]);
    }
    use proptest::prelude::*;

    #[test]
    fn values_have_three_digits_and_a_unit() {
        assert_eq!(value(Metric::Bandwidth, 98_765_432_100.0), "98.8 Gb/s");
        assert_eq!(value(Metric::Bandwidth, 999_600_000.0), "1.00 Gb/s");
        assert_eq!(value(Metric::P50, 1_994.0), "1.99 us");
        assert_eq!(value(Metric::P99, 87.0), "87.0 ns");
        assert_eq!(value(Metric::MessageRate, 1_234_567.0), "1.23 M msg/s");
    }

    #[test]
    fn sizes_are_binary_bytes() {
        assert_eq!([8, 1000, 65_536, 8 << 20].map(|b| size(Bytes(b))), ["8 B", "1000 B", "64 KiB", "8 MiB"]);
    }

    #[test]
    fn changes_have_a_sign_unless_they_are_nothing() {
        assert_eq!(change(0.1234), "+12.3%");
        assert_eq!(change(-0.004), "\u{2212}0.4%");
        assert_eq!(change(-0.0003), "0.0%");
        assert_eq!(change(0.9999), "+100%");
        assert_eq!(change(98.76), "+9,880%");
        assert_eq!([0.02, 0.005, 0.1, 0.00125].map(margin), ["2%", "0.5%", "10%", "0.125%"]);
    }

    #[test]
    fn dates_agree_with_date() {
        // date -u -d @N '+%F %T'
        assert_eq!(utc(0), "1970-01-01 00:00:00");
        assert_eq!(utc(951_782_399_000), "2000-02-28 23:59:59");
        assert_eq!(utc(951_868_799_000), "2000-02-29 23:59:59");
        assert_eq!(utc(1_795_996_800_000), "2026-11-30 00:00:00");
    }

    proptest! {
        #[test]
        fn three_digits_are_within_half_a_percent(value in 0.01f64..999.0) {
            let printed: f64 = three_digits(value).parse().unwrap();
            prop_assert!((printed / value - 1.0).abs() <= 0.00501, "{} {}", printed, value);
        }
    }
}
