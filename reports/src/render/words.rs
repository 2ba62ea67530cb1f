//! The words for verdicts, metrics and doubts: the same in every view.

use schema::{Bytes, LatencyKind, Metric, Stopped, Test};

use crate::compare::{
    Asks, CampaignVerdict, Cell, Comparison, ControlFailure, Doubt, Flag, Looks, Method, Step, Verdict,
};

use super::{change::Written, number};

/// The verdict of a campaign in one word or two.
pub(super) fn campaign_verdict(verdict: CampaignVerdict) -> &'static str {
    match verdict {
        CampaignVerdict::CouldNotRun => "Could not run",
        CampaignVerdict::Invalid => "Invalid",
        CampaignVerdict::Unstable => "Unstable",
        CampaignVerdict::Regressed => "Regressed",
        CampaignVerdict::Inconclusive => "Inconclusive",
        CampaignVerdict::Improved => "Improved",
        CampaignVerdict::Negligible => "Negligible",
        CampaignVerdict::Equivalent => "Equivalent",
    }
}

/// The verdict of a cell in one word or two.
pub(super) fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::CouldNotRun => "Could not run",
        Verdict::Invalid => "Invalid",
        Verdict::Unstable { .. } => "Unstable",
        Verdict::Regressed => "Regressed",
        Verdict::Inconclusive { .. } => "Inconclusive",
        Verdict::Improved => "Improved",
        Verdict::Negligible => "Negligible",
        Verdict::Equivalent => "Equivalent",
        Verdict::Exploratory => "Not a gate",
    }
}

/// What a metric is called in a sentence.
pub(super) fn metric(metric: Metric, test: Test) -> String {
    match (metric, test) {
        (Metric::Bandwidth, _) => "bandwidth".into(),
        (Metric::MessageRate, _) => "message rate".into(),
        (quantile, Test::Latency) => format!("{quantile} latency"),
        (quantile, Test::Bandwidth) => format!("{quantile} latency under load"),
    }
}

/// What a metric is called in a narrow place.
pub(super) fn short_metric(metric: Metric) -> String {
    metric.to_string().replace('_', " ")
}

/// What a latency spans.
pub(super) fn latency(kind: LatencyKind) -> String {
    match kind {
        LatencyKind::PostToCompletion => "Latency from post to completion under load".into(),
        LatencyKind::IntendedToCompletion => {
            "Latency from the time the schedule intended to completion, under load".into()
        }
        kind => format!("Latency ({kind})"),
    }
}

/// With a capital first letter, unless it starts with the name of a quantile.
pub(super) fn capitalised(text: &str) -> String {
    if text.starts_with('p') && text[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What a cell is about: `bandwidth of write at 64Ki`.
pub(super) fn subject(cell: &Cell) -> String {
    subject_of(cell.metric, cell.test, &cell.workload, cell.msg_bytes)
}

/// What a question is about.
pub(super) fn subject_of(of: Metric, test: Test, workload: &str, msg_bytes: Bytes) -> String {
    format!("{} of {workload} at {}", metric(of, test), number::size(msg_bytes))
}

/// What a cell has one number of: baseline and candidate are a pair, all runs of a factor a block.
pub(super) fn unit(cell: &Cell) -> &'static str {
    match cell.asks {
        Asks::Variant => "pair",
        Asks::Factor | Asks::Interaction => "block",
    }
}

/// What the design can't tell a factor or an interaction from; none where it can.
pub(super) fn aliases(cell: &Cell) -> Option<String> {
    let others = cell.aliases.join(" or ");
    (!cell.aliases.is_empty()).then(|| format!("in this design it cannot be told from {others}"))
}

/// What stands behind a verdict beside the numbers; empty when they say it all.
pub(super) fn remark(cell: &Cell) -> String {
    match &cell.verdict {
        Verdict::Inconclusive { doubt, pairs_needed } => {
            let doubt = self::doubt(doubt);
            match (settles(cell, *pairs_needed), doubt.is_empty()) {
                (None, _) => doubt,
                (Some(settles), true) => settles,
                (Some(settles), false) => format!("{doubt}; {settles}"),
            }
        }
        Verdict::Unstable { control } => control_failure(cell, *control),
        Verdict::Invalid => "it rests on a run that is physically impossible".into(),
        Verdict::CouldNotRun => "no pair is usable: its runs failed, were skipped or are invalid".into(),
        _ => String::new(),
    }
}

fn settles(cell: &Cell, pairs_needed: Option<u32>) -> Option<String> {
    let wide = matches!(
        cell.verdict,
        Verdict::Inconclusive { doubt: Doubt::WideInterval | Doubt::NotSureEnough { .. }, .. }
    );
    let unit = unit(cell);
    match pairs_needed {
        Some(pairs) if wide => Some(format!("about {} would settle it", number::counted(pairs, unit))),
        Some(pairs) => Some(format!("it takes {} or more", number::counted(pairs, unit))),
        None if wide => Some(format!(
            "no practical number of {unit}s would settle it: lower the noise or widen the margin"
        )),
        None => None,
    }
}

fn doubt(doubt: &Doubt) -> String {
    match doubt {
        Doubt::TooFewPairs { have, .. } => format!("only {}", number::counted(*have, "usable pair")),
        Doubt::TooFewControls { have, .. } => format!("only {}", number::counted(*have, "usable A/A pair")),
        Doubt::WideInterval => "the interval reaches across the margin".into(),
        Doubt::NotSureEnough { level } => {
            format!(
                "it is past the margin, and to say so of a factor takes p below {}",
                number::p_value(*level)
            )
        }
        Doubt::NotAgainstControl => {
            "past the margin against the first baseline run of each block, and not for sure against the second".into()
        }
        Doubt::TooFewSamples { beyond, least } => format!(
            "only {} samples of a run lie beyond the quantile, {least} are needed: measure longer",
            number::three_digits(*beyond)
        ),
        Doubt::NeverGated => "p99.99 is reported, never gated".into(),
    }
}

fn control_failure(cell: &Cell, failure: ControlFailure) -> String {
    let moved = |step: &Option<Step>, what: &str| {
        step.map_or_else(String::new, |step| {
            let (change, p) = (number::change(step.change), number::p_value(step.p_adjusted));
            format!("{what} moved by {change} at block {} (p {p})", step.block + 1)
        })
    };
    let apart = |held_against: f64| {
        cell.control.as_ref().map_or_else(String::new, |control| Written::of(control, held_against).change)
    };
    // Held against half the margin, or a quarter of it; the side of neither may be lost in rounding.
    match failure {
        ControlFailure::LevelMoved => moved(&cell.level_step, "the baseline itself"),
        ControlFailure::RatioMoved => moved(&cell.ratio_step, "what the candidate makes of the baseline"),
        ControlFailure::Significant => {
            let change = apart(cell.margin / 4.0);
            let p = cell.control.map_or(1.0, |control| control.p_adjusted);
            let p = number::p_value(p);
            format!("the baseline differs from itself by {change} (p {p}) in the A/A control")
        }
        ControlFailure::TooFarApart => {
            let change = apart(cell.margin / 2.0);
            let limit = number::margin(cell.control_limit);
            let why = match cell.asks {
                Asks::Variant => format!("half the margin ({limit})"),
                Asks::Factor | Asks::Interaction => format!("the {limit} that so many runs even out"),
            };
            format!("the baseline differs from itself by {change} in the A/A control, more than {why}")
        }
    }
}

/// What the intervals of a comparison are called: `95% interval`; at a look of a campaign that may stop early, wider ones.
pub(super) fn interval_name(comparison: &Comparison) -> String {
    let looks = comparison.looks.as_ref();
    let look = looks.and_then(|looks| looks.planned.get(looks.at? as usize));
    // To a tenth of a percent, so that nothing but the level is told.
    let sure = 1.0 - look.map_or(comparison.alpha, |look| look.level);
    format!("{} interval", number::margin((sure * 1000.0).round() / 1000.0))
}

/// How far a campaign that may stop early has looked, in a sentence.
pub(super) fn looks(looks: &Looks) -> String {
    let most = looks.planned.last().map_or(looks.blocks, |last| last.blocks);
    let at = looks.at.and_then(|at| Some((at, looks.planned.get(at as usize)?)));
    let mut text = match at {
        None => "Not yet looked at".to_owned(),
        Some((at, look)) => format!(
            "Look {} of {}, each gate tested at {}",
            at + 1,
            looks.planned.len(),
            number::p_value(look.level)
        ),
    };
    text.push_str(&format!("; {} of at most {most}", number::counted(looks.blocks, "block")));
    text.push_str(match looks.stopped {
        None => "",
        Some(Stopped::Decided) => "; stopped, since every gate is decided",
        Some(Stopped::BlocksSpent) => "; stopped, since all blocks are made",
        Some(Stopped::TimeSpent) => "; stopped, since its time is spent",
    });
    text
}

/// A flag in a sentence.
pub(super) fn flag(flag: Flag) -> String {
    match flag {
        Flag::NotStationary { runs, of } => {
            format!("{runs} of {of} runs drifted by more than 5% between their first and last third")
        }
        Flag::Autocorrelated { r } => {
            format!("successive pairs depend on each other (lag-1 autocorrelation {r:.2})")
        }
        Flag::MethodsDisagree { method, low, high } => {
            let holds = if low <= 0.0 && high >= 0.0 { "holds" } else { "does not hold" };
            format!(
                "methods disagree on whether there is a change: {}, {} to {}, {holds} no change",
                self::method(method),
                number::change(low),
                number::change(high)
            )
        }
    }
}

/// The interval of a method, in a sentence.
pub(super) fn method(method: Method) -> &'static str {
    match method {
        Method::HodgesLehmann => "the Hodges-Lehmann interval",
        Method::Bca => "the BCa bootstrap interval",
        Method::Studentised => "the studentised bootstrap interval",
        Method::MovingBlock => "the moving-block bootstrap interval",
        Method::Hierarchical => "the bootstrap interval over node pairs",
    }
}
