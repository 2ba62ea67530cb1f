//! The same gates by other methods: how far the verdict rests on the one that was chosen.

use super::{change::Written, number, words};
use crate::compare::{Cell, Comparison, Effect, Method};

/// What one method says of one gate.
pub(super) struct MethodRow {
    /// What the gate is about.
    pub(super) gate: String,
    /// The method.
    pub(super) method: String,
    /// Its estimate; empty where it has none.
    pub(super) change: String,
    /// Its interval; empty where it has none.
    pub(super) interval: String,
    /// Its p, of this question alone; empty where it has none.
    pub(super) p: String,
    /// What it is drawn from.
    pub(super) n: String,
}

/// Every method of every gate that has an effect.
pub(super) fn rows(comparison: &Comparison) -> Vec<MethodRow> {
    comparison.gates().filter_map(|cell| Some(of_gate(cell, cell.effect.as_ref()?))).flatten().collect()
}

fn of_gate(cell: &Cell, effect: &Effect) -> Vec<MethodRow> {
    let gate = format!("{} under {}", words::subject(cell), cell.candidate);
    let n = number::counted(effect.pairs, "pair");
    let row = |method: &str, change: String, interval: String, p: Option<f64>| MethodRow {
        gate: gate.clone(),
        method: method.to_owned(),
        change,
        interval,
        p: p.map(number::p_value).unwrap_or_default(),
        n: n.clone(),
    };
    let both = |change: f64, low: f64, high: f64| {
        let written = Written::of(&Effect { change, low, high, ..*effect }, cell.margin);
        (written.change, format!("{} to {}", written.low, written.high))
    };
    let (change, interval) = both(effect.change, effect.low, effect.high);
    let widened = effect.cross_check.filter(|check| check.widened);
    let own =
        widened.map_or("mean log-ratio, Student's t", |_| "mean log-ratio, widened by the method below");
    let mut rows = vec![
        row(own, change, interval, effect.p_t),
        row("sign-flip test", String::new(), String::new(), Some(effect.p)),
    ];
    if let Some(estimate) = effect.hodges_lehmann {
        let (change, interval) = both(estimate.change, estimate.low, estimate.high);
        rows.push(row("Hodges-Lehmann", change, interval, None));
    }
    if let Some(check) = effect.cross_check {
        let (_, interval) = both(effect.change, check.low, check.high);
        let blocks = match check.method {
            Method::MovingBlock => format!(", blocks of {}", number::counted(check.block, "pair")),
            Method::Hierarchical => format!(", {}", number::counted(check.node_pairs, "node pair")),
            _ => String::new(),
        };
        let draws = number::grouped(u64::from(check.resamples));
        let method = format!("{}, {draws} resamples{blocks}", words::method(check.method));
        rows.push(row(&method, String::new(), interval, None));
    }
    rows.extend(
        effect
            .p_equivalence
            .map(|p| row("two one-sided tests within the margin", String::new(), String::new(), Some(p))),
    );
    let better = |share: f64| number::percent(share);
    let of_better = effect.better_interval.map(|of| format!("{} to {}", better(of.low), better(of.high)));
    let share = format!("better in {}", better(effect.better_share));
    rows.push(row("share of pairs", share, of_better.unwrap_or_default(), None));
    if let Some(second) = &cell.against_control {
        let written = Written::of(second, cell.margin);
        let interval = format!("{} to {}", written.low, written.high);
        let mut against = row("against the second baseline run", written.change, interval, Some(second.p));
        against.n = number::counted(second.pairs, "pair");
        rows.push(against);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompareOptions, compare, testing::Sample};

    #[test]
    fn every_gate_is_told_by_every_method_it_has_with_its_n() {
        let campaign = Sample { latencies: 0, blocks: 24, ..Sample::default() }.campaign();
        let mut comparison = compare(&campaign, &CompareOptions::default());
        for effect in comparison.cells.iter_mut().filter_map(|cell| cell.effect.as_mut()) {
            effect.cross_check = Some(crate::compare::CrossCheck {
                method: Method::MovingBlock,
                low: 0.49,
                high: 0.51,
                resamples: 10_000,
                block: 3,
                node_pairs: 1,
                widened: false,
            });
        }
        let rows = rows(&comparison);
        let of = |start: &str| {
            rows.iter().find(|row| row.method.starts_with(start)).unwrap_or_else(|| panic!("no {start}"))
        };
        for start in ["mean log-ratio", "Hodges-Lehmann", "against the second"] {
            assert!(of(start).change.starts_with("+50.") || of(start).change.starts_with("+49."), "{start}");
            assert!(of(start).interval.contains(" to +"), "{start}");
        }
        assert_eq!(of("share of pairs").change, "better in 100%");
        assert!(
            rows.iter().any(|row| row.method.ends_with(", 10,000 resamples, blocks of 3 pairs")),
            "the cross-check"
        );
        assert!(rows.iter().all(|row| row.n == "24 pairs"));
    }
}
