//! The two text formats of a night.

use super::families::families;
use crate::{export::metrics, history::NightReport};

/// The text format 0.0.4, for the textfile collector: one file a suite.
pub fn prometheus(report: &NightReport) -> String {
    metrics::text_format(&families(report))
}

/// OpenMetrics 1.0.
pub fn open_metrics(report: &NightReport) -> String {
    metrics::open_metrics(&families(report))
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
