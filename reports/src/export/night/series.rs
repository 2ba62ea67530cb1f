//! What every export needs of a series: this night's point, and a name that no other series of the report bears.

use std::collections::{HashMap, HashSet};

use schema::{Fabric, SeriesKey};

use crate::history::{NightReport, PointReport, SeriesReport};

/// The point of the night that is reported; none where the series was not measured that night.
pub(super) fn tonight<'r>(report: &NightReport, series: &'r SeriesReport) -> Option<&'r PointReport> {
    series.points.last().filter(|point| point.night == report.night.id)
}

/// The series with this night's value, those without one left out.
pub(super) fn measured(report: &NightReport) -> impl Iterator<Item = (&SeriesReport, &PointReport, f64)> {
    report.series.iter().filter_map(|series| {
        let point = tonight(report, series)?;
        Some((series, point, point.value?))
    })
}

/// How the fabric is spelled in JSON.
pub(in crate::export) fn fabric(fabric: Fabric) -> &'static str {
    match fabric {
        Fabric::Verbs => "verbs",
        Fabric::Soft => "soft",
    }
}

/// A series without its metric, for tools that know a benchmark and its measures.
pub(super) fn without_metric(key: &SeriesKey) -> String {
    key.to_string().replacen(
        &format!("/{}/{}/", key.msg_bytes, key.metric),
        &format!("/{}/", key.msg_bytes),
        1,
    )
}

/// Each series' name, by its number. Where names that were imported hold slashes, two series may read the same: they are told
/// apart by their number.
pub(super) fn names(report: &NightReport, name: fn(&SeriesKey) -> String) -> HashMap<i64, String> {
    let mut taken = HashSet::new();
    let unique = |series: &SeriesReport| {
        let plain = name(&series.key);
        let fresh = taken.insert((plain.clone(), series.key.metric));
        (series.id, if fresh { plain } else { format!("{plain}#{}", series.id) })
    };
    report.series.iter().map(unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::night_report;

    #[test]
    fn a_benchmark_is_a_series_without_its_metric() {
        let report = night_report();
        let key = &report.series[0].key;
        assert_eq!(without_metric(key), "nightly-rate/write/deep/64Ki/node1:mlx5_0/node2:mlx5_0");
    }

    #[test]
    fn series_that_read_the_same_are_told_apart() {
        let mut report = night_report();
        report.series.truncate(2);
        for (series, [workload, variant]) in report.series.iter_mut().zip([["a/b", "c"], ["a", "b/c"]]) {
            (series.key.workload, series.key.variant) = (workload.into(), variant.into());
            series.key.responder.host = "node9".into();
        }
        let names = names(&report, SeriesKey::to_string);
        assert_eq!(names[&1], "nightly-rate/a/b/c/64Ki/bandwidth/node1:mlx5_0/node9:mlx5_0");
        assert_eq!(names[&2], format!("{}#2", names[&1]));
    }
}
