//! The verdict in one sentence.

use std::collections::BTreeMap;

use crate::compare::{Asks, CampaignVerdict, Cell, Comparison, Effect, Verdict};

use super::{
    change::{self, Written},
    number, words,
};

/// The verdict in plain words, with its number, interval and n; what is simulated says so.
pub fn sentence(comparison: &Comparison) -> String {
    let mut text = said(comparison);
    if !comparison.simulated.is_empty() {
        text.push_str(&format!(" Simulated: {}.", comparison.simulated.join("; ")));
    }
    text
}

/// The same without the label of simulation, for views that have a line of its own for it.
pub(super) fn said(comparison: &Comparison) -> String {
    let mut text = format!("{}: {}.", words::campaign_verdict(comparison.verdict), claim(comparison));
    if !comparison.finished {
        text.push_str(" The campaign is unfinished.");
    }
    if comparison.pruned_runs > 0 {
        let runs = number::counted(comparison.pruned_runs, "run");
        text.push_str(&format!(" The evidence of {runs} was pruned; their numbers are kept."));
    }
    text
}

/// That line; none with real devices.
pub(super) fn simulated(comparison: &Comparison) -> Option<String> {
    let labels = comparison.simulated.join("; ");
    (!labels.is_empty()).then(|| format!("SIMULATED, no network was measured: {labels}."))
}

/// The same without the verdict's name and without what is added to it.
pub(super) fn claim(comparison: &Comparison) -> String {
    let gates: Vec<&Cell> = comparison.gates().collect();
    let Some(telling) = telling(&gates, comparison.verdict) else {
        return "nothing was measured that could be judged".into();
    };
    let claim = gate(telling, comparison);
    match gates.len() {
        1 => claim,
        _ if telling.asks == Asks::Factor && is_said(&telling.verdict) => {
            let one_question = comparison.rankings.len() == 1;
            format!("{claim}; {}", other_factors(&gates, telling, one_question))
        }
        _ => format!("{}; above all, {claim}", tally(&gates, telling)),
    }
}

/// Of the gates that made the verdict, the one with the largest effect.
fn telling<'c>(gates: &[&'c Cell], verdict: CampaignVerdict) -> Option<&'c Cell> {
    let size = |cell: &Cell| cell.effect.map_or(0.0, |effect| effect.change.ln_1p().abs());
    let made_it = |cell: &&&Cell| words::verdict(&cell.verdict) == words::campaign_verdict(verdict);
    gates.iter().filter(made_it).max_by(|a, b| size(a).total_cmp(&size(b))).copied()
}

/// `3 of 4 gates improved, 1 equivalent`: what made the verdict first.
fn tally(gates: &[&Cell], telling: &Cell) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in gates {
        *counts.entry(words::verdict(&cell.verdict)).or_default() += 1;
    }
    let word = words::verdict(&telling.verdict);
    let made_it = counts.remove(word).unwrap_or(0);
    if counts.is_empty() {
        return format!("all {made_it} gates {}", word.to_lowercase());
    }
    let others: String =
        counts.iter().map(|(word, count)| format!(", {count} {}", word.to_lowercase())).collect();
    format!("{made_it} of {} gates {}{others}", gates.len(), word.to_lowercase())
}

/// Whether a verdict says something of its factor, so that the others are worth a word.
fn is_said(verdict: &Verdict) -> bool {
    !matches!(verdict, Verdict::CouldNotRun | Verdict::Invalid | Verdict::Unstable { .. })
}

/// `of the other 3 factors, 2 make no difference that matters, 1 cannot be told`.
fn other_factors(gates: &[&Cell], telling: &Cell, one_question: bool) -> String {
    const SAYS: [(&[&str], &str, &str); 5] = [
        (&["Improved"], "makes it better", "make it better"),
        (&["Regressed"], "makes it worse", "make it worse"),
        (
            &["Equivalent", "Negligible"],
            "makes no difference that matters",
            "make no difference that matters",
        ),
        (&["Inconclusive"], "cannot be told", "cannot be told"),
        (&["Unstable", "Invalid", "Could not run"], "could not be judged", "could not be judged"),
    ];
    let others: Vec<&str> = gates
        .iter()
        .filter(|cell| !std::ptr::eq(**cell, telling))
        .map(|cell| words::verdict(&cell.verdict))
        .collect();
    let say = |count: usize, one: &'static str, several: &'static str| if count == 1 { one } else { several };
    let says: Vec<(usize, &str)> = SAYS
        .iter()
        .map(|(verdicts, one, several)| {
            let count = others.iter().filter(|verdict| verdicts.contains(verdict)).count();
            (count, say(count, one, several))
        })
        .filter(|(count, _)| *count > 0)
        .collect();
    let noun = if one_question { "factor" } else { "gate" };
    match &says[..] {
        [(1, all)] => format!("the other {noun} {all}"),
        [(count, all)] => format!("the other {count} {noun}s {all}"),
        several => {
            let each: Vec<String> = several.iter().map(|(count, says)| format!("{count} {says}")).collect();
            format!("of the other {} {noun}s, {}", others.len(), each.join(", "))
        }
    }
}

/// What one gate says.
fn gate(cell: &Cell, comparison: &Comparison) -> String {
    let (subject, candidate, remark) = (words::subject(cell), &cell.candidate, words::remark(cell));
    let Some(effect) = &cell.effect else { return without_effect(cell, comparison) };
    let numbers = interval(cell, effect, comparison);
    let margin = number::margin(cell.margin);
    match &cell.verdict {
        Verdict::Invalid | Verdict::CouldNotRun => without_effect(cell, comparison),
        Verdict::Unstable { .. } => format!("{remark}, for {subject}; nothing can be claimed"),
        Verdict::Equivalent => {
            let other = match cell.asks {
                Asks::Variant => format!("with {}", comparison.baseline),
                Asks::Factor | Asks::Interaction => "without it".to_owned(),
            };
            format!("{subject} is the same with {candidate} as {other}, within {margin} ({numbers})")
        }
        Verdict::Inconclusive { .. } | Verdict::Exploratory => {
            let change = Written::of(effect, cell.margin).change;
            format!("with {candidate}, {subject} changed by {change} ({numbers}), but {remark}")
        }
        Verdict::Negligible => {
            format!("{} ({numbers}), which is within the margin of {margin}", moved(cell, effect))
        }
        Verdict::Improved | Verdict::Regressed => {
            let aliases = words::aliases(cell).map(|aliases| format!(", but {aliases}"));
            format!("{} ({numbers}){}", moved(cell, effect), aliases.unwrap_or_default())
        }
    }
}

fn moved(cell: &Cell, effect: &Effect) -> String {
    let verb = if effect.change < 0.0 { "fell" } else { "rose" };
    let size = change::unsigned(effect.change, (effect.high - effect.low) / 2.0, cell.margin);
    format!("with {}, {} {verb} by {size}", cell.candidate, words::subject(cell))
}

/// `95% interval +1.0% to +2.0%, n = 10 pairs`.
fn interval(cell: &Cell, effect: &Effect, comparison: &Comparison) -> String {
    let Written { low, high, .. } = Written::of(effect, cell.margin);
    format!(
        "{} {low} to {high}, n = {}",
        words::interval_name(comparison),
        number::counted(effect.pairs, words::unit(cell))
    )
}

/// Why there is nothing to say about a gate: the first run that was lost to it.
fn without_effect(cell: &Cell, comparison: &Comparison) -> String {
    let ours = |variant: &str| {
        cell.asks != Asks::Variant || variant == cell.candidate || variant == comparison.baseline
    };
    let first = comparison.unusable.iter().find(|run| run.workload == cell.workload && ours(&run.variant));
    let why = match first {
        Some(run) => format!("run {} ({}): {}", run.number(), run.variant, run.reason),
        None => words::remark(cell),
    };
    format!("with {}, {} could not be judged: {why}", cell.candidate, words::subject(cell))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompareOptions, compare, testing::Sample};

    fn said(sample: &Sample) -> String {
        let mut comparison = compare(&sample.campaign(), &CompareOptions::default());
        comparison.simulated.clear();
        sentence(&comparison)
    }

    #[test]
    fn a_sentence_has_number_interval_and_n() {
        let text = said(&Sample::default());
        assert!(text.starts_with("Improved: with deep, bandwidth of write at 64 KiB rose by 50."), "{text}");
        assert!(text.contains("(95% interval +49.") && text.ends_with("n = 10 pairs)."), "{text}");
    }

    #[test]
    fn too_few_pairs_say_how_many_it_takes() {
        let text = said(&Sample { blocks: 4, ..Sample::default() });
        assert!(
            text.starts_with("Inconclusive: ") && text.contains("only 4 usable pairs; it takes 6 pairs"),
            "{text}"
        );
    }

    #[test]
    fn an_unstable_campaign_claims_nothing() {
        let text = said(&Sample { control: 1.05, ..Sample::default() });
        assert!(text.starts_with("Unstable: the baseline differs from itself by +"), "{text}");
        assert!(text.ends_with("nothing can be claimed."), "{text}");
    }

    #[test]
    fn of_factors_the_one_that_tells_comes_first_and_the_others_are_counted() {
        let campaign = crate::testing::named("factors").unwrap();
        let mut comparison = compare(&campaign, &CompareOptions::default());
        comparison.simulated.clear();
        assert_eq!(
            sentence(&comparison),
            "Improved: with deep, bandwidth of write at 64 KiB rose by 13.0% (95% interval +12.7% to +13.3%, n = 12 blocks); \
             the other 3 factors make no difference that matters."
        );
        comparison.cells[0].aliases = vec!["list x pause".into()];
        let pause = comparison.cells.iter_mut().find(|cell| cell.gated && cell.candidate == "pause").unwrap();
        pause.verdict = Verdict::Regressed;
        comparison.verdict = CampaignVerdict::Regressed;
        assert!(
            sentence(&comparison)
                .ends_with("; of the other 3 factors, 1 makes it better, 2 make no difference that matters."),
            "{}",
            sentence(&comparison)
        );
        comparison.verdict = CampaignVerdict::Improved;
        assert!(sentence(&comparison).contains("), but in this design it cannot be told from list x pause;"));
    }

    #[test]
    fn simulated_results_say_so() {
        let comparison = compare(&Sample::default().campaign(), &CompareOptions::default());
        assert!(sentence(&comparison).ends_with("Simulated: soft (model latency=2us, ack_latency=2us, jitter=exponential:200ns, rate=100Gbps, seed=1)."),
            "{}", sentence(&comparison));
    }
}
