//! What is said of a night, a finding and a series, in sentences that stand alone: for exports that carry them into another tool.

use super::words;
use crate::history::{NightFinding, NightReport, SeriesReport};

/// A word and a sentence.
pub(crate) struct Told {
    /// `Regressed`, `Suspected`, `Improved` or `Known`.
    pub(crate) word: &'static str,
    /// Since when, where, how much, how it was found.
    pub(crate) line: String,
}

/// The verdict on a night.
pub(crate) fn night(report: &NightReport) -> String {
    words::sentence(report)
}

/// What is simulated, where something is.
pub(crate) fn simulated(report: &NightReport) -> Option<String> {
    words::simulated(report)
}

/// What a night changed in the configuration of any series; empty where nothing changed.
pub(crate) fn changed_in(report: &NightReport, night: i64) -> String {
    words::changed_in(report, night)
}

/// A finding.
pub(crate) fn finding(report: &NightReport, finding: &NightFinding) -> Told {
    Told { word: words::finding(finding).word, line: words::finding_line(report, finding) }
}

/// What the findings of a night say of one series, the worst first.
pub(crate) fn of_series(report: &NightReport, series: &SeriesReport) -> Vec<Told> {
    let told = |finding: &NightFinding| {
        let member = finding.members.iter().find(|member| member.series == series.id)?;
        let since = format!("since {}", words::night(report, finding.since));
        let how = words::how(finding, member.found_by, member.certainty);
        let parts = [since, words::how_much_of(report, member), how];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let alone = NightFinding { certainty: member.certainty, members: Vec::new(), ..finding.clone() };
        Some(Told { word: words::finding(&alone).word, line: parts.join(": ") })
    };
    report.findings.iter().filter_map(told).collect()
}
