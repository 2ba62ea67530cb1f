//! A cluster for Prometheus: what is said of it and of each node; of each pair where that is asked for, since there are as many as
//! nodes times nodes.

mod findings;
mod numbers;
mod whole;

use super::Pairs;
use crate::{
    cluster::ClusterReport,
    export::metrics::{self, Family},
};

/// The text format 0.0.4, for the textfile collector: one file a suite.
pub fn prometheus(report: &ClusterReport, pairs: Pairs) -> String {
    metrics::text_format(&families(report, pairs))
}

/// OpenMetrics 1.0.
pub fn open_metrics(report: &ClusterReport, pairs: Pairs) -> String {
    metrics::open_metrics(&families(report, pairs))
}

fn families(report: &ClusterReport, pairs: Pairs) -> Vec<Family> {
    let mut all = whole::families(report);
    all.extend(findings::families(report));
    all.extend(numbers::of_nodes(report));
    if pairs == Pairs::Told {
        all.extend(numbers::of_pairs(report));
    }
    all
}

/// The label that all samples have.
fn suite(report: &ClusterReport) -> (&'static str, String) {
    ("suite", report.head.suite.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster_report;

    #[test]
    fn pairs_are_told_where_they_are_asked_for() {
        let report = cluster_report();
        let text = prometheus(&report, Pairs::LeftOut);
        assert!(!text.contains("cluster_pair_"));
        let pairs = prometheus(&report, Pairs::Told);
        let told =
            pairs.lines().filter(|line| line.starts_with("rdma_bench_cluster_pair_latency_seconds{")).count();
        let measured =
            report.matrices[2..].iter().flat_map(|of| of.values.iter().flatten()).flatten().count();
        assert_eq!(told, measured);
        assert!(pairs.starts_with(&text[..200]));
    }

    #[test]
    fn values_are_in_base_units() {
        let mut report = cluster_report();
        report.nodes[0].measures[0].sends = Some(97.6e9);
        report.nodes[0].measures[2].receives = Some(1_480.0);
        let text = prometheus(&report, Pairs::LeftOut);
        let value = |start: &str, way: &str| {
            let line = text.lines().find(|line| {
                line.starts_with(start)
                    && line.contains("node=\"node1\"")
                    && line.contains(&format!("way=\"{way}\""))
            });
            line.unwrap().rsplit(' ').next().unwrap().to_owned()
        };
        assert_eq!(value("rdma_bench_cluster_node_bandwidth_bytes_per_second{", "sends"), "12200000000");
        assert_eq!(value("rdma_bench_cluster_node_latency_seconds{", "receives"), "0.00000148");
    }

    #[test]
    fn a_finding_names_its_subject() {
        let text = prometheus(&cluster_report(), Pairs::LeftOut);
        for subject in [
            "kind=\"node\",certainty=\"confirmed\",subject=\"node3\",destination=\"\"} 1",
            "kind=\"link\",certainty=\"confirmed\",subject=\"node1\",destination=\"node6\"} 1",
        ] {
            assert!(text.contains(subject), "no {subject}");
        }
    }
}
