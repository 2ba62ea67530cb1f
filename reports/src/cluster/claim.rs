//! What one measure says against a node, a way between two nodes or a leaf switch, each direction by itself.

use std::collections::BTreeSet;

use super::{
    polish::{Fit, LeafEffects},
    robust,
    scene::Scene,
};
use schema::{Direction, Metric};

/// What can be off by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Part {
    /// What crosses a leaf switch outwards, by position in [`Scene::leaves`].
    Leaves(usize),
    /// What crosses it inwards.
    Enters(usize),
    /// What a node sends.
    Sends(usize),
    /// What it receives.
    Receives(usize),
    /// One pair: requester and responder.
    Way(usize, usize),
}

/// One measure of a part that is worse than that of its peers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Claim {
    pub(super) part: Part,
    /// Position in [`Scene::measures`].
    pub(super) measure: usize,
    /// By how much, on the scale of a fit: below 0.
    pub(super) effect: f64,
    /// Robust standard deviations.
    pub(super) z: f64,
    pub(super) bad_pairs: u32,
    pub(super) pairs: u32,
    /// Median over its pairs, on the scale of a fit.
    pub(super) value: f64,
}

/// A measure, taken apart twice: with leaves as they are, and with what is wrong with whole leaves taken out, so that it is not
/// said again of each of their nodes.
pub(super) struct Judged {
    /// None where it would be the same as `fit`: nothing is wrong with a whole leaf.
    plain: Option<Fit>,
    pub(super) fit: Fit,
    /// What is left of `fit` below its margin, ascending.
    pub(super) low: Vec<f64>,
    pub(super) claims: Vec<Claim>,
}

impl Judged {
    /// With leaves as they are.
    pub(super) fn plain(&self) -> &Fit {
        self.plain.as_ref().unwrap_or(&self.fit)
    }
}

/// How far below its peers, on the scale of a fit, a value of a metric must be to matter.
pub(super) fn margin(scene: &Scene, metric: Metric) -> f64 {
    match metric.direction() {
        Direction::HigherIsBetter => (-scene.rules.smallest_change).ln_1p(),
        Direction::LowerIsBetter => -scene.rules.smallest_latency_change.ln_1p(),
    }
}

/// Takes every measure apart and says what stands out. Leaves come first, over all measures: what a slow leaf costs in one that it
/// hardly matters in is the leaf's all the same, and not that of the nodes below it which come out worst.
pub(super) fn judged(scene: &Scene, medians: &[Vec<f64>]) -> Vec<Judged> {
    let looks: Vec<Look> = (0..scene.measures.len())
        .map(|measure| Look { scene, measure, margin: margin(scene, scene.measures[measure].metric) })
        .collect();
    let plain: Vec<Fit> = looks
        .iter()
        .zip(medians)
        .map(|(look, matrix)| Fit::of(scene, look.metric(), matrix, LeafEffects::none(scene)))
        .collect();
    let of_leaves: Vec<Vec<Claim>> = looks.iter().zip(&plain).map(|(look, fit)| look.leaves(fit)).collect();
    let slow: BTreeSet<usize> = of_leaves
        .iter()
        .flatten()
        .filter_map(|claim| match claim.part {
            Part::Leaves(leaf) | Part::Enters(leaf) => Some(leaf),
            _ => None,
        })
        .collect();
    let measured = looks.iter().zip(medians).zip(plain.into_iter().zip(of_leaves));
    measured.map(|((look, matrix), (plain, leaves))| look.judge(matrix, plain, leaves, &slow)).collect()
}

struct Look<'s, 'c> {
    scene: &'s Scene<'c>,
    measure: usize,
    margin: f64,
}

/// Pairs of a part: by how much each is off, and what it is.
#[derive(Default)]
struct Pairs {
    off: Vec<f64>,
    values: Vec<f64>,
}

impl Pairs {
    fn add(&mut self, off: f64, value: f64) {
        if !value.is_nan() {
            self.off.push(off);
            self.values.push(value);
        }
    }

    fn bad(&self, margin: f64) -> usize {
        self.off.iter().filter(|off| **off < margin).count()
    }

    fn mostly_bad(&self, margin: f64, share: f64) -> bool {
        !self.off.is_empty() && self.bad(margin) as f64 >= share * self.off.len() as f64
    }
}

/// By how much pairs are off in the middle.
fn middle(pairs: &[Pairs]) -> Option<f64> {
    robust::median(&mut pairs.iter().flat_map(|node| node.off.iter().copied()).collect::<Vec<_>>())
}

impl Look<'_, '_> {
    /// What is said of the measure, given which leaves are slow in any.
    fn judge(&self, matrix: &[f64], plain: Fit, mut claims: Vec<Claim>, slow: &BTreeSet<usize>) -> Judged {
        let (plain, fit) = if slow.is_empty() {
            (None, plain)
        } else {
            let effects = self.leaf_effects(&plain, slow);
            (Some(plain), Fit::of(self.scene, self.metric(), matrix, effects))
        };
        claims.extend(self.nodes(&fit));
        claims.extend(self.ways(&fit));
        let off = fit.pairs().map(|(a, b)| fit.residual(a, b));
        let mut low: Vec<f64> = off.filter(|left| *left < self.margin).collect();
        low.sort_by(f64::total_cmp);
        Judged { plain, fit, low, claims }
    }

    fn claim(&self, part: Part, effect: f64, z: f64, mut pairs: Pairs) -> Claim {
        Claim {
            part,
            measure: self.measure,
            effect,
            z,
            bad_pairs: pairs.bad(self.margin) as u32,
            pairs: pairs.off.len() as u32,
            value: robust::median(&mut pairs.values).unwrap_or(f64::NAN),
        }
    }

    fn metric(&self) -> Metric {
        self.scene.measures[self.measure].metric
    }

    /// What slow leaves cost in this measure, both ways; nothing where they are no worse than the others.
    fn leaf_effects(&self, fit: &Fit, slow: &BTreeSet<usize>) -> LeafEffects {
        let mut effects = LeafEffects::none(self.scene);
        let cost = |leaf, out| middle(&self.crossing(fit, leaf, out)).unwrap_or(0.0).min(0.0);
        for leaf in slow {
            effects.leaves[*leaf] = cost(*leaf, true);
            effects.enters[*leaf] = cost(*leaf, false);
        }
        effects
    }

    /// So many parts of a kind are asked, over all measures.
    fn bar(&self, asked: usize, known: usize) -> f64 {
        robust::threshold(self.scene.rules.outlier_z, asked * self.scene.measures.len(), known)
    }

    fn leaves(&self, fit: &Fit) -> Vec<Claim> {
        // With two leaves, what crosses one crosses the other.
        if self.scene.leaves.len() < 3 {
            return Vec::new();
        }
        [true, false].into_iter().flat_map(|out| self.leaves_one_way(fit, out)).collect()
    }

    fn leaves_one_way(&self, fit: &Fit, out: bool) -> Vec<Claim> {
        let crossing: Vec<Vec<Pairs>> =
            (0..self.scene.leaves.len()).map(|leaf| self.crossing(fit, leaf, out)).collect();
        let effects: Vec<Option<f64>> = crossing.iter().map(|pairs| middle(pairs)).collect();
        let told: Vec<f64> = effects.iter().flatten().copied().collect();
        let apart = robust::spread(&told, 0.0).unwrap_or(0.0);
        let of_nodes = self.spread_of_nodes(fit, out);
        let claim = |(leaf, pairs): (usize, Vec<Pairs>)| {
            let effect = effects[leaf]?;
            let spread = apart.max(1.2533 * of_nodes / (pairs.len() as f64).sqrt());
            let z = effect / spread;
            let share = self.scene.rules.node_share;
            let every = pairs.len() > 1 && pairs.iter().all(|node| node.mostly_bad(self.margin, share));
            let bar = self.bar(2 * self.scene.leaves.len(), self.scene.nodes());
            if !(every && effect < self.margin && z < -bar) {
                return None;
            }
            let mut all = Pairs::default();
            pairs.into_iter().for_each(|node| {
                all.off.extend(node.off);
                all.values.extend(node.values);
            });
            let part = if out { Part::Leaves(leaf) } else { Part::Enters(leaf) };
            Some(self.claim(part, effect, z, all))
        };
        crossing.into_iter().enumerate().filter_map(claim).collect()
    }

    /// What crosses a leaf one way, by node of it that was measured that way.
    fn crossing(&self, fit: &Fit, leaf: usize, out: bool) -> Vec<Pairs> {
        let of_node = |node: &usize| {
            let mut pairs = Pairs::default();
            for other in (0..self.scene.nodes()).filter(|other| self.scene.leaf_of[*other] != Some(leaf)) {
                match out {
                    true => pairs.add(fit.of_sender(*node, other), fit.value(*node, other)),
                    false => pairs.add(fit.of_receiver(other, *node), fit.value(other, *node)),
                }
            }
            pairs
        };
        self.scene.leaves[leaf].nodes.iter().map(of_node).filter(|pairs| !pairs.off.is_empty()).collect()
    }

    /// How the nodes of a cluster differ. With few of them what they send and what they receive is taken together, for want of
    /// numbers.
    fn spread_of_nodes(&self, fit: &Fit, sends: bool) -> f64 {
        let of = |effects: &[Option<f64>]| effects.iter().flatten().copied().collect::<Vec<f64>>();
        let (own, other) = if sends { (&fit.sends, &fit.receives) } else { (&fit.receives, &fit.sends) };
        let mut effects = of(own);
        if effects.len() < FEW_NODES {
            effects.extend(of(other));
        }
        robust::spread(&effects, 0.0).unwrap_or(0.0)
    }

    fn nodes(&self, fit: &Fit) -> Vec<Claim> {
        let one_way = |sends: bool| {
            let spread = self.spread_of_nodes(fit, sends);
            let known = if self.scene.nodes() < FEW_NODES { 2 } else { 1 } * self.scene.nodes();
            let bar = self.bar(2 * self.scene.nodes(), known);
            (0..self.scene.nodes()).filter_map(move |node| self.node(fit, node, sends, spread, bar))
        };
        one_way(true).chain(one_way(false)).collect()
    }

    fn node(&self, fit: &Fit, node: usize, sends: bool, spread: f64, bar: f64) -> Option<Claim> {
        let effect = if sends { fit.sends[node] } else { fit.receives[node] }?;
        if effect >= self.margin {
            return None;
        }
        let mut pairs = Pairs::default();
        let mut noise: f64 = 0.0;
        for other in (0..self.scene.nodes()).filter(|other| *other != node) {
            let (a, b) = if sends { (node, other) } else { (other, node) };
            let off = if sends { fit.of_sender(a, b) } else { fit.of_receiver(a, b) };
            pairs.add(off, fit.value(a, b));
            if !fit.value(a, b).is_nan() {
                noise = noise.max(fit.spreads[self.scene.class(a, b)]);
            }
        }
        // The median of so many values is itself not better known than this.
        let known = 1.2533 * noise / (pairs.off.len() as f64).sqrt();
        let z = effect / spread.max(known);
        let blamed = z < -bar && pairs.mostly_bad(self.margin, self.scene.rules.node_share);
        let part = if sends { Part::Sends(node) } else { Part::Receives(node) };
        blamed.then(|| self.claim(part, effect, z, pairs))
    }

    fn ways(&self, fit: &Fit) -> Vec<Claim> {
        // What is left of fewer values than effects is left by chance.
        if fit.freedom < 2 {
            return Vec::new();
        }
        let bar = self.bar(fit.measured, fit.freedom);
        let claim = |(requester, responder): (usize, usize)| {
            let effect = fit.residual(requester, responder);
            let z = effect / fit.spreads[self.scene.class(requester, responder)];
            let stands_out = effect < self.margin && z < -bar;
            let value = fit.value(requester, responder);
            let pairs = || Pairs { off: vec![effect], values: vec![value] };
            stands_out.then(|| self.claim(Part::Way(requester, responder), effect, z, pairs()))
        };
        fit.pairs().filter_map(claim).collect()
    }
}

/// Nodes below which a spread of one effect a node is too coarse.
const FEW_NODES: usize = 16;
