//! Views of a judged cluster: lines for a terminal, Markdown, JSON, and the page with the map of all pairs. Computes nothing:
//! who is slow and by how much is in the [`ClusterReport`], what single runs measured in the [`schema::Cluster`] behind it.

mod closer;
mod heat;
mod json;
mod markdown;
mod methods;
mod not_run;
mod page;
mod terminal;
pub(crate) mod words;
mod worst;

use crate::cluster::ClusterReport;

pub use closer::{node, pair};
pub use json::{json, json_schema};
pub use markdown::markdown;
pub use page::html;
pub use terminal::terminal;

/// The verdict, a line a finding, the worst first, what could not be measured, and what can't be told: what a run of a cluster ends with.
pub fn lines(report: &ClusterReport) -> Vec<String> {
    let findings = report
        .findings
        .iter()
        .map(|finding| format!("{} {}", words::finding(finding).word, words::finding_line(finding)));
    let not_run = not_run::lines(report);
    [words::sentence(report)]
        .into_iter()
        .chain(words::simulated(report))
        .chain(findings)
        .chain(not_run)
        .chain(words::limits(report))
        .collect()
}
