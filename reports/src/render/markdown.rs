//! The report as Markdown: what the page says, without its figures.

use std::fmt::Write as _;

use schema::Campaign;

use super::{
    facts::{FactGroup, FactRow},
    view::{EffectRow, RunNumbers, View, WorkloadView},
};
use crate::compare::Comparison;

/// The report.
pub fn markdown(campaign: &Campaign, comparison: &Comparison) -> String {
    let view = View::of(campaign, comparison);
    let mut text = String::new();
    head(&mut text, &view);
    effects(&mut text, &view);
    view.workloads.iter().for_each(|workload| numbers(&mut text, &view, workload));
    differences(&mut text, &view);
    unusable(&mut text, &view);
    section(&mut text, "How it was measured", &view.method);
    section(&mut text, "What it does not say", &view.limits);
    facts(&mut text, &view);
    let _ = write!(text, "## Scenario\n\n```toml\n{}\n```\n", view.scenario_toml.trim_end());
    text
}

fn head(text: &mut String, view: &View) {
    let _ = write!(text, "# {}\n\n", escaped(&view.question));
    if let Some(simulated) = &view.simulated {
        let _ = write!(text, "> **SIMULATED.** Not a measurement of a network: {}\n\n", escaped(simulated));
    }
    let verdict = view.verdict.word;
    let _ = write!(text, "**{verdict}.** {}\n\n{}\n\n", escaped(&view.claim), escaped(&view.summary));
    for warning in &view.warnings {
        let _ = write!(text, "> {}\n\n", escaped(warning));
    }
}

fn effects(text: &mut String, view: &View) {
    let header: Vec<&str> =
        ["metric", "workload", "size", "candidate", "baseline median", "candidate median", "change"]
            .into_iter()
            .chain([view.interval_name.as_str(), "margin", "p", "A/A control", "pairs", "verdict"])
            .collect();
    let _ = write!(text, "## Effects{}\n\n", label(view));
    table(text, &header, view.gates.iter().map(effect_cells));
    for row in &view.gates {
        for remark in &row.remarks {
            let _ = writeln!(
                text,
                "- {} {} {} {}: {}",
                row.metric,
                escaped(&row.workload),
                row.size,
                escaped(&row.candidate),
                escaped(remark)
            );
        }
    }
    if !view.others.is_empty() {
        let _ = write!(text, "\n### Beside the gates (exploratory){}\n\n", label(view));
        table(text, &header, view.others.iter().map(effect_cells));
    }
    text.push('\n');
}

fn effect_cells(row: &EffectRow) -> Vec<String> {
    [&row.metric, &row.workload, &row.size, &row.candidate, &row.baseline_median, &row.candidate_median]
        .into_iter()
        .chain([&row.change, &row.interval, &row.margin, &row.p, &row.control, &row.pairs])
        .cloned()
        .chain([row.verdict.word.to_owned()])
        .collect()
}

fn numbers(text: &mut String, view: &View, workload: &WorkloadView) {
    let _ = write!(text, "## {}{}\n\n{}\n\n", escaped(&workload.name), label(view), workload.about);
    for size in &workload.sizes {
        let _ = write!(text, "### {}\n\nMedian of the runs, smallest to largest.\n\n", size.name);
        let header: Vec<&str> =
            std::iter::once("metric").chain(view.variants.iter().map(String::as_str)).collect();
        let rows = size.numbers.iter().map(|(metric, values)| {
            std::iter::once(metric.clone()).chain(values.iter().map(run_numbers)).collect()
        });
        table(text, &header, rows);
        text.push('\n');
    }
}

fn run_numbers(numbers: &Option<RunNumbers>) -> String {
    match numbers {
        Some(RunNumbers { median, detail }) => format!("{median} ({detail})"),
        None => "not published".into(),
    }
}

fn differences(text: &mut String, view: &View) {
    text.push_str("## What differed\n\nWhat the variants set:\n\n");
    fact_table(text, view, view.settings.iter());
    text.push_str("\nWhat came out of it:\n\n");
    for group in &view.facts {
        if group.rows.iter().any(|row| row.differs) {
            let _ = write!(text, "{}\n\n", escaped(&group.title));
            fact_table(text, view, group.rows.iter().filter(|row| row.differs));
            text.push('\n');
        }
    }
    if !view.unasked_changes.is_empty() {
        text.push_str("Changed between runs of one variant, though nothing asked for it:\n\n");
        view.unasked_changes.iter().for_each(|change| {
            let _ = writeln!(text, "- {}", escaped(change));
        });
        text.push('\n');
    }
}

fn unusable(text: &mut String, view: &View) {
    if view.unusable.is_empty() {
        return;
    }
    text.push_str("## Runs that could not be used\n\n");
    let rows = view
        .unusable
        .iter()
        .map(|row| vec![row.run.clone(), row.place.clone(), row.kind.to_owned(), row.reason.clone()]);
    table(text, &["run", "of", "what", "why"], rows);
    text.push('\n');
}

fn section(text: &mut String, title: &str, sentences: &[String]) {
    let _ = write!(text, "## {title}\n\n");
    for sentence in sentences {
        let _ = writeln!(text, "- {}", escaped(sentence));
    }
    text.push('\n');
}

fn facts(text: &mut String, view: &View) {
    text.push_str("## Parameters and environment\n\n");
    for FactGroup { title, rows } in &view.facts {
        let _ = write!(text, "### {}\n\n", escaped(title));
        fact_table(text, view, rows.iter());
        text.push('\n');
    }
}

fn fact_table<'f>(text: &mut String, view: &View, rows: impl Iterator<Item = &'f FactRow>) {
    let header: Vec<&str> = std::iter::once("").chain(view.variants.iter().map(String::as_str)).collect();
    table(
        text,
        &header,
        rows.map(|row| std::iter::once(format!("`{}`", row.key)).chain(row.values.iter().cloned()).collect()),
    );
}

fn table(text: &mut String, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let header: Vec<String> = header.iter().map(|cell| escaped(cell)).collect();
    let _ = writeln!(text, "| {} |", header.join(" | "));
    let _ = writeln!(text, "|{}", " --- |".repeat(header.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
}

/// Where a table or a list stands under a simulated fabric, its heading says so.
fn label(view: &View) -> &'static str {
    if view.simulated.is_some() { " (simulated)" } else { "" }
}

/// Free text, so that it can neither end a table cell nor start a tag.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}
