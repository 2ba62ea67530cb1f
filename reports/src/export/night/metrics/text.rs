//! The two text formats. They differ in the line of the unit, in the type of an info, and in their end.

use std::fmt::Write as _;

use super::families::{Family, Sample, families};
use crate::history::NightReport;

/// The text format 0.0.4, for the textfile collector: one file a suite.
pub fn prometheus(report: &NightReport) -> String {
    let mut text = String::new();
    for family in families(report) {
        let name = sample_name(&family);
        let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} gauge", family.help);
        samples(&mut text, &family);
    }
    text
}

/// OpenMetrics 1.0.
pub fn open_metrics(report: &NightReport) -> String {
    let mut text = String::new();
    for family in families(report) {
        let Family { name, unit, help, info, .. } = &family;
        let _ = writeln!(text, "# TYPE {name} {}", if *info { "info" } else { "gauge" });
        if let Some(unit) = unit {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {help}");
        samples(&mut text, &family);
    }
    text + "# EOF\n"
}

fn sample_name(family: &Family) -> String {
    format!("{}{}", family.name, if family.info { "_info" } else { "" })
}

fn samples(text: &mut String, family: &Family) {
    let name = sample_name(family);
    for (labels, value) in &family.samples as &[Sample] {
        let labels: Vec<String> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        let _ = writeln!(text, "{name}{{{}}} {value}", labels.join(","));
    }
}

/// A label's value may be any text once these are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::night_report;

    #[test]
    fn values_are_in_base_units() {
        let mut report = night_report();
        report.series.truncate(8);
        for (i, value) in [(0, 97.6e9), (7, 1_480.0)] {
            report.series[i].points.last_mut().unwrap().value = Some(value);
        }
        let text = prometheus(&report);
        let value = |start: &str, holds: &str| {
            let line = text.lines().find(|line| line.starts_with(start) && line.contains(holds)).unwrap();
            line.rsplit(' ').next().unwrap().to_owned()
        };
        let first =
            "msg_bytes=\"65536\",metric=\"bandwidth\",source=\"node1:mlx5_0\",destination=\"node2:mlx5_0\"";
        assert_eq!(value("rdma_bench_bandwidth_bytes_per_second{", first), "12200000000");
        assert_eq!(value("rdma_bench_latency_seconds{", "metric=\"p50\",source=\"node1"), "0.00000148");
    }

    #[test]
    fn a_series_without_a_value_has_its_state_alone() {
        let report = night_report();
        let text = prometheus(&report);
        let lines: Vec<&str> =
            text.lines().filter(|line| line.contains("1048576") && line.contains("source=\"node3")).collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].starts_with("rdma_bench_series_state{") && lines[0].contains("state=\"not_measured\"")
        );
    }

    #[test]
    fn a_night_that_did_not_end_has_no_end() {
        let mut report = night_report();
        report.night.ended_at_unix_ms = None;
        assert!(!open_metrics(&report).contains("rdma_bench_last_run"));
        assert!(open_metrics(&report).ends_with("\n# EOF\n"));
    }

    #[test]
    fn quotes_and_line_ends_stay_inside_their_label() {
        let mut report = night_report();
        report.suite = "a\"b\\c\nd".into();
        assert!(prometheus(&report).contains("{suite=\"a\\\"b\\\\c\\nd\"} "));
    }
}
