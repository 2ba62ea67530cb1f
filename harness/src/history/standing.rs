//! What of a series waits for somebody's word: a finding that nobody has acknowledged, or a change that made it worse.

use reports::history::{NightReport, SeriesReport, SeriesState};

/// The first night of what stands and is not known yet; none where there is nothing.
pub fn standing(report: &NightReport, series: &SeriesReport) -> Option<i64> {
    let open = |finding: &&reports::history::NightFinding| {
        finding.acknowledged.is_none() && finding.members.iter().any(|member| member.series == series.id)
    };
    let found = report.findings.iter().find(open).map(|finding| finding.since);
    let unsettled =
        matches!(series.state, SeriesState::Regressed | SeriesState::Suspected | SeriesState::Improved);
    let changed = series.change_points.iter().rfind(|change| change.acknowledged.is_none());
    found.or_else(|| changed.filter(|_| unsettled).map(|change| change.night))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reports::testing::night_report;

    #[test]
    fn what_is_found_and_not_known_stands() {
        let report = night_report();
        let stands: Vec<Option<i64>> = report.series.iter().map(|series| standing(&report, series)).collect();
        let expected = [
            Some(117),
            Some(117),
            Some(120),
            Some(120),
            Some(120),
            Some(120),
            Some(115),
            Some(118),
            None,
            None,
            None,
            None,
        ];
        assert_eq!(stands, expected);
    }

    #[test]
    fn a_change_of_an_earlier_finding_stands_without_it() {
        let mut report = night_report();
        report.findings.clear();
        assert_eq!(standing(&report, &report.series[0]), Some(117));
        report.series[0].state = SeriesState::Steady;
        assert_eq!(standing(&report, &report.series[0]), None);
    }
}
