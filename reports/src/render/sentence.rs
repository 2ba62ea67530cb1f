//! The verdict in one sentence.

use std::collections::BTreeMap;

use crate::compare::{CampaignVerdict, Cell, Comparison, Effect, Verdict};

use super::{number, words};

/// The verdict in plain words, with its number, interval and n; what is simulated says so.
pub fn sentence(comparison: &Comparison) -> String {
    let mut text = format!("{}: {}.", words::campaign_verdict(comparison.verdict), claim(comparison));
    if !comparison.finished {
        text.push_str(" The campaign is unfinished.");
    }
    if !comparison.simulated.is_empty() {
        text.push_str(&format!(" Simulated: {}.", comparison.simulated.join("; ")));
    }
    text
}

/// The same without the verdict's name and without what is added to it.
pub(super) fn claim(comparison: &Comparison) -> String {
    let gates: Vec<&Cell> = comparison.gates().collect();
    let Some(telling) = telling(&gates, comparison.verdict) else {
        return "nothing was measured that could be judged".into();
    };
    let claim = gate(telling, comparison);
    if gates.len() == 1 { claim } else { format!("{}; {claim}", tally(&gates)) }
}

/// Of the gates that made the verdict, the one with the largest effect.
fn telling<'c>(gates: &[&'c Cell], verdict: CampaignVerdict) -> Option<&'c Cell> {
    let size = |cell: &Cell| cell.effect.map_or(0.0, |effect| effect.change.ln_1p().abs());
    let made_it = |cell: &&&Cell| words::verdict(&cell.verdict) == words::campaign_verdict(verdict);
    gates.iter().filter(made_it).max_by(|a, b| size(a).total_cmp(&size(b))).copied()
}

/// `3 of 4 gates improved, 1 equivalent`.
fn tally(gates: &[&Cell]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in gates {
        *counts.entry(words::verdict(&cell.verdict)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let counts = counts.iter().map(|(word, count)| format!("{count} {}", word.to_lowercase()));
    format!("of {} gates {}", gates.len(), counts.collect::<Vec<_>>().join(", "))
}

/// What one gate says.
pub(super) fn gate(cell: &Cell, comparison: &Comparison) -> String {
    let subject = words::subject(cell);
    let numbers = cell.effect.as_ref().map(|effect| interval(effect, comparison));
    match (&cell.verdict, &cell.effect, numbers) {
        (Verdict::Improved | Verdict::Regressed, Some(effect), Some(numbers)) => {
            let (verb, size) = moved(effect.change);
            format!("{} {verb} {subject} by {size} ({numbers})", cell.candidate)
        }
        (Verdict::Negligible, Some(effect), Some(numbers)) => {
            let (verb, size) = moved(effect.change);
            let margin = number::margin(cell.margin);
            format!(
                "{} {verb} {subject} by {size} ({numbers}), within the margin of {margin}",
                cell.candidate
            )
        }
        (Verdict::Equivalent, Some(_), Some(numbers)) => {
            let (candidate, baseline) = (&cell.candidate, &comparison.baseline);
            let margin = number::margin(cell.margin);
            format!(
                "{subject} is the same under {candidate} as under {baseline}, within {margin} ({numbers})"
            )
        }
        (Verdict::Invalid | Verdict::CouldNotRun, ..) => no_runs(cell, comparison),
        (Verdict::Unstable { .. }, ..) => {
            format!("{}, for {subject}; nothing can be claimed", words::remark(cell))
        }
        (_, Some(effect), Some(numbers)) => {
            let change = number::change(effect.change);
            format!("{change} on {subject} under {} ({numbers}); {}", cell.candidate, words::remark(cell))
        }
        _ => format!("{subject} under {}: {}", cell.candidate, words::remark(cell)),
    }
}

fn moved(change: f64) -> (&'static str, String) {
    (if change < 0.0 { "lowered" } else { "raised" }, number::percent(change.abs()))
}

/// `95% interval +1.0% to +2.0%, n = 10 pairs`.
pub(super) fn interval(effect: &Effect, comparison: &Comparison) -> String {
    format!(
        "{} interval {} to {}, n = {}",
        number::margin(1.0 - comparison.alpha),
        number::change(effect.low),
        number::change(effect.high),
        number::counted(effect.pairs, "pair")
    )
}

fn no_runs(cell: &Cell, comparison: &Comparison) -> String {
    let ours = |variant: &str| variant == cell.candidate || variant == comparison.baseline;
    let first = comparison.unusable.iter().find(|run| run.workload == cell.workload && ours(&run.variant));
    let subject = words::subject(cell);
    match first {
        Some(run) => {
            let (sequence, variant, reason) = (run.sequence, &run.variant, &run.reason);
            format!("{subject} under {}: run {sequence} ({variant}) {reason}", cell.candidate)
        }
        None => format!("{subject} under {}: {}", cell.candidate, words::remark(cell)),
    }
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
        assert!(text.starts_with("Improved: deep raised bandwidth of write at 64Ki by 50."), "{text}");
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
    fn simulated_results_say_so() {
        let comparison = compare(&Sample::default().campaign(), &CompareOptions::default());
        assert!(sentence(&comparison).ends_with("Simulated: soft (model latency=2us,ack_latency=2us,jitter=exponential:200ns,rate=100Gbps,seed=1)."),
            "{}", sentence(&comparison));
    }
}
