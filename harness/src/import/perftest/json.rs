//! perftest's JSON. Releases before 2024 wrote none: names and texts without quotes, a comma before every brace. That is read line
//! by line, as it was printed; what is JSON is read as JSON.
//!
//! No key tells the unit of `BW_average`: it is MiB/s, or Gb/s with `--report_gbits`. The rate of messages tells which.

use serde_json::Value;

use super::{
    columns::BandwidthUnit,
    facts::Facts,
    row::{self, Row},
    title::Title,
};
use crate::import::{Log, Refusal, refusal::shown};

/// One `name: value` of a section.
struct Entry {
    line: usize,
    section: String,
    name: String,
    value: String,
}

/// Reads a file.
pub(super) fn read(text: &str) -> Result<Log, Refusal> {
    let entries = match serde_json::from_str::<Value>(text) {
        Ok(value) => strict(&value)?,
        Err(_) => printed(text)?,
    };
    let last_line = text.lines().count().max(1);
    let test = entries.iter().find(|entry| entry.section == "test_info" && entry.name == "test");
    let Some(test) = test else {
        return Err(Refusal::new(1, "no `test` in `test_info`: this is not the JSON of perftest"));
    };
    let title = Title::of(&test.value).ok_or_else(|| {
        Refusal::new(test.line, format!("test `{}` is none of perftest's", shown(&test.value)))
    })?;
    let mut facts = Facts::default();
    let mut results = Vec::new();
    for entry in entries.iter().filter(|entry| entry.name != "test") {
        match entry.section.as_str() {
            "test_info" if entry.name.starts_with("WARNING") => {}
            "test_info" if entry.name == "Test with events" => facts.add("events", &entry.value),
            "test_info" => facts.add(&entry.name, &entry.value),
            "results" => results.push(entry),
            other => {
                return Err(Refusal::new(
                    entry.line,
                    format!("section `{}` is none of perftest's", shown(other)),
                ));
            }
        }
    }
    let mut log = Log::default();
    match row_of(&results)? {
        Some(row) => row::add(&mut log, title, &facts, &row),
        None => {
            return Err(Refusal::new(
                last_line,
                "no `MsgSize` in `results`: --output=bandwidth and its like write single numbers, which tell too little",
            ));
        }
    }
    Ok(log)
}

/// The row of `results`.
fn row_of(results: &[&Entry]) -> Result<Option<Row>, Refusal> {
    let mut row = Row::default();
    let mut bandwidth = None;
    for entry in results {
        row.line = row.line.max(entry.line);
        let number = || -> Result<f64, Refusal> {
            entry.value.parse().map_err(|_| {
                Refusal::new(
                    entry.line,
                    format!("{}: `{}` is no number", shown(&entry.name), shown(&entry.value)),
                )
            })
        };
        let count = || -> Result<u64, Refusal> {
            entry.value.parse().map_err(|_| {
                Refusal::new(
                    entry.line,
                    format!("{}: `{}` is no count", shown(&entry.name), shown(&entry.value)),
                )
            })
        };
        match entry.name.as_str() {
            "MsgSize" => row.bytes = count()?,
            "n_iterations" => row.iterations = Some(count()?),
            "BW_average" => bandwidth = Some((entry.line, number()?)),
            "MsgRate" => row.message_rate = Some(number()?),
            "t_typical" => row.typical = Some(number()?),
            "percentile_99" => row.p99 = Some(number()?),
            "percentile_99.9" => row.p99_9 = Some(number()?),
            "BW_peak" | "t_min" | "t_max" | "t_avg" | "t_stdev" | "tps_average" | "CPU_util" | "sl" => {
                row.facts.push((entry.name.clone(), entry.value.clone()));
            }
            "bw_avg" | "msgRate_avg" | "avg_lat" => return Ok(None),
            other => {
                return Err(Refusal::new(
                    entry.line,
                    format!("`{}` in results is none that perftest is known to write", shown(other)),
                ));
            }
        }
    }
    if let Some((line, printed)) = bandwidth {
        row.bandwidth = Some((printed, unit(printed, &row, line)?));
    }
    Ok((row.bytes > 0).then_some(row))
}

/// Which unit makes the bandwidth agree with the rate of messages. The two are a factor of 119 apart, so rounding does not
/// matter.
fn unit(printed: f64, row: &Row, line: usize) -> Result<BandwidthUnit, Refusal> {
    let by_rate = row.message_rate.unwrap_or(0.0) * 1e6 * row.bytes as f64 * 8.0;
    let units = [BandwidthUnit::MebibytesPerSec, BandwidthUnit::GigabitsPerSec];
    if !(printed.is_finite() && printed > 0.0 && by_rate.is_finite() && by_rate > 0.0) {
        return Ok(BandwidthUnit::MebibytesPerSec); // no measurement in either unit, and told as such
    }
    let agrees = |unit: &BandwidthUnit| (0.5..2.0).contains(&(by_rate / (printed * unit.bits_per_sec())));
    units.into_iter().find(agrees).ok_or_else(|| {
        Refusal::new(
            line,
            format!(
                "BW_average {printed} is in no unit that agrees with MsgRate: perftest writes MiB/s or Gb/s"
            ),
        )
    })
}

/// What is JSON.
fn strict(value: &Value) -> Result<Vec<Entry>, Refusal> {
    let other = |what: &str| Refusal::new(1, format!("{what}: this is not the JSON of perftest"));
    let mut entries = Vec::new();
    for (section, content) in value.as_object().ok_or_else(|| other("no object"))? {
        let content =
            content.as_object().ok_or_else(|| other(&format!("`{}` is no section", shown(section))))?;
        for (name, value) in content {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => {
                    return Err(other(&format!(
                        "`{}.{}` is neither text nor number",
                        shown(section),
                        shown(name)
                    )));
                }
            };
            entries.push(Entry { line: 1, section: section.clone(), name: name.clone(), value });
        }
    }
    Ok(entries)
}

/// What was printed line by line and is no JSON.
fn printed(text: &str) -> Result<Vec<Entry>, Refusal> {
    let mut entries = Vec::new();
    let mut section: Option<String> = None;
    for (number, line) in text.lines().enumerate().map(|(n, line)| (n + 1, line.trim().trim_end_matches(',')))
    {
        if let "" | "{" = line {
            continue;
        }
        if line == "}" {
            section = None;
            continue;
        }
        let not_understood = || {
            Refusal::new(
                number,
                format!("`{}` is neither JSON nor what perftest printed for it", shown(line)),
            )
        };
        let (name, value) = line.split_once(':').ok_or_else(not_understood)?;
        let (name, value) = (unquoted(name), unquoted(value));
        match (&section, value) {
            (None, "{") => section = Some(name.to_owned()),
            (Some(section), value) if !name.is_empty() && !value.contains(['{', '}']) => {
                entries.push(Entry {
                    line: number,
                    section: section.clone(),
                    name: name.to_owned(),
                    value: value.to_owned(),
                });
            }
            _ => return Err(not_understood()),
        }
    }
    Ok(entries)
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches('"').trim()
}
