//! From numbers to words: what a gate says, and what the gates say together.

use schema::{Direction, Metric};

use super::{
    CompareOptions,
    model::{CampaignVerdict, Cell, ControlFailure, Doubt, Effect, Unusable, Verdict},
    power, signflip,
};

/// Samples that must lie beyond a quantile, in every run, for a verdict on it.
pub(super) const GATE_TAIL_SAMPLES: f64 = 100.0;

/// What a verdict needs to know beside the cell.
pub(super) struct Evidence<'a> {
    /// Level, floor of pairs.
    pub(super) options: &'a CompareOptions,
    /// Gates in the family that is corrected for.
    pub(super) gates: u32,
    /// Why runs on either side, or of the control, count for nothing.
    pub(super) losses: Vec<Unusable>,
    /// Samples beyond the quantile in the run with the fewest; none for a metric that is no quantile, or without runs.
    pub(super) beyond: Option<f64>,
}

/// The verdict of a gate.
pub(super) fn of(cell: &Cell, evidence: &Evidence<'_>) -> Verdict {
    if evidence.losses.contains(&Unusable::Invalid) {
        return Verdict::Invalid;
    }
    if cell.metric == Metric::P99_99 {
        return Verdict::Inconclusive { doubt: Doubt::NeverGated, pairs_needed: None };
    }
    if let Some(beyond) = evidence.beyond.filter(|beyond| beyond + 1e-6 < GATE_TAIL_SAMPLES) {
        let doubt = Doubt::TooFewSamples { beyond, least: GATE_TAIL_SAMPLES };
        return Verdict::Inconclusive { doubt, pairs_needed: None };
    }
    if cell.pairs.is_empty() && !evidence.losses.is_empty() {
        return Verdict::CouldNotRun;
    }
    let least = evidence.options.min_pairs.max(2);
    match (enough(&cell.effect, least), enough(&cell.control, least)) {
        (Err(have), _) => lacking(Doubt::TooFewPairs { have, least }, evidence),
        (_, Err(have)) => lacking(Doubt::TooFewControls { have, least }, evidence),
        (Ok(effect), Ok(control)) => match control_failure(control, cell.margin, evidence.options.alpha) {
            Some(control) => Verdict::Unstable { control },
            None => settled(effect, cell, evidence),
        },
    }
}

fn enough(effect: &Option<Effect>, least: u32) -> Result<&Effect, u32> {
    let have = effect.as_ref().map_or(0, |effect| effect.pairs);
    effect.as_ref().filter(|effect| effect.pairs >= least).ok_or(have)
}

fn lacking(doubt: Doubt, evidence: &Evidence<'_>) -> Verdict {
    Verdict::Inconclusive { doubt, pairs_needed: Some(floor(evidence)) }
}

/// Fewer pairs than this cannot give a verdict, whatever they say.
fn floor(evidence: &Evidence<'_>) -> u32 {
    let level = evidence.options.alpha / f64::from(evidence.gates.max(1));
    evidence.options.min_pairs.max(signflip::fewest_pairs(level))
}

/// Whether baseline and baseline differ by so much that a finding past the margin could be made of it.
///
/// A quarter of the margin is too little for that, however significant: without this floor one sound campaign in twenty
/// would be called unstable.
pub(super) fn control_failure(control: &Effect, margin: f64, alpha: f64) -> Option<ControlFailure> {
    let apart = control.change.abs();
    if apart > margin / 2.0 {
        Some(ControlFailure::TooFarApart)
    } else if control.p_adjusted < alpha && apart > margin / 4.0 {
        Some(ControlFailure::Significant)
    } else {
        None
    }
}

fn settled(effect: &Effect, cell: &Cell, evidence: &Evidence<'_>) -> Verdict {
    let significant = effect.p_adjusted < evidence.options.alpha;
    let matters = effect.change.abs() > cell.margin;
    let within = effect.equivalence_low > -cell.margin && effect.equivalence_high < cell.margin;
    match (significant, matters) {
        (true, true) if is_better(effect.change, cell.metric) => Verdict::Improved,
        (true, true) => Verdict::Regressed,
        (true, false) => Verdict::Negligible,
        (false, _) if within => Verdict::Equivalent,
        (false, _) => Verdict::Inconclusive {
            doubt: Doubt::WideInterval,
            pairs_needed: pairs_needed(effect, cell.margin, evidence),
        },
    }
}

/// Whether a change is for the better.
pub(super) fn is_better(change: f64, metric: Metric) -> bool {
    match metric.direction() {
        Direction::HigherIsBetter => change > 0.0,
        Direction::LowerIsBetter => change < 0.0,
    }
}

/// Pairs in all that would settle it with probability [`power::POWER`]: that find an effect as large as the one seen or,
/// where that is within the margin, find one as large as the margin or show that there is none.
fn pairs_needed(effect: &Effect, margin: f64, evidence: &Evidence<'_>) -> Option<u32> {
    let (seen, margin) = (effect.change.ln_1p().abs(), margin.ln_1p());
    let level = evidence.options.alpha / f64::from(evidence.gates.max(1));
    let detect = power::pairs_to_detect(seen.max(margin) / effect.sd_ln, level, power::POWER)?;
    let equivalence = if seen < margin {
        power::pairs_to_show_equivalence(margin / effect.sd_ln, evidence.options.alpha, power::POWER)?
    } else {
        0
    };
    Some(detect.max(equivalence).max(floor(evidence)).max(effect.pairs + 1))
}

/// What the gates say together: the gravest of what any of them says. Without a gate there is no answer.
pub(super) fn of_campaign<'a>(gates: impl Iterator<Item = &'a Verdict>) -> CampaignVerdict {
    gates.map(alone).min().unwrap_or(CampaignVerdict::Inconclusive)
}

/// The answer of a campaign with this gate only.
fn alone(verdict: &Verdict) -> CampaignVerdict {
    match verdict {
        Verdict::CouldNotRun => CampaignVerdict::CouldNotRun,
        Verdict::Invalid => CampaignVerdict::Invalid,
        Verdict::Unstable { .. } => CampaignVerdict::Unstable,
        Verdict::Regressed => CampaignVerdict::Regressed,
        Verdict::Inconclusive { .. } | Verdict::Exploratory => CampaignVerdict::Inconclusive,
        Verdict::Improved => CampaignVerdict::Improved,
        Verdict::Negligible => CampaignVerdict::Negligible,
        Verdict::Equivalent => CampaignVerdict::Equivalent,
    }
}
