//! A cluster as Markdown, for a ticket or the summary of a CI job: the verdict, the findings with what speaks for them, what could
//! not be measured; nodes, leaves and rules folded.

use std::fmt::Write as _;

use super::{methods, not_run, words, worst};
use crate::{
    cluster::{ClusterFinding, ClusterReport, GroupReport, NodeReport},
    render::{
        markdown::{escaped, folded, table},
        number,
    },
};

/// Rows of a table, at most: a ticket takes 64 KiB, and the CSV has them all.
const MOST_ROWS: usize = 100;

/// The cluster.
pub fn markdown(report: &ClusterReport) -> String {
    let mut text = String::new();
    head(&mut text, report);
    findings(&mut text, report);
    could_not_run(&mut text, report);
    if !report.limits.is_empty() {
        text.push_str("## What these pairs can't tell\n\n");
        for limit in words::limits(report) {
            let _ = writeln!(text, "- {}", escaped(&limit));
        }
        text.push('\n');
    }
    nodes(&mut text, report);
    groups(&mut text, report, "Leaf switches", "leaf", &report.leaves);
    groups(&mut text, report, "By switches on the way", "way", &report.hops);
    folded(&mut text, "Rounds", |text| {
        for line in methods::rounds(report) {
            let _ = writeln!(text, "- {}", escaped(&line));
        }
        text.push('\n');
    });
    folded(&mut text, "By what it was judged", |text| {
        for line in methods::rules(&report.rules) {
            let _ = writeln!(text, "- {line}");
        }
        text.push('\n');
    });
    text
}

fn head(text: &mut String, report: &ClusterReport) {
    let _ = write!(text, "# {}\n\n", escaped(&words::head(report)));
    if let Some(simulated) = words::simulated(report) {
        let _ = write!(text, "> **{}**\n\n", escaped(&simulated));
    }
    let verdict = words::verdict(report.verdict);
    let claim = escaped(&words::capitalised(&words::claim(report)));
    let _ = write!(
        text,
        "{} **{}.** {claim}.\n\n{}\n\n",
        verdict.sign,
        verdict.word,
        escaped(&report.head.question)
    );
}

fn findings(text: &mut String, report: &ClusterReport) {
    if report.findings.is_empty() {
        return;
    }
    text.push_str("## Findings\n\n");
    table(
        text,
        &["", "what", "how much", "what speaks for it", "what to do"],
        report.findings.iter().map(|finding| row(report, finding)),
    );
    text.push('\n');
}

fn row(report: &ClusterReport, finding: &ClusterFinding) -> Vec<String> {
    let badge = words::finding(finding);
    let effects: Vec<String> =
        finding.effects.iter().map(|effect| words::effect(&report.rules, effect)).collect();
    let evidence: Vec<String> =
        finding.retest.map(words::retest).into_iter().chain(finding.evidence.iter().cloned()).collect();
    vec![
        format!("{} {}", badge.sign, badge.word),
        finding.sentence.clone(),
        effects.join("; "),
        evidence.join("; "),
        finding.advice.clone(),
    ]
}

fn could_not_run(text: &mut String, report: &ClusterReport) {
    if report.not_run.is_empty() {
        return;
    }
    text.push_str("## Could not run\n\nNone of this says anything about speed.\n\n");
    for one in report.not_run.iter().take(MOST_ROWS) {
        let line = format!("{}: {}", not_run::subject(report, one), words::not_run(one));
        let _ = writeln!(text, "- {}", escaped(&line));
    }
    more(text, report.not_run.len());
    text.push('\n');
}

fn more(text: &mut String, all: usize) {
    if all > MOST_ROWS {
        let _ = write!(text, "\n{} more: the JSON report has them all.\n", all - MOST_ROWS);
    }
}

fn nodes(text: &mut String, report: &ClusterReport) {
    let Some(at) = worst::first_measure(report) else { return };
    let measure = &report.matrices[at].measure;
    folded(text, &format!("Nodes by {}", words::measure(measure)), |text| {
        let order = worst::order(report, Some(at));
        let row = |node: &NodeReport| {
            let (badge, why) = words::state(&node.state);
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            let of = worst::measured(node, at);
            let value = |value: Option<f64>| {
                value.map_or_else(|| "none".to_owned(), |value| number::value(measure.metric, value))
            };
            let off = |share: Option<f64>| {
                share.map_or_else(String::new, |share| words::deviation(&report.rules, measure.metric, share))
            };
            vec![
                node.name.clone(),
                node.leaf.clone().unwrap_or_default(),
                format!("{}{why}", badge.word),
                value(of.and_then(|of| of.sends)),
                off(of.and_then(|of| of.sends_change)),
                value(of.and_then(|of| of.receives)),
                off(of.and_then(|of| of.receives_change)),
            ]
        };
        let header = ["node", "leaf", "state", "sends", "off peers", "receives", "off peers"];
        table(text, &header, order.iter().take(MOST_ROWS).map(|node| row(node)));
        more(text, order.len());
        text.push('\n');
    });
}

fn groups(text: &mut String, report: &ClusterReport, title: &str, name: &str, groups: &[GroupReport]) {
    if groups.is_empty() {
        return;
    }
    folded(text, title, |text| {
        let measures = report.matrices.iter().map(|matrix| words::measure(&matrix.measure));
        let header: Vec<String> = [name.to_owned(), "pairs".to_owned()].into_iter().chain(measures).collect();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let row = |group: &GroupReport| {
            let medians = group.medians.iter().zip(&report.matrices).map(|(median, matrix)| {
                median.map_or_else(|| "none".to_owned(), |value| number::value(matrix.measure.metric, value))
            });
            [group.name.clone(), group.pairs.to_string()].into_iter().chain(medians).collect()
        };
        table(text, &header, groups.iter().take(MOST_ROWS).map(row));
        more(text, groups.len());
        text.push('\n');
    });
}
