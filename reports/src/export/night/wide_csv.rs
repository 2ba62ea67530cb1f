//! One row a night and one column a series, and the configuration by which Apache Otava finds its way in it.
//!
//! Otava refuses a table with an empty cell and misses changes behind a NaN. So a gap holds the value of the night before, or
//! of the first night after it where there is none before, which is what Otava itself does with gaps of other sources; the
//! column `filled` names the series whose cell is such.

use std::{collections::HashMap, fmt::Write as _};

use schema::{Direction, SeriesKey};
use serde_json::{Value, json};

use super::series::names;
use crate::{
    export::csv::quoted,
    history::{NightReport, SeriesReport},
    render::{history::told, number},
};

/// Columns before those of the series.
const ATTRIBUTES: [&str; 3] = ["night", "configuration", "filled"];

/// Every night up to the reported one; a series without any value has no column.
pub fn wide_csv(report: &NightReport) -> String {
    let names = names(report, SeriesKey::to_string);
    let columns: Vec<Column<'_>> =
        with_values(report).map(|series| Column::of(report, series, &names)).collect();
    let mut text = format!("time,{}", ATTRIBUTES.join(","));
    for column in &columns {
        let _ = write!(text, ",{}", quoted(column.name));
    }
    text.push('\n');
    for (i, night) in report.nights.iter().enumerate() {
        let filled: Vec<&str> =
            columns.iter().filter(|column| column.cells[i].1).map(|column| column.name).collect();
        let _ = write!(
            text,
            "{},{},{},{}",
            number::utc_iso(night.started_at_unix_ms),
            night.id,
            quoted(&told::changed_in(report, night.id)),
            quoted(&filled.join(" "))
        );
        for column in &columns {
            let _ = write!(text, ",{}", column.cells[i].0);
        }
        text.push('\n');
    }
    text
}

/// `otava.yaml` for [`wide_csv`] in a file of this name: one test, of the suite's name, with a metric a series. JSON is YAML.
pub fn otava_config(report: &NightReport, file: &str) -> String {
    let names = names(report, SeriesKey::to_string);
    let metrics: serde_json::Map<String, Value> = with_values(report)
        .map(|series| {
            let name = &names[&series.id];
            let direction = match series.key.metric.direction() {
                Direction::HigherIsBetter => 1,
                Direction::LowerIsBetter => -1,
            };
            (name.clone(), json!({ "column": name, "direction": direction, "scale": 1 }))
        })
        .collect();
    let test = json!({
        "type": "csv", "file": file, "time_column": "time", "attributes": ATTRIBUTES, "metrics": metrics,
    });
    let config = json!({ "tests": { (report.suite.as_str()): test } });
    yaml(&serde_json::to_string_pretty(&config).expect("texts and numbers are JSON")) + "\n"
}

/// JSON is YAML but for characters that YAML wants escaped, and those it takes for the end of a line.
fn yaml(json: &str) -> String {
    let escape = |c: char| {
        matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    let escaped = |c: char| if escape(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escaped).collect()
}

fn with_values(report: &NightReport) -> impl Iterator<Item = &SeriesReport> {
    report.series.iter().filter(|series| series.points.iter().any(|point| point.value.is_some()))
}

struct Column<'n> {
    name: &'n str,
    /// A night's value, and whether it was filled in.
    cells: Vec<(f64, bool)>,
}

impl<'n> Column<'n> {
    fn of(report: &NightReport, series: &SeriesReport, names: &'n HashMap<i64, String>) -> Self {
        let values: HashMap<i64, f64> =
            series.points.iter().filter_map(|point| Some((point.night, point.value?))).collect();
        let first = series.points.iter().find_map(|point| point.value).unwrap_or_default();
        let mut before = first;
        let cells = report.nights.iter().map(|night| match values.get(&night.id) {
            Some(value) => {
                before = *value;
                (*value, false)
            }
            None => (before, true),
        });
        Column { name: &names[&series.id], cells: cells.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::night_report;

    fn rows(text: &str) -> Vec<csv::StringRecord> {
        csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(text.as_bytes())
            .records()
            .map(Result::unwrap)
            .collect()
    }

    #[test]
    fn every_night_is_a_row_and_its_change_of_configuration_is_told() {
        let report = night_report();
        let rows = rows(&wide_csv(&report));
        assert_eq!(rows.len(), 1 + report.nights.len());
        assert_eq!(rows[0].len(), 1 + ATTRIBUTES.len() + report.series.len());
        let told: Vec<&str> = rows[1..].iter().map(|row| &row[2]).filter(|text| !text.is_empty()).collect();
        assert_eq!(told, ["requester.firmware 20.41.1000 → 20.43.1014"]);
    }

    #[test]
    fn a_gap_is_filled_from_beside_it_and_named() {
        let report = night_report();
        let rows = rows(&wide_csv(&report));
        let column = |start: &str| rows[0].iter().position(|name| name.starts_with(start)).unwrap();
        // The young series has no night before 116: its first value stands there.
        let young = column("nightly-rate/atomic/");
        assert!(rows[1..=15].iter().all(|row| row[young] == rows[16][young] && row[3].contains("/atomic/")));
        assert!(!rows[16][3].contains("/atomic/"));
        let missing = column("nightly-rate/write/deep/1Mi/bandwidth/node3");
        assert_eq!(rows[20][missing], rows[19][missing]);
        assert_eq!(&rows[20][3], &rows[0][missing]);
    }

    #[test]
    fn a_series_that_never_had_a_value_has_no_column() {
        let mut report = night_report();
        report.series[0].points.iter_mut().for_each(|point| point.value = None);
        let name = report.series[0].key.to_string();
        assert!(!wide_csv(&report).contains(&name));
        assert!(!otava_config(&report, "otava.csv").contains(&name));
    }
}
