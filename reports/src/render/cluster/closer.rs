//! One node or one pair of a cluster in a terminal: its numbers, what is said of it, and its runs.

use schema::{Cluster, PairOutcome, PairPoint, PairRole, PairRun, RoundPart};

use super::{terminal::said, words, worst};
use crate::{
    cluster::{ClusterReport, Matrix},
    render::{
        number,
        terminal::{
            Look,
            layout::{self, Column, Styled},
            style,
        },
        words::short_metric,
    },
};

/// Everything about a node, by its rank; none where there is no such node.
pub fn node(cluster: &Cluster, report: &ClusterReport, rank: u32, look: &Look) -> Option<String> {
    let of = report.nodes.get(rank as usize)?;
    let kept = cluster.nodes.get(rank as usize)?;
    let (state, why) = words::state(&of.state);
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    let leaf = of.leaf.as_ref().map_or_else(String::new, |leaf| format!(", below {leaf}"));
    let head = look.said(&state, &format!("{why}: {}, {} at {}{leaf}", of.name, of.device, kept.place));
    let findings = of.findings.iter().filter_map(|at| report.findings.get(*at as usize));
    let findings = findings.map(|finding| said(report, look, finding));
    let not_run = report.not_run.iter().filter(|one| one.nodes.contains(&rank));
    let not_run = not_run.map(|one| look.broken(&format!("Could not run: {}", words::not_run(one)), 2));
    let facts = kept.audit.as_ref().map(|audit| {
        let facts = audit.facts.0.iter().map(|(name, value)| format!("{name}={value}"));
        let found = audit.findings.iter().map(|of| format!("{} {}: {}", of.severity, of.check, of.summary));
        let facts = look.broken(&format!("Audit: {}", facts.collect::<Vec<_>>().join(" ")), 2);
        facts.into_iter().chain(found.flat_map(|line| look.broken(&format!("    {line}"), 6))).collect()
    });
    let parts = std::iter::once(head)
        .chain(findings)
        .chain(not_run)
        .chain([measures(report, rank, look)])
        .chain(facts);
    Some(joined(parts))
}

/// Parts with an empty line between them; those of no lines are left out.
fn joined(parts: impl Iterator<Item = Vec<String>>) -> String {
    let parts = parts.filter(|lines: &Vec<String>| !lines.is_empty()).map(|lines| lines.join("\n"));
    parts.collect::<Vec<_>>().join("\n\n") + "\n"
}

/// A row a measure of a node.
fn measures(report: &ClusterReport, rank: u32, look: &Look) -> Vec<String> {
    let node = &report.nodes[rank as usize];
    let rows: Vec<(usize, &Matrix)> = report.matrices.iter().enumerate().collect();
    let text = |of: &dyn Fn(usize, &Matrix) -> String| -> Vec<Styled> {
        rows.iter().map(|(at, matrix)| Styled::plain(of(*at, matrix))).collect()
    };
    let number = |of: fn(&crate::cluster::model::NodeMeasure) -> Option<f64>, share: bool| {
        text(&|at, matrix| {
            let metric = matrix.measure.metric;
            let as_text = |number| {
                if share {
                    words::deviation(&report.rules, metric, number)
                } else {
                    number::value(metric, number)
                }
            };
            worst::measured(node, at).and_then(of).map_or_else(|| "none".to_owned(), as_text)
        })
    };
    let columns = [
        Column::left("measure", text(&|_, matrix| words::measure(&matrix.measure))),
        Column::right("sends", number(|of| of.sends, false)),
        Column::right("off peers", number(|of| of.sends_change, true)),
        Column::right("receives", number(|of| of.receives, false)),
        Column::right("off peers", number(|of| of.receives_change, true)),
        Column::right("pairs", text(&|at, _| worst::measured(node, at).map_or(0, |of| of.pairs).to_string())),
    ];
    table(&columns, look)
}

/// No lines for no rows.
fn table(columns: &[Column], look: &Look) -> Vec<String> {
    let none = |_| Vec::new();
    if columns.iter().all(|column| column.cells.is_empty()) {
        return Vec::new();
    }
    layout::lines(columns, look.style(style::QUIET), none, none)
}

/// Everything about two nodes, both ways; none where one of them is not there.
pub fn pair(cluster: &Cluster, report: &ClusterReport, [a, b]: [u32; 2], look: &Look) -> Option<String> {
    let known = |rank: u32| (rank as usize) < report.nodes.len() && (rank as usize) < cluster.nodes.len();
    if !known(a) || !known(b) {
        return None;
    }
    let findings = report.findings.iter().filter(|finding| {
        finding.subject.nodes.len() == 2 && [a, b].iter().all(|rank| finding.subject.nodes.contains(rank))
    });
    let findings: Vec<Vec<String>> = findings.map(|finding| said(report, look, finding)).collect();
    let one_way = |from: u32, to: u32| {
        let runs: Vec<&PairRun> =
            cluster.runs.iter().filter(|run| run.requester == from && run.responder == to).collect();
        let name = format!("{} → {}", words::node_name(report, from), words::node_name(report, to));
        let mut lines = look.broken(&name, 2);
        lines.extend(values(report, from, to).iter().flat_map(|line| look.broken(&format!("    {line}"), 6)));
        if runs.is_empty() {
            lines.push("    no run".to_owned());
        }
        let shown = runs.iter().flat_map(|run| told(cluster, run)).flat_map(|line| look.broken(&line, 8));
        lines.extend(shown);
        lines
    };
    Some(joined(findings.into_iter().chain([one_way(a, b), one_way(b, a)])))
}

/// A line a measure of a pair.
fn values(report: &ClusterReport, from: u32, to: u32) -> Vec<String> {
    let line = |matrix: &Matrix| {
        let cell = |rows: &[Vec<Option<f64>>]| *rows.get(from as usize)?.get(to as usize)?;
        let value = cell(&matrix.values)?;
        let metric = matrix.measure.metric;
        let rest = matrix.residuals.get(from as usize).and_then(|row| *row.get(to as usize)?);
        let rest = rest.map_or_else(String::new, |rest| {
            format!(
                ", {} against what its nodes let expect",
                words::deviation(&report.rules, metric, f64::from(rest))
            )
        });
        Some(format!("{}: {}{rest}", words::measure(&matrix.measure), number::value(metric, value)))
    };
    report.matrices.iter().filter_map(line).collect()
}

/// A run: when and what for, what it measured or why not, what was remarked.
fn told(cluster: &Cluster, run: &PairRun) -> Vec<String> {
    let round = cluster.rounds.get(run.round as usize);
    let when = round.map_or_else(String::new, |round| {
        let again = if round.part == RoundPart::Retest { ", measured again" } else { "" };
        format!(", {}{again}, {} UTC", round.label, number::utc(round.started_at_unix_ms))
    });
    let load = if run.role == PairRole::Congestor { ", load beside others" } else { "" };
    let outcome = match &run.outcome {
        PairOutcome::Measured => String::new(),
        PairOutcome::Invalid { why } => format!(": not usable: {why}"),
        PairOutcome::CouldNotRun { why } => format!(": could not run: {why}"),
    };
    let late = run.late_ns.map(|late| {
        let side = if late < 0 { "before" } else { "after" };
        format!("first post {} {side} the round's moment", number::nanos(late.unsigned_abs() as f64))
    });
    let points = run.points.iter().map(point);
    let head = format!("    run {}{when}{load}{outcome}", run.sequence);
    let behind = points.chain(late).chain(run.remarks.iter().cloned()).map(|line| format!("      {line}"));
    std::iter::once(head).chain(behind).collect()
}

fn point(point: &PairPoint) -> String {
    let numbers = PairPoint::METRICS.into_iter().filter_map(|metric| {
        Some(format!("{} {}", short_metric(metric), number::value(metric, point.get(metric)?)))
    });
    format!("{}: {}", number::size(point.msg_bytes), numbers.collect::<Vec<_>>().join(", "))
}
