//! The report as Markdown, for a ticket: what the page says, without its figures. Verdict and gates come first; what is long is
//! folded, so that a reader opens what they need.

use std::fmt::Write as _;

use schema::Campaign;

use super::{
    evidence::{CounterView, EvidenceView},
    facts::{FactGroup, FactRow},
    methods::MethodRow,
    ranking::{FactorsView, RankRow, TogetherView},
    view::{EffectRow, RunNumbers, View, WorkloadView},
};
use crate::{compare::Comparison, index::Index};

/// The report.
pub fn markdown(campaign: &Campaign, comparison: &Comparison) -> String {
    let view = View::of(campaign, comparison, &Index::of(campaign));
    let mut text = String::new();
    head(&mut text, &view);
    if let Some(factors) = &view.factors {
        brought(&mut text, &view, factors);
    }
    if view.compares {
        effects(&mut text, &view);
    }
    view.workloads.iter().for_each(|workload| numbers(&mut text, &view, workload));
    differences(&mut text, &view);
    unusable(&mut text, &view);
    if let Some(panel) = &view.evidence {
        evidence(&mut text, &view, panel);
    }
    text.push_str("## How it was measured\n\n");
    folded(&mut text, "Method", |text| list(text, &view.method));
    text.push_str("## What it does not say\n\n");
    list(&mut text, &view.limits);
    facts(&mut text, &view);
    text.push_str("## Scenario\n\n");
    folded(&mut text, "As it was", |text| {
        let _ = write!(text, "```toml\n{}\n```\n\n", view.scenario_toml.trim_end());
    });
    let _ = writeln!(text, "rdma-harness {}", view.version);
    text
}

/// A part that is closed until a reader opens it.
pub(super) fn folded(text: &mut String, summary: &str, inside: impl FnOnce(&mut String)) {
    let _ = write!(text, "<details>\n<summary>{}</summary>\n\n", escaped(summary));
    inside(text);
    text.push_str("</details>\n\n");
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

fn brought(text: &mut String, view: &View, factors: &FactorsView) {
    let _ = write!(text, "## What brought what{}\n\n", label(view));
    for about in &factors.about {
        let _ = write!(text, "{}\n\n", escaped(about));
    }
    let does = factors.factors.iter().map(|(name, does)| vec![name.clone(), does.clone()]);
    table(text, &["factor", "where it is on"], does);
    text.push('\n');
    let header = ["without", "with", "change", view.interval_name.as_str(), "p", "share", "verdict"];
    let columns = |first| std::iter::once(first).chain(header).collect::<Vec<&str>>();
    for ranking in &factors.rankings {
        let _ = write!(text, "### {}\n\n", escaped(&ranking.title));
        table(text, &columns("factor"), ranking.factors.iter().map(rank_cells));
        if !ranking.interactions.is_empty() {
            text.push_str("\nTogether, beyond what each brings alone (exploratory): predicted, and measured with both.\n\n");
            table(text, &columns("factors"), ranking.interactions.iter().map(rank_cells));
        }
        text.push('\n');
        let remarks = ranking.factors.iter().chain(&ranking.interactions);
        for (row, remark) in remarks.flat_map(|row| row.remarks.iter().map(move |remark| (row, remark))) {
            let _ = writeln!(text, "- {}: {}", escaped(&row.name), escaped(remark));
        }
        for TogetherView { one, other, means: [neither, first, second, both] } in &ranking.together {
            let _ = write!(text, "\n{} and {}:\n\n", escaped(one), escaped(other));
            let off_on =
                |name: &str, off: &String, on: &String| vec![name.to_owned(), off.clone(), on.clone()];
            let rows = [
                off_on(&format!("without {other}"), neither, first),
                off_on(&format!("with {other}"), second, both),
            ];
            table(text, &["", &format!("without {one}"), &format!("with {one}")], rows.into_iter());
        }
        let _ = write!(text, "\n{}\n\n", escaped(&ranking.rest));
    }
    if !factors.confounded.is_empty() {
        text.push_str("Cannot be told from each other:\n\n");
        factors.confounded.iter().for_each(|group| {
            let _ = writeln!(text, "- {}", escaped(group));
        });
        text.push('\n');
    }
}

fn rank_cells(row: &RankRow) -> Vec<String> {
    let cells = [&row.name, &row.without, &row.with, &row.change, &row.interval, &row.p, &row.share];
    cells.into_iter().cloned().chain([row.verdict.word.to_owned()]).collect()
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
    text.push('\n');
    if let Some((sentence, looks)) = &view.looks {
        let _ = write!(text, "{}.\n\n", escaped(sentence));
        folded(text, "The looks that were planned", |text| {
            let header = ["look", "after", "alpha spent", "level of a gate", "made"];
            table(text, &header, looks.iter().cloned());
            text.push('\n');
        });
    }
    if !view.methods.is_empty() {
        folded(text, "The gates by other methods", |text| {
            let header = ["gate", "method", "change", view.interval_name.as_str(), "p, alone", "n"];
            table(text, &header, view.methods.iter().map(method_cells));
            text.push('\n');
        });
    }
    if !view.others.is_empty() {
        let _ = write!(text, "### Beside the gates (exploratory){}\n\n", label(view));
        let summary = format!("{} more comparisons, without a verdict", view.others.len());
        folded(text, &summary, |text| {
            table(text, &header, view.others.iter().map(effect_cells));
            text.push('\n');
        });
    }
}

fn method_cells(row: &MethodRow) -> Vec<String> {
    [&row.gate, &row.method, &row.change, &row.interval, &row.p, &row.n].into_iter().cloned().collect()
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
    let sizes: Vec<&str> = workload.sizes.iter().map(|size| size.name.as_str()).collect();
    folded(text, &format!("What was measured at {}", sizes.join(", ")), |text| {
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
    });
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

/// Rows of a table of counters, or of what was tuned, before the rest is left to the JSON.
const MOST_ROWS: usize = 40;

fn evidence(text: &mut String, view: &View, panel: &EvidenceView) {
    let _ = write!(text, "## Did it take, did it stay, what else happened{}\n\n", label(view));
    if !panel.tuned.is_empty() {
        text.push_str("What was tuned, and what became of it:\n\n");
        let rows = panel.tuned.iter().map(|row| {
            let cells = [&row.variant, &row.side, &row.what, &row.targets, &row.old, &row.asked];
            cells.into_iter().chain([&row.effective, &row.became]).cloned().collect()
        });
        let header = ["variant", "side", "knob", "target", "was", "asked", "read back", "became (runs)"];
        cut_table(text, &header, rows.collect());
    }
    let per_variant = |first, rest: &[&'static str]| {
        let variants = view.variants.iter().map(String::as_str);
        std::iter::once(first).chain(variants).chain(rest.iter().copied()).collect::<Vec<&str>>()
    };
    text.push_str("How the checks came out: the worst run of each variant.\n\n");
    let rows = panel.checks.iter().map(|row| {
        let cell = |of: &Option<(super::view::Badge, String)>| match of {
            Some((badge, found)) => format!("{}: {found}", badge.word),
            None => "not checked".to_owned(),
        };
        std::iter::once(format!("{} ({})", row.check, row.of))
            .chain(row.variants.iter().map(cell))
            .chain([row.threshold.clone(), row.meaning.clone()])
            .collect()
    });
    table(text, &per_variant("check", &["held against it", "what it means"]), rows);
    text.push('\n');
    if !panel.conditions.is_empty() {
        let rows = panel.conditions.iter();
        let rows =
            rows.map(|(name, values)| std::iter::once(name.clone()).chain(values.iter().cloned()).collect());
        table(text, &per_variant("condition", &[]), rows);
        text.push('\n');
    }
    let counters = |text: &mut String, title: &str, rows: &[CounterView]| {
        if !rows.is_empty() {
            let title = format!("{title}, growth in a run: median, smallest to largest");
            folded(text, &title, |text| {
                let rows = rows.iter().map(|row| {
                    std::iter::once(format!("`{}` ({})", row.name, row.of))
                        .chain(row.values.iter().cloned())
                        .collect()
                });
                cut_table(text, &per_variant("counter", &[]), rows.collect());
            });
        }
    };
    counters(text, "Counters of NIC and network", &panel.counters);
    counters(text, "Counters of the host", &panel.host_counters);
}

/// A table that may be long: its first rows, and how many there are.
fn cut_table(text: &mut String, header: &[&str], rows: Vec<Vec<String>>) {
    let all = rows.len();
    table(text, header, rows.into_iter().take(MOST_ROWS));
    if all > MOST_ROWS {
        let _ = write!(text, "\nand {} more, in the JSON report.\n", all - MOST_ROWS);
    }
    text.push('\n');
}

fn list(text: &mut String, sentences: &[String]) {
    for sentence in sentences {
        let _ = writeln!(text, "- {}", escaped(sentence));
    }
    text.push('\n');
}

fn facts(text: &mut String, view: &View) {
    text.push_str("## Parameters and environment\n\n");
    for group @ FactGroup { title, rows } in &view.facts {
        let summary = format!("{title}: {} values, {} differ", rows.len(), group.differing());
        folded(text, &summary, |text| {
            fact_table(text, view, rows.iter());
            text.push('\n');
        });
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

pub(super) fn table(text: &mut String, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
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
pub(super) fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}
