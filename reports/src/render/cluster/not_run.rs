//! What could not be measured, in lines: it says nothing about speed, and must not be taken for it.

use super::words;
use crate::cluster::{ClusterReport, NotRun};

/// Of more than this many, the others are counted.
const SHOWN: usize = 20;

/// `node8`, `node7 → node4`.
pub(super) fn subject(report: &ClusterReport, not_run: &NotRun) -> String {
    let names: Vec<String> = not_run.nodes.iter().map(|rank| words::node_name(report, *rank)).collect();
    names.join(" → ")
}

/// A line each.
pub(super) fn lines(report: &ClusterReport) -> Vec<String> {
    let line = |one: &NotRun| format!("Could not run {}: {}", subject(report, one), words::not_run(one));
    let lines = report.not_run.iter().take(SHOWN).map(line);
    let more = report.not_run.len().saturating_sub(SHOWN);
    let rest = (more > 0).then(|| format!("and {more} more that could not run: --json has them all"));
    lines.chain(rest).collect()
}
