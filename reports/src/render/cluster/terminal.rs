//! A cluster in a terminal: the verdict, the findings with what speaks for them and what to do, what could not be measured, the
//! nodes that are worth a look, a small map, and the verdict's line again, where the prompt is.

use super::{heat, methods, not_run, words, worst};
use crate::{
    cluster::{ClusterFinding, ClusterReport, NodeReport},
    render::{
        number,
        terminal::{
            Look,
            layout::{self, Column, Styled},
            style,
        },
    },
};

/// Of more nodes, the others are counted, unless all are asked for.
const NODES: usize = 12;

/// The cluster, for a terminal like this.
pub fn terminal(report: &ClusterReport, look: &Look) -> String {
    let measure = worst::first_measure(report);
    let verdict =
        look.verdict(&words::verdict(report.verdict), &words::sentence(report), words::simulated(report));
    let findings = report.findings.iter().map(|finding| said(report, look, finding));
    let not_run = not_run::lines(report).iter().flat_map(|line| look.broken(line, 2)).collect();
    let nodes = measure.map_or_else(Vec::new, |at| nodes(report, look, at));
    let map = measure.filter(|_| look.pictures).map_or_else(Vec::new, |at| heat::map(report, at, look));
    let rounds = look.broken(&format!("Rounds: {}.", methods::rounds(report).join("; ")), 2);
    let limits = words::limits(report).iter().flat_map(|limit| look.quiet(limit)).collect();
    let again = if report.findings.is_empty() { Vec::new() } else { verdict.clone() };
    let parts = std::iter::once(verdict).chain(findings).chain([not_run, nodes, map, rounds, limits, again]);
    let parts = parts.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"));
    parts.collect::<Vec<_>>().join("\n\n") + "\n"
}

/// A finding: its sentence, then set in what is behind it.
pub(super) fn said(report: &ClusterReport, look: &Look, finding: &ClusterFinding) -> Vec<String> {
    let effects = finding.effects.iter().map(|effect| words::effect(&report.rules, effect));
    let retest = finding.retest.map(words::retest);
    let advice = (!finding.advice.is_empty()).then(|| format!("→ {}", finding.advice));
    let behind = effects.chain(retest).chain(finding.evidence.iter().cloned()).chain(advice);
    let mut lines = look.said(&words::finding(finding), &format!(" {}", finding.sentence));
    lines.extend(behind.flat_map(|line| look.broken(&format!("    {line}"), 6)));
    lines
}

fn nodes(report: &ClusterReport, look: &Look, at: usize) -> Vec<String> {
    let order = worst::order(report, Some(at));
    let shown = if look.all { order.len() } else { order.len().min(NODES) };
    let (shown, left_out) = order.split_at(shown);
    let metric = report.matrices[at].measure.metric;
    let text = |of: &dyn Fn(&NodeReport) -> String| -> Vec<Styled> {
        shown.iter().map(|node| Styled::plain(of(node))).collect()
    };
    let number = |of: fn(&crate::cluster::model::NodeMeasure) -> Option<f64>,
                  as_text: &dyn Fn(f64) -> String| {
        text(&|node| worst::measured(node, at).and_then(of).map_or_else(|| "none".to_owned(), as_text))
    };
    let value = |value| number::value(metric, value);
    let change = |share| words::deviation(&report.rules, metric, share);
    let state = |node: &&NodeReport| {
        let (badge, _) = words::state(&node.state);
        Styled::new(format!("{} {}", badge.sign, badge.word), look.style(style::badge(&badge)))
    };
    let found = |node: &NodeReport| {
        let kinds: Vec<&str> = node
            .findings
            .iter()
            .filter_map(|at| report.findings.get(*at as usize))
            .map(|finding| words::kind(finding.kind))
            .collect();
        kinds.join("; ")
    };
    let mut columns = vec![
        Column::left("node", text(&|node| node.name.clone())),
        Column::left("leaf", text(&|node| node.leaf.clone().unwrap_or_else(|| "not known".to_owned()))),
        Column::left("state", shown.iter().map(state).collect()),
        Column::right("sends", number(|of| of.sends, &value)),
        Column::right("off peers", number(|of| of.sends_change, &change)),
        Column::right("receives", number(|of| of.receives, &value)),
        Column::right("off peers", number(|of| of.receives_change, &change)),
        Column::right("pairs", text(&|node| worst::measured(node, at).map_or(0, |of| of.pairs).to_string())),
        Column::left("found", text(&found)),
    ];
    if report.leaves.is_empty() {
        columns.remove(1);
    }
    let none = |_| Vec::new();
    let title = format!("Nodes by {}, the worst first:", words::measure(&report.matrices[at].measure));
    let mut lines = look.broken(&title, 2);
    lines.extend(layout::lines(&columns, look.style(style::QUIET), none, none));
    if !left_out.is_empty() {
        lines.extend(look.quiet(&format!("{} more nodes; --all lists them.", left_out.len())));
    }
    lines
}
