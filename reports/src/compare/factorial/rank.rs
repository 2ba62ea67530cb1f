//! Which factor brings most: the cells of a question by the size of their change, each with its share of what differs.

use schema::{Campaign, Purpose};

use super::layout::{Layout, Term};
use crate::compare::{
    model::{Asks, Cell, Ranked, Ranking},
    pairing::{Place, Runs, Subject},
};

/// A ranking for each workload, size and metric that a factor is gated on, in the order of the cells.
pub(in crate::compare) fn rankings(
    campaign: &Campaign,
    runs: &Runs<'_>,
    layout: &Layout<'_>,
    cells: &[Cell],
) -> Vec<Ranking> {
    let same =
        |a: &Cell, b: &Cell| (&a.workload, a.msg_bytes, a.metric) == (&b.workload, b.msg_bytes, b.metric);
    let mut firsts: Vec<&Cell> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.gated) {
        if !firsts.iter().any(|first| same(first, cell)) {
            firsts.push(cell);
        }
    }
    let ranking = |first: &&Cell| {
        let mut ours: Vec<&Cell> =
            cells.iter().filter(|cell| same(first, cell) && cell.asks != Asks::Variant).collect();
        ours.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let means = means(campaign, runs, first);
        let differs = means.as_deref().map(about_mean).filter(|squares| *squares > 0.0);
        let ranked: Vec<Ranked> =
            ours.iter().map(|cell| rank(cell, layout, means.as_deref(), differs)).collect();
        let accounted: f64 = ranked.iter().filter_map(|ranked| ranked.share).sum();
        Ranking {
            workload: first.workload.clone(),
            test: first.test,
            msg_bytes: first.msg_bytes,
            metric: first.metric,
            ranked,
            rest_share: differs.map(|_| (1.0 - accounted).max(0.0)),
        }
    };
    firsts.iter().map(ranking).collect()
}

fn rank(cell: &Cell, layout: &Layout<'_>, means: Option<&[f64]>, differs: Option<f64>) -> Ranked {
    let term = layout.terms().into_iter().find(|term| layout.name(*term) == cell.candidate);
    let two = match (term, means) {
        (Some(Term::Interaction(one, other)), Some(means)) => Some(two_by_two(layout, one, other, means)),
        _ => None,
    };
    let share = cell.effect.zip(differs).map(|(effect, differs)| {
        // Of an interaction the change is twice its contrast.
        let contrast = effect.change.ln_1p() / if cell.asks == Asks::Interaction { 2.0 } else { 1.0 };
        f64::from(layout.runs()) / 4.0 * contrast * contrast / differs
    });
    Ranked { candidate: cell.candidate.clone(), asks: cell.asks, share, means: two }
}

/// How far a change is from nothing; below everything where there is none.
fn size(cell: &Cell) -> f64 {
    cell.effect.map_or(-1.0, |effect| effect.change.ln_1p().abs())
}

/// Mean logarithm of each combination over the blocks that the cell uses; none without such a block.
fn means(campaign: &Campaign, runs: &Runs<'_>, cell: &Cell) -> Option<Vec<f64>> {
    let subject = Subject { msg_bytes: cell.msg_bytes, metric: cell.metric };
    let mean = |variant: &schema::Variant| {
        let place = Place { workload: &cell.workload, variant: &variant.name, purpose: Purpose::Measure };
        let numbers = cell.pairs.iter().filter_map(|pair| runs.number(place, subject, pair.block).ok());
        numbers.map(f64::ln).sum::<f64>() / cell.pairs.len() as f64
    };
    (!cell.pairs.is_empty()).then(|| campaign.variants.iter().map(mean).collect())
}

/// Sum of squares about the mean.
fn about_mean(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Geometric means of the combinations with neither, the one, the other and both on.
fn two_by_two(layout: &Layout<'_>, one: usize, other: usize, means: &[f64]) -> [f64; 4] {
    [(-1, -1), (1, -1), (-1, 1), (1, 1)].map(|signs| {
        let here = |run: &usize| (layout.column(one)[*run], layout.column(other)[*run]) == signs;
        let chosen: Vec<f64> = (0..means.len()).filter(here).map(|run| means[run]).collect();
        (chosen.iter().sum::<f64>() / chosen.len() as f64).exp()
    })
}
