//! Nodes in the order in which they are worth a look, and the measure by which they are shown.

use schema::{Direction, NodeState};

use crate::cluster::{ClusterReport, NodeReport, model::NodeMeasure};

/// The position of the measure that is shown first: that of the worst finding's largest effect, else the first.
pub(super) fn first_measure(report: &ClusterReport) -> Option<usize> {
    let effects = report.findings.iter().flat_map(|finding| &finding.effects);
    let mut found = effects.filter_map(|effect| position(report, &effect.measure));
    found.next().or((!report.matrices.is_empty()).then_some(0))
}

fn position(report: &ClusterReport, measure: &crate::cluster::Measure) -> Option<usize> {
    report.matrices.iter().position(|matrix| matrix.measure == *measure)
}

/// Nodes by a measure: those with findings first in their order, then those that are not there, then by how far off they are.
pub(super) fn order(report: &ClusterReport, measure: Option<usize>) -> Vec<&NodeReport> {
    let mut nodes: Vec<&NodeReport> = report.nodes.iter().collect();
    let key = |node: &NodeReport| {
        let finding = node.findings.iter().min().copied().unwrap_or(u32::MAX);
        let gone = node.state != NodeState::Present;
        (finding, !gone)
    };
    nodes.sort_by(|a, b| {
        let off = |node: &NodeReport| measure.map_or(0.0, |at| badness(report, node, at));
        key(a).cmp(&key(b)).then_with(|| off(b).total_cmp(&off(a))).then(a.rank.cmp(&b.rank))
    });
    nodes
}

/// By how much the worse side of a node is worse than its peers; 0 where nothing is known.
fn badness(report: &ClusterReport, node: &NodeReport, at: usize) -> f64 {
    let Some((of, matrix)) = measured(node, at).zip(report.matrices.get(at)) else { return 0.0 };
    let sign = match matrix.measure.metric.direction() {
        Direction::HigherIsBetter => -1.0,
        Direction::LowerIsBetter => 1.0,
    };
    let sides = [of.sends_change, of.receives_change].into_iter().flatten().map(|change| sign * change);
    sides.fold(0.0, f64::max)
}

/// A measure of a node.
pub(super) fn measured(node: &NodeReport, at: usize) -> Option<&NodeMeasure> {
    node.measures.get(at)
}
