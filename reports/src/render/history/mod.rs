//! Views of a judged night and of the history behind it: lines for a terminal, one series in full, and the page a team opens
//! in the morning. Computes nothing: what is wrong, since when and how much is in the [`NightReport`].

mod against;
mod campaigns;
mod list;
mod markdown;
mod page;
mod plot;
mod scale;
mod screen;
mod series;
mod spark;
pub(crate) mod told;
mod words;

use crate::history::NightReport;

pub use against::against_baseline;
pub use campaigns::{CampaignOfNight, Campaigns, flagged};
pub use list::terminal;
pub use markdown::markdown;
pub use page::dashboard;
pub use series::series;

/// A line a finding, the worst first, and the verdict last: what a night ends with.
pub fn lines(report: &NightReport) -> Vec<String> {
    let findings = report
        .findings
        .iter()
        .map(|finding| format!("{} {}", words::finding(finding).word, words::finding_line(report, finding)));
    findings.chain([words::sentence(report)]).collect()
}

/// A night as it was judged, as JSON.
pub fn json(report: &NightReport) -> String {
    serde_json::to_string_pretty(report).expect("a report is numbers, texts and lists of them") + "\n"
}
