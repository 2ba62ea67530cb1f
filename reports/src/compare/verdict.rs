//! From numbers to words: what a gate says, and what the gates say together.

use schema::{Direction, Metric};

use super::{
    CompareOptions,
    levels::Levels,
    model::{Asks, CampaignVerdict, Cell, ControlFailure, Doubt, Effect, Step, Unusable, Verdict},
    power, signflip, steadiness,
};

/// Samples that must lie beyond a quantile, in every run, for a verdict on it.
pub(super) const GATE_TAIL_SAMPLES: f64 = 100.0;

/// Below this p a series of blocks is said to have moved. There are two series, so that a steady machine is said to have moved less often
/// than once in a hundred campaigns.
const MOVED: f64 = 0.005;

/// What it takes to say something of a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rule {
    /// Share of the level below which p must be to claim a change past the margin.
    pub(super) claim_share: f64,
    /// How many times as noisy the control is as what is compared.
    control_noise: f64,
}

impl Rule {
    /// A candidate against the baseline of its block; the control is a pair as well.
    pub(super) fn of_pairs() -> Self {
        Rule { claim_share: 1.0, control_noise: 1.0 }
    }

    /// A factor over all runs of a block. Half of them against the other half is `sqrt(runs / 2)` times as steady as one run against
    /// another, so the control may stray that much further; and since it then vouches for less, a claim takes a fifth of the level,
    /// which by itself keeps false ones at 1 %.
    pub(super) fn of_factors(runs: u32) -> Self {
        Rule { claim_share: 0.2, control_noise: (f64::from(runs) / 2.0).sqrt() }
    }

    /// The control may differ by this share.
    pub(super) fn control_limit(self, margin: f64) -> f64 {
        self.control_noise * margin / 2.0
    }
}

/// What a verdict needs to know beside the cell.
pub(super) struct Evidence<'a> {
    /// Floor of pairs, and the level at which controls are tested.
    pub(super) options: &'a CompareOptions,
    /// The levels of this look.
    pub(super) levels: Levels,
    /// What a claim takes.
    pub(super) rule: Rule,
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
        (Ok(effect), Ok(control)) => {
            let failure = control_failure(control, cell.control_limit, evidence.options.alpha);
            match failure.or_else(|| moved(cell)) {
                Some(control) => Verdict::Unstable { control },
                None => settled(effect, cell, evidence),
            }
        }
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
    let level = evidence.claim_level() / f64::from(evidence.gates.max(1));
    evidence.options.min_pairs.max(signflip::fewest_pairs(level))
}

impl Evidence<'_> {
    /// The corrected p below which a change past the margin is claimed.
    fn claim_level(&self) -> f64 {
        self.levels.difference * self.rule.claim_share
    }
}

/// Whether baseline and baseline differ by so much that a finding past the margin could be made of it.
///
/// Half the limit, a quarter of the margin between pairs, is too little for that, however significant: without this floor one sound campaign in twenty
/// would be called unstable.
pub(super) fn control_failure(control: &Effect, limit: f64, alpha: f64) -> Option<ControlFailure> {
    let apart = control.change.abs();
    if apart > limit {
        Some(ControlFailure::TooFarApart)
    } else if control.p_adjusted < alpha && apart > limit / 2.0 {
        Some(ControlFailure::Significant)
    } else {
        None
    }
}

/// Whether the machine was another one from some block on.
///
/// A pair cancels what both its runs share, so a small drift of the level does no harm. A large one says that two machines were
/// measured, and that their mean is neither: as large as what a single run is held to, and as the margin.
fn moved(cell: &Cell) -> Option<ControlFailure> {
    let beyond = |step: &Option<Step>, least: f64| {
        step.is_some_and(|step| step.p_adjusted < MOVED && step.change.ln_1p().abs() > least.ln_1p())
    };
    if beyond(&cell.level_step, cell.margin.max(steadiness::DRIFT)) {
        Some(ControlFailure::LevelMoved)
    } else if beyond(&cell.ratio_step, cell.margin) {
        Some(ControlFailure::RatioMoved)
    } else {
        None
    }
}

fn settled(effect: &Effect, cell: &Cell, evidence: &Evidence<'_>) -> Verdict {
    let significant = effect.p_adjusted < evidence.levels.difference;
    let matters = effect.change.abs() > cell.margin;
    let within = effect.is_within(cell.margin);
    let needed = || pairs_needed(effect, cell.margin, evidence);
    match (significant, matters) {
        (true, true) if effect.p_adjusted >= evidence.claim_level() => Verdict::Inconclusive {
            doubt: Doubt::NotSureEnough { level: evidence.claim_level() },
            pairs_needed: needed(),
        },
        (true, true) if !holds_against_control(effect, cell, evidence.levels) => {
            Verdict::Inconclusive { doubt: Doubt::NotAgainstControl, pairs_needed: needed() }
        }
        (true, true) if is_better(effect.change, cell.metric) => Verdict::Improved,
        (true, true) => Verdict::Regressed,
        (true, false) if within => Verdict::Negligible,
        (false, _) if within => Verdict::Equivalent,
        // Significant or not, a change whose interval reaches past the margin may matter: of one a little past it, every other
        // estimate falls a little short of it.
        (true, false) | (false, _) => {
            Verdict::Inconclusive { doubt: Doubt::WideInterval, pairs_needed: needed() }
        }
    }
}

/// Whether the candidate differs from the second baseline run of each block as well, in the same direction.
///
/// The first runs stand on one side of every pair and of the control too: where they came out low by chance, candidate and control
/// are high together, and a control that passes vouches for nothing. Against the second runs the same chance does not work.
fn holds_against_control(effect: &Effect, cell: &Cell, levels: Levels) -> bool {
    match (cell.asks, &cell.against_control) {
        (Asks::Variant, Some(other)) => {
            other.p_adjusted < levels.difference && other.change.signum() == effect.change.signum()
        }
        (Asks::Variant, None) => false,
        (Asks::Factor | Asks::Interaction, _) => true,
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
    let level = evidence.claim_level() / f64::from(evidence.gates.max(1));
    let detect = power::pairs_for_signs_to_detect(seen.max(margin) / effect.sd_ln, level, power::POWER)?;
    let equivalence = if seen < margin {
        power::pairs_to_show_equivalence(margin / effect.sd_ln, evidence.levels.equivalence, power::POWER)?
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
