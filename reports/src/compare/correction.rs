//! Which p-values are one family, and are corrected for their number together.

use std::collections::BTreeMap;

use schema::{Bytes, Metric};

use super::{
    model::{Cell, Effect},
    multiplicity::{benjamini_hochberg, holm},
};

/// Corrects the findings and the checks of the gates, each for their number, and what is not a gate for the number of those.
pub(super) fn all(cells: &mut [Cell]) {
    let (mut gates, mut others): (Vec<&mut Cell>, Vec<&mut Cell>) =
        cells.iter_mut().partition(|cell| cell.gated);
    correct(&mut gates, |cell| cell.effect.as_mut().map(of_effect), holm);
    correct(&mut gates, |cell| cell.against_control.as_mut().map(of_effect), holm);
    correct(&mut gates, |cell| cell.ratio_step.as_mut().map(|step| (step.p, &mut step.p_adjusted)), holm);
    correct(&mut others, |cell| cell.effect.as_mut().map(of_effect), benjamini_hochberg);
    share(cells, |cell| cell.control.as_mut().map(of_effect));
    share(cells, |cell| cell.level_step.as_mut().map(|step| (step.p, &mut step.p_adjusted)));
}

/// A p, and where its correction goes.
type Of = fn(&mut Cell) -> Option<(f64, &mut f64)>;

fn of_effect(effect: &mut Effect) -> (f64, &mut f64) {
    (effect.p, &mut effect.p_adjusted)
}

fn correct(family: &mut [&mut Cell], of: Of, correction: fn(&[f64]) -> Vec<f64>) {
    let members: Vec<_> = family.iter_mut().filter_map(|cell| of(cell)).collect();
    let corrected = correction(&members.iter().map(|(p, _)| *p).collect::<Vec<_>>());
    for ((_, adjusted), p) in members.into_iter().zip(corrected) {
        *adjusted = p;
    }
}

/// Corrects what all candidates share, the control and the level of the baseline, which counts once for each workload, size and metric
/// that has a gate: at 5 % each, twenty sound controls would nearly always hold one that looks broken.
fn share(cells: &mut [Cell], of: Of) {
    let key = |cell: &Cell| (cell.workload.clone(), cell.msg_bytes, cell.metric);
    let gates = cells.iter_mut().filter(|cell| cell.gated);
    let alone: BTreeMap<(String, Bytes, Metric), f64> =
        gates.filter_map(|cell| Some((key(cell), of(cell)?.0))).collect();
    let corrected = holm(&alone.values().copied().collect::<Vec<_>>());
    let corrected: BTreeMap<_, _> = alone.into_keys().zip(corrected).collect();
    for cell in cells {
        let p = corrected.get(&key(cell)).copied();
        if let (Some((_, adjusted)), Some(p)) = (of(cell), p) {
            *adjusted = p;
        }
    }
}
