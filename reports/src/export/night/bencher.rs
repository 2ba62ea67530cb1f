//! Bencher Metric Format: what `bencher run --adapter json --file` reads. A benchmark is a series without its metric, its
//! measures are the metrics, in our units.

use std::collections::BTreeMap;

use schema::Metric;
use serde::Serialize;

use super::series::{measured, names, without_metric};
use crate::history::NightReport;

#[derive(Serialize)]
struct Measured {
    value: f64,
    lower_value: Option<f64>,
    upper_value: Option<f64>,
}

/// The night's values; lower and upper are the smallest and the largest run.
pub fn bencher(report: &NightReport) -> String {
    let names = names(report, without_metric);
    let mut benchmarks: BTreeMap<&str, BTreeMap<String, Measured>> = BTreeMap::new();
    for (series, point, value) in measured(report) {
        let measures = benchmarks.entry(&names[&series.id]).or_default();
        let measured = Measured { value, lower_value: point.low, upper_value: point.high };
        measures.insert(measure(series.key.metric), measured);
    }
    serde_json::to_string_pretty(&benchmarks).expect("texts and numbers are JSON") + "\n"
}

/// A slug with its unit, as measures have one unit for good.
fn measure(metric: Metric) -> String {
    match metric {
        Metric::Bandwidth => "bandwidth-bits-per-second".to_owned(),
        Metric::MessageRate => "messages-per-second".to_owned(),
        latency => format!("latency-{}-ns", latency.to_string().replace('.', "-")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::night_report;

    #[test]
    fn metrics_of_one_thing_are_measures_of_one_benchmark() {
        let mut report = night_report();
        report.series.truncate(2);
        report.series[1].key = report.series[0].key.clone();
        report.series[1].key.metric = Metric::P99_9;
        let written: BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>> =
            serde_json::from_str(&bencher(&report)).unwrap();
        let [measures] = &written.values().collect::<Vec<_>>()[..] else { panic!("{written:?}") };
        assert_eq!(measures.keys().collect::<Vec<_>>(), ["bandwidth-bits-per-second", "latency-p99-9-ns"]);
        let bandwidth = &measures["bandwidth-bits-per-second"];
        assert!(
            bandwidth["lower_value"] < bandwidth["value"] && bandwidth["value"] < bandwidth["upper_value"]
        );
    }
}
