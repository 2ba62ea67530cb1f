//! From the runs of a block to what a factor brings, or what two bring together.

use schema::{Purpose, Variant};

use super::layout::{Layout, Term};
use crate::compare::{
    model::{DroppedPair, Pair},
    pairing::{Place, Runs, Subject},
};

/// One pair a block: a factor off and on; or what two factors would bring together if each brought what it brings alone, and
/// what they bring. A block that lacks a run has none, since what is left of it is not balanced.
pub(in crate::compare) fn contrasts(
    runs: &Runs<'_>,
    workload: &str,
    variants: &[Variant],
    (layout, term): (&Layout<'_>, Term),
    subject: Subject,
) -> (Vec<Pair>, Vec<DroppedPair>) {
    let (mut pairs, mut dropped) = (Vec::new(), Vec::new());
    for block in 0..runs.blocks() {
        let logarithm = |variant: &Variant| {
            let place = Place { workload, variant: &variant.name, purpose: Purpose::Measure };
            runs.number(place, subject, block).map(f64::ln)
        };
        match variants.iter().map(logarithm).collect::<Result<Vec<f64>, String>>() {
            Ok(logarithms) => pairs.push(pair(layout, term, block, &logarithms)),
            Err(reason) => dropped.push(DroppedPair { block, reason }),
        }
    }
    (pairs, dropped)
}

fn pair(layout: &Layout<'_>, term: Term, block: u32, logarithms: &[f64]) -> Pair {
    let (baseline, candidate) = match term {
        Term::Factor(factor) => {
            let column = layout.column(factor);
            let mean = |sign| mean_where(logarithms, |run| column[run] == sign);
            (mean(-1), mean(1))
        }
        Term::Interaction(one, other) => {
            let (one, other) = (layout.column(one), layout.column(other));
            let mean = |a, b| mean_where(logarithms, |run| one[run] == a && other[run] == b);
            (mean(1, -1) + mean(-1, 1) - mean(-1, -1), mean(1, 1))
        }
    };
    Pair { block, baseline: baseline.exp(), candidate: candidate.exp(), ln_ratio: candidate - baseline }
}

fn mean_where(values: &[f64], holds: impl Fn(usize) -> bool) -> f64 {
    let chosen = || values.iter().enumerate().filter(|(n, _)| holds(*n)).map(|(_, value)| value);
    chosen().sum::<f64>() / chosen().count() as f64
}
