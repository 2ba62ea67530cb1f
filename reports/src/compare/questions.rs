//! Which cells a campaign has, and which of them are gates.

use schema::{Bytes, Campaign, Gate, Metric, Role, Test, Variant, Workload};

use super::{candidate::Candidate, factorial::Layout, model::Asks};

/// One cell to be filled.
pub(super) struct Question<'c> {
    /// The workload.
    pub(super) workload: &'c Workload,
    /// What it measures.
    pub(super) test: Test,
    /// Message size.
    pub(super) msg_bytes: Bytes,
    /// The candidate.
    pub(super) candidate: Candidate<'c>,
    /// What is compared.
    pub(super) metric: Metric,
    /// Whether the verdict rests on it.
    pub(super) gated: bool,
    /// Changes below this share do not matter.
    pub(super) margin: f64,
}

/// The baseline variant; none in a campaign without one.
pub(super) fn baseline(campaign: &Campaign) -> Option<&Variant> {
    campaign.variants.iter().find(|variant| variant.role == Role::Baseline)
}

/// Every cell, in the order of workload, message size, candidate, metric.
///
/// With factors, they and their interactions are asked, not the combinations: each of these is one run a block, and the report
/// shows its numbers anyway. Interactions are asked of the gates' metrics, and are never gates: what decides was declared.
pub(super) fn questions<'c>(
    campaign: &'c Campaign,
    baseline: &Variant,
    layout: Option<&'c Layout<'c>>,
) -> Vec<Question<'c>> {
    let candidates: Vec<Candidate<'c>> = match layout {
        Some(layout) => layout.terms().into_iter().map(|term| Candidate::Term { layout, term }).collect(),
        None => {
            let candidates = campaign.variants.iter().filter(|variant| variant.role == Role::Candidate);
            candidates.map(Candidate::Variant).collect()
        }
    };
    let mut questions = Vec::new();
    for workload in &campaign.workloads {
        let Some(spec) = workload.specs.get(&baseline.name) else { continue };
        for msg_bytes in &spec.msg_bytes {
            for candidate in &candidates {
                for metric in metrics(spec.test) {
                    let (gate, margin) = gate(&campaign.gates, workload, spec.test, *msg_bytes, metric);
                    let interaction = candidate.asks() == Asks::Interaction;
                    if interaction && !gate {
                        continue;
                    }
                    questions.push(Question {
                        workload,
                        test: spec.test,
                        msg_bytes: *msg_bytes,
                        candidate: *candidate,
                        metric,
                        gated: gate && !interaction,
                        margin,
                    });
                }
            }
        }
    }
    questions
}

/// What a test measures.
fn metrics(test: Test) -> impl Iterator<Item = Metric> {
    Metric::ALL.into_iter().filter(move |metric| test == Test::Bandwidth || metric.quantile().is_some())
}

/// Whether a cell is a gate, and its margin. Of several gates that fit, the one that names more counts.
fn gate(gates: &[Gate], workload: &Workload, test: Test, msg_bytes: Bytes, metric: Metric) -> (bool, f64) {
    if gates.is_empty() {
        return (metric == Metric::primary(test), metric.default_margin());
    }
    let fits = |gate: &&Gate| {
        gate.metric == metric
            && gate.workload.as_ref().is_none_or(|name| *name == workload.name)
            && gate.msg_bytes.is_none_or(|size| size == msg_bytes)
    };
    let names = |gate: &&Gate| usize::from(gate.workload.is_some()) + usize::from(gate.msg_bytes.is_some());
    match gates.iter().filter(fits).max_by_key(names) {
        Some(gate) => (true, gate.margin),
        None => (false, metric.default_margin()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sample;
    use pretty_assertions::assert_eq;

    fn gates_of(gates: Vec<Gate>) -> Vec<(Bytes, Metric, f64)> {
        let mut campaign = Sample { sizes: vec![Bytes(4096), Bytes(65_536)], ..Sample::default() }.campaign();
        campaign.gates = gates;
        questions(&campaign, baseline(&campaign).unwrap(), None)
            .into_iter()
            .filter(|question| question.gated)
            .map(|question| (question.msg_bytes, question.metric, question.margin))
            .collect()
    }

    #[test]
    fn without_gates_the_primary_metric_of_every_size_is_one() {
        assert_eq!(
            gates_of(vec![]),
            [(Bytes(4096), Metric::Bandwidth, 0.02), (Bytes(65_536), Metric::Bandwidth, 0.02)]
        );
    }

    #[test]
    fn a_gate_that_names_a_size_goes_before_one_that_does_not() {
        let gate = |msg_bytes, margin| Gate { metric: Metric::P99, workload: None, msg_bytes, margin };
        assert_eq!(
            gates_of(vec![gate(Some(Bytes(4096)), 0.2), gate(None, 0.1)]),
            [(Bytes(4096), Metric::P99, 0.2), (Bytes(65_536), Metric::P99, 0.1)]
        );
    }
}
