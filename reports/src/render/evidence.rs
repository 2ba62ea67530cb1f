//! The panel "Did it take, did it stay, what else happened", in words: for the page, for Markdown and for the terminal.

use schema::{
    Side,
    evidence::{Level, Unit},
};

use super::{number, view::Badge, words};
use crate::compare::{CheckOfVariant, Comparison, CounterOfVariant, EvidenceSummary, TunedRow, Unusable};

/// Targets of a row that are named before the rest is counted.
const MOST_TARGETS: usize = 2;

/// The panel.
pub(super) struct EvidenceView {
    pub(super) tuned: Vec<TunedView>,
    pub(super) checks: Vec<CheckView>,
    /// Counters of the NIC and of the network stack.
    pub(super) counters: Vec<CounterView>,
    /// Counters of the host: deferred work, interrupts, memory.
    pub(super) host_counters: Vec<CounterView>,
    pub(super) conditions: Vec<(String, Vec<String>)>,
}

/// One row of what was tuned.
pub(super) struct TunedView {
    pub(super) variant: String,
    pub(super) side: String,
    pub(super) what: String,
    pub(super) targets: String,
    pub(super) old: String,
    pub(super) asked: String,
    pub(super) effective: String,
    pub(super) became: String,
}

/// One check.
pub(super) struct CheckView {
    pub(super) check: String,
    pub(super) of: String,
    /// Per variant: how it came out, and what was found.
    pub(super) variants: Vec<Option<(Badge, String)>>,
    pub(super) threshold: String,
    pub(super) meaning: String,
}

/// One counter.
pub(super) struct CounterView {
    pub(super) name: String,
    pub(super) of: String,
    pub(super) values: Vec<String>,
}

impl EvidenceView {
    pub(super) fn of(summary: &EvidenceSummary) -> Self {
        let (host, network): (Vec<_>, Vec<_>) =
            summary.counters.iter().partition(|row| is_of_the_host(&row.source));
        let counters = |rows: Vec<&crate::compare::CounterRow>| {
            let view = |row: &crate::compare::CounterRow| CounterView {
                name: row.name.clone(),
                of: format!("{}, {}{}", row.side, row.source, unit(row.unit)),
                values: row.variants.iter().map(|of| growth(of.as_ref(), row.unit)).collect(),
            };
            rows.into_iter().map(view).collect()
        };
        EvidenceView {
            tuned: summary.tuned.iter().map(tuned_view).collect(),
            checks: summary.checks.iter().map(check_view).collect(),
            counters: counters(network),
            host_counters: counters(host),
            conditions: summary
                .conditions
                .iter()
                .map(|row| (row.name.clone(), row.variants.iter().map(|values| values.join("; ")).collect()))
                .collect(),
        }
    }
}

/// Sources that are neither a NIC's nor the network stack's.
fn is_of_the_host(source: &str) -> bool {
    let kind = source.split(' ').next().unwrap_or_default();
    ["softirqs", "stat", "numastat", "thermal"].contains(&kind)
}

fn tuned_view(row: &TunedRow) -> TunedView {
    let item = if row.item.is_empty() { String::new() } else { format!(" {}", row.item) };
    let mut targets = row.targets.iter().take(MOST_TARGETS).cloned().collect::<Vec<_>>().join(", ");
    if row.targets.len() > MOST_TARGETS {
        targets.push_str(&format!(" and {} more", row.targets.len() - MOST_TARGETS));
    }
    TunedView {
        variant: row.variant.clone(),
        side: row.side.to_string(),
        what: format!("{}{item}", row.knob),
        targets,
        old: row.old.join("; "),
        asked: row.asked.clone(),
        effective: row.effective.join("; "),
        became: row.became.clone(),
    }
}

fn check_view(row: &crate::compare::CheckRow) -> CheckView {
    // Threshold and meaning are those of the worst; they may name what is a run's own.
    let worst = row.variants.iter().flatten().max_by_key(|of| of.worst);
    CheckView {
        check: row.check.clone(),
        of: side(row.side),
        variants: row.variants.iter().map(|of| of.as_ref().map(|of| (level(of.worst), found(of)))).collect(),
        threshold: worst.map(|of| of.threshold.clone()).unwrap_or_default(),
        meaning: worst.map(|of| of.meaning.clone()).unwrap_or_default(),
    }
}

fn side(side: Option<Side>) -> String {
    side.map_or_else(|| "both sides".to_owned(), |side| side.to_string())
}

fn found(of: &CheckOfVariant) -> String {
    let all = of.of_worst == of.runs;
    let how_many = if all {
        number::counted(of.runs, "run")
    } else {
        format!("{} of {}", of.of_worst, number::counted(of.runs, "run"))
    };
    format!("{how_many}; run {}: {}", of.example_number(), of.found)
}

/// Sign and colour class of a level, never by colour alone.
pub(super) fn level(level: Level) -> Badge {
    let (word, sign, class) = match level {
        Level::Pass => ("Pass", "✓", "good"),
        Level::Note => ("Note", "·", "same"),
        Level::Warn => ("Warning", "!", "open"),
        Level::Fail => ("Fail", "✕", "bad"),
    };
    Badge { word, sign, class }
}

fn unit(unit: Unit) -> String {
    match unit {
        Unit::Unknown => String::new(),
        Unit::Percent => ", % of the last second".to_owned(),
        unit => format!(", {unit}"),
    }
}

fn growth(of: Option<&CounterOfVariant>, unit: Unit) -> String {
    let Some(of) = of else { return "0".to_owned() };
    let whole = |value: f64| number::grouped(value.round().max(0.0) as u64);
    let mut text = match of.spread {
        None => String::new(),
        Some(spread) if spread.min == spread.max => whole(spread.median),
        Some(spread) => format!("{} ({} to {})", whole(spread.median), whole(spread.min), whole(spread.max)),
    };
    if unit != Unit::Percent && text != "0" && !text.is_empty() {
        text.insert(0, '+');
    }
    if of.untold > 0 {
        let gap = if text.is_empty() { "" } else { "; " };
        text.push_str(&format!("{gap}can't be told in {}", number::counted(of.untold, "run")));
    }
    text
}

/// A sentence on the runs that are invalid by their evidence; none without any.
pub(super) fn invalid(comparison: &Comparison) -> Option<String> {
    let excluded: Vec<_> = comparison.unusable.iter().filter(|run| run.kind == Unusable::Excluded).collect();
    let first = excluded.first()?;
    let count = number::counted(excluded.len() as u32, "run");
    let (is, counts) = if excluded.len() == 1 { ("is", "counts") } else { ("are", "count") };
    Some(format!(
        "{count} {is} invalid by the evidence and {counts} for nothing. Run {} ({}): {}{}",
        first.number(),
        first.variant,
        first.reason,
        if excluded.len() > 1 { "; and others." } else { "." }
    ))
}

/// What is off, a line each, for a terminal.
pub(super) fn lines(comparison: &Comparison) -> Vec<String> {
    /// Lines before the rest is left to the report.
    const MOST: usize = 8;
    let mut lines: Vec<String> = invalid(comparison).into_iter().collect();
    let Some(summary) = &comparison.evidence else { return lines };
    let off = summary.checks.iter().filter(|row| row.worst() >= Level::Warn);
    let mut details = off.flat_map(|row| {
        row.variants.iter().zip(&summary.variants).filter_map(move |(of, variant)| {
            let of = of.as_ref().filter(|of| of.worst >= Level::Warn)?;
            let word = level(of.worst).word.to_lowercase();
            Some(format!("{word}: {} ({}) under {variant}, {}", row.check, side(row.side), found(of)))
        })
    });
    lines.extend(details.by_ref().take(MOST));
    let rest = details.count();
    if rest > 0 {
        lines.push(format!(
            "{} more in the report",
            words::capitalised(&number::counted(rest as u32, "finding"))
        ));
    }
    lines
}
