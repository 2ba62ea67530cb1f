//! Computes what a campaign says. Prints nothing, reads nothing, and gives the same answer every time.
//!
//! The replicate is a run, not a message: the spread within a run says how the messages differ, not how sure one may be.
//! `docs/measurement.md` explains the method; each file here is one step of it.

mod candidate;
mod correction;
mod cross_check;
mod detail;
mod effect;
mod evidence;
mod factorial;
mod forecast;
mod levels;
mod looks;
mod model;
mod multiplicity;
mod node_pair;
mod pairing;
mod power;
mod questions;
mod saddlepoint;
mod signflip;
mod spending;
mod stats;
mod steadiness;
mod verdict;

use schema::{Bytes, Campaign, CampaignState, Fabric, Purpose, SCHEMA_VERSION};

use candidate::Candidate;
pub use detail::{DETAILS, Detail};
pub use effect::{median, spread};
use factorial::Layout;
pub use factorial::design as factorial_design;
pub use forecast::{Assumed, Expected, Forecast};
use levels::Levels;
use looks::Standing;
pub use looks::planned_looks;
pub use model::*;
pub(crate) use multiplicity::benjamini_hochberg;
use pairing::{Place, Runs, Subject};
use questions::Question;
use stats::moving_block;
pub(crate) use stats::student::mean_and_sd;
pub use steadiness::level as interval_level;

/// How sure to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompareOptions {
    /// Significance level of all tests, after correction for their number.
    pub alpha: f64,
    /// No verdict with fewer pairs than this.
    pub min_pairs: u32,
}

impl Default for CompareOptions {
    fn default() -> Self {
        CompareOptions { alpha: 0.05, min_pairs: 6 }
    }
}

/// Pairs below which a campaign with this many gates can't find anything, whatever it measures.
pub fn fewest_pairs(gates: u32, options: &CompareOptions) -> u32 {
    options.min_pairs.max(signflip::fewest_pairs(options.alpha / f64::from(gates.max(1))))
}

/// The same where factors are asked: what is said of a factor takes a smaller p.
pub fn fewest_blocks_for_factors(gates: u32, options: &CompareOptions) -> u32 {
    let level = options.alpha * verdict::Rule::of_factors(2).claim_share;
    options.min_pairs.max(signflip::fewest_pairs(level / f64::from(gates.max(1))))
}

/// The first look at a campaign of `most` blocks that could find a difference in one of its gates, if all blocks agreed; none where even the
/// last could not. `fewest` is [`fewest_pairs`] or [`fewest_blocks_for_factors`].
pub fn first_useful_look(
    most: u32,
    fewest: fn(u32, &CompareOptions) -> u32,
    gates: u32,
    options: &CompareOptions,
) -> Option<u32> {
    let needed = |blocks: u32| {
        let spent = spending::spent(options.alpha, f64::from(blocks) / f64::from(most));
        fewest(gates, &CompareOptions { alpha: spent, ..*options })
    };
    (1..=most).find(|blocks| needed(*blocks) <= *blocks)
}

/// Compares every candidate with the baseline; where there are factors, what each of them brings.
pub fn compare(campaign: &Campaign, options: &CompareOptions) -> Comparison {
    let runs = Runs::of(campaign);
    let baseline = questions::baseline(campaign);
    let layout = Layout::of(&campaign.factors, &campaign.variants);
    let questions =
        baseline.map_or_else(Vec::new, |baseline| questions::questions(campaign, baseline, layout.as_ref()));
    let baseline = baseline.map_or_else(String::new, |baseline| baseline.name.clone());
    let gates = questions.iter().filter(|question| question.gated).count() as u32;
    let standing = Standing::of(campaign, options.alpha, gates);
    let options = &CompareOptions { min_pairs: options.min_pairs.max(standing.fewest_pairs), ..*options };
    let bench = Bench { campaign, options, levels: standing.levels, runs: &runs, baseline: &baseline };
    let cells = bench.judge(&questions, bench.fill(&questions));
    let rankings =
        layout.as_ref().map_or_else(Vec::new, |layout| factorial::rankings(campaign, &runs, layout, &cells));
    let verdict = verdict::of_campaign(cells.iter().filter(|cell| cell.gated).map(|cell| &cell.verdict));
    Comparison {
        schema_version: SCHEMA_VERSION,
        campaign_id: campaign.id,
        scenario: campaign.scenario.clone(),
        question: campaign.question.clone(),
        simulated: simulated(campaign),
        finished: campaign.state == CampaignState::Finished,
        alpha: options.alpha,
        verdict,
        looks: standing.looks,
        rankings,
        factorial: layout.as_ref().map(Layout::design),
        cells: cells.into_iter().filter(|cell| cell.gated || !cell.pairs.is_empty()).collect(),
        unusable: runs.unusable().cloned().collect(),
        pruned_runs: campaign.runs.iter().filter(|run| run.pruned_at_unix_ms.is_some()).count() as u32,
        evidence: evidence::summarise(campaign),
        baseline,
    }
}

fn simulated(campaign: &Campaign) -> Vec<String> {
    let mut labels = Vec::new();
    for run in campaign.runs.iter().filter(|run| run.record.fabric == Fabric::Soft) {
        if !labels.contains(&run.record.fabric_label) {
            labels.push(run.record.fabric_label.clone());
        }
    }
    labels
}

/// What all cells of a campaign share.
struct Bench<'c> {
    campaign: &'c Campaign,
    options: &'c CompareOptions,
    levels: Levels,
    runs: &'c Runs<'c>,
    baseline: &'c str,
}

impl Bench<'_> {
    /// Every cell with its pairs and effects, not yet corrected for their number and not yet judged.
    fn fill(&self, questions: &[Question<'_>]) -> Vec<Cell> {
        let mut cells: Vec<Cell> = questions.iter().map(|question| self.cell(question)).collect();
        correction::all(&mut cells);
        cells
    }

    fn judge(&self, questions: &[Question<'_>], mut cells: Vec<Cell>) -> Vec<Cell> {
        let gates = cells.iter().filter(|cell| cell.gated).count() as u32;
        for (question, cell) in questions.iter().zip(&mut cells).filter(|(question, _)| question.gated) {
            let places = self.places(question);
            let evidence = verdict::Evidence {
                options: self.options,
                rule: question.candidate.rule(),
                levels: self.levels,
                gates,
                losses: places.iter().flat_map(|place| self.runs.losses(*place)).collect(),
                beyond: self.samples_beyond(question, &places),
            };
            cell.verdict = verdict::of(cell, &evidence);
        }
        cells
    }

    fn place<'q>(&self, question: &'q Question<'_>, variant: &'q str, purpose: Purpose) -> Place<'q> {
        Place { workload: &question.workload.name, variant, purpose }
    }

    /// The runs that are compared: baseline and candidate, or all combinations.
    fn sides<'q>(&'q self, question: &'q Question<'_>) -> Vec<Place<'q>> {
        let names: Vec<&str> = match question.candidate {
            Candidate::Variant(candidate) => vec![self.baseline, &candidate.name],
            Candidate::Term { .. } => {
                self.campaign.variants.iter().map(|variant| variant.name.as_str()).collect()
            }
        };
        names.into_iter().map(|name| self.place(question, name, Purpose::Measure)).collect()
    }

    /// Everything a verdict rests on: the runs that are compared, and the control.
    fn places<'q>(&'q self, question: &'q Question<'_>) -> Vec<Place<'q>> {
        let mut places = self.sides(question);
        places.push(self.place(question, self.baseline, Purpose::Control));
        places
    }

    fn pairs(&self, question: &Question<'_>, subject: Subject) -> (Vec<Pair>, Vec<DroppedPair>) {
        match question.candidate {
            Candidate::Variant(candidate) => {
                let baseline = self.place(question, self.baseline, Purpose::Measure);
                self.runs.pairs(baseline, self.place(question, &candidate.name, Purpose::Measure), subject)
            }
            Candidate::Term { layout, term } => {
                let (workload, variants) = (&question.workload.name, &self.campaign.variants);
                factorial::contrasts(self.runs, workload, variants, (layout, term), subject)
            }
        }
    }

    fn cell(&self, question: &Question<'_>) -> Cell {
        let subject = Subject { msg_bytes: question.msg_bytes, metric: question.metric };
        let (pairs, dropped) = self.pairs(question, subject);
        let baseline = self.place(question, self.baseline, Purpose::Measure);
        let control = self.place(question, self.baseline, Purpose::Control);
        let (controls, _) = self.runs.pairs(baseline, control, subject);
        // Only a gate claims anything; a factor is asked of so many runs that one more baseline says little.
        let against_control = match question.candidate {
            Candidate::Variant(candidate) if question.gated => {
                let candidate = self.place(question, &candidate.name, Purpose::Measure);
                Some(self.runs.pairs(control, candidate, subject).0)
            }
            Candidate::Variant(_) | Candidate::Term { .. } => None,
        };
        let ask = effect::Ask {
            direction: question.metric.direction(),
            margin: question.margin,
            levels: self.levels,
            decides: question.gated,
            seed: self.campaign.design.seed,
        };
        let beside = effect::Ask { decides: false, ..ask };
        let node_pairs = |pairs: &[Pair]| self.runs.node_pairs(baseline, pairs);
        let effect = effect::of(&pairs, &node_pairs(&pairs), ask);
        let mut flags = self.flags(&self.sides(question), question.msg_bytes, &pairs);
        let enough = effect.iter().filter(|effect| effect.pairs >= self.options.min_pairs);
        flags.extend(enough.flat_map(effect::disagreements));
        Cell {
            workload: question.workload.name.clone(),
            test: question.test,
            msg_bytes: question.msg_bytes,
            candidate: question.candidate.name(),
            asks: question.candidate.asks(),
            aliases: question.candidate.aliases(),
            metric: question.metric,
            gated: question.gated,
            margin: question.margin,
            control_limit: question.candidate.rule().control_limit(question.margin),
            verdict: Verdict::Exploratory,
            effect,
            level_step: question.gated.then(|| steadiness::level_step(&controls)).flatten(),
            ratio_step: question.gated.then(|| steadiness::ratio_step(&pairs)).flatten(),
            control: effect::of(&controls, &node_pairs(&controls), beside),
            against_control: against_control
                .and_then(|pairs| effect::of(&pairs, &node_pairs(&pairs), beside)),
            baseline: effect::spread(pairs.iter().map(|pair| pair.baseline)),
            candidate_runs: effect::spread(pairs.iter().map(|pair| pair.candidate)),
            flags,
            pairs,
            dropped,
        }
    }

    fn flags(&self, sides: &[Place<'_>], msg_bytes: Bytes, pairs: &[Pair]) -> Vec<Flag> {
        let drifting = || sides.iter().map(|side| self.runs.drifting(*side, msg_bytes));
        let runs = drifting().map(|side| side.points).sum();
        let ln_ratios: Vec<f64> = pairs.iter().map(|pair| pair.ln_ratio).collect();
        let drift =
            (runs > 0).then(|| Flag::NotStationary { runs, of: drifting().map(|side| side.of).sum() });
        let enough = pairs.len() >= self.options.min_pairs as usize;
        let depends = enough.then(|| moving_block::depends(&ln_ratios)).flatten();
        drift.into_iter().chain(depends.map(|r| Flag::Autocorrelated { r })).collect()
    }

    /// Samples beyond the quantile in the run that has fewest.
    fn samples_beyond(&self, question: &Question<'_>, places: &[Place<'_>]) -> Option<f64> {
        let quantile = question.metric.quantile()?;
        places
            .iter()
            .flat_map(|place| self.runs.points(*place, question.msg_bytes))
            .map(|point| point.latency_ns.count as f64 * (1.0 - quantile))
            .min_by(f64::total_cmp)
    }
}
