//! The JSON that github-action-benchmark reads with `tool: customBiggerIsBetter` and `customSmallerIsBetter`. It knows no
//! direction of a single value, hence two files.

use schema::{Direction, SeriesKey};
use serde::Serialize;

use super::series::{measured, names};
use crate::{
    history::{NightReport, PointReport},
    render::number,
};

#[derive(Serialize)]
struct Entry<'r> {
    name: &'r str,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// Bandwidth and message rates.
pub fn bigger_is_better(report: &NightReport) -> String {
    entries(report, Direction::HigherIsBetter)
}

/// Latencies.
pub fn smaller_is_better(report: &NightReport) -> String {
    entries(report, Direction::LowerIsBetter)
}

fn entries(report: &NightReport, direction: Direction) -> String {
    let names = names(report, SeriesKey::to_string);
    let entries: Vec<Entry<'_>> = measured(report)
        .filter(|(series, ..)| series.key.metric.direction() == direction)
        .map(|(series, point, value)| Entry {
            name: &names[&series.id],
            unit: series.key.metric.unit(),
            value,
            range: spread(point, value),
            extra: format!(
                "night {} of {}, {}",
                report.night.id,
                report.suite,
                number::counted(point.runs, "run")
            ),
        })
        .collect();
    serde_json::to_string_pretty(&entries).expect("texts and numbers are JSON") + "\n"
}

/// How far the runs were from their median, the farther side.
fn spread(point: &PointReport, value: f64) -> Option<String> {
    let farthest = (point.high? - value).max(value - point.low?);
    Some(format!("± {}", number::percent(farthest / value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::night_report;

    #[test]
    fn each_series_with_a_value_is_in_one_of_the_files() {
        let report = night_report();
        let read = |text: String| serde_json::from_str::<Vec<serde_json::Value>>(&text).unwrap();
        let (bigger, smaller) = (read(bigger_is_better(&report)), read(smaller_is_better(&report)));
        assert!(bigger.iter().all(|entry| entry["unit"] != "ns"));
        assert!(smaller.iter().all(|entry| entry["unit"] == "ns"));
        assert_eq!(bigger.len() + smaller.len(), report.series.len() - report.counts.not_measured as usize);
    }
}
