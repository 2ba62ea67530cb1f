//! What many measures and both directions say against one node, link or leaf, put together.

use std::collections::BTreeMap;

use super::{
    claim::{Claim, Part},
    model::{Effect, FindingKind, Subject},
    polish::{as_change, unscaled},
    scene::Scene,
};

/// What stands out among the pairs of a pattern and is to be measured again.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// What is suspected.
    pub kind: FindingKind,
    /// Of what.
    pub subject: Subject,
    /// By how much, the largest first.
    pub effects: Vec<Effect>,
    pub(super) claims: Vec<Claim>,
}

/// The whole that a part is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whole {
    Leaf(usize),
    Node(usize),
    /// The lower rank first.
    Link(usize, usize),
}

impl Whole {
    fn of(part: Part) -> Whole {
        match part {
            Part::Leaves(leaf) | Part::Enters(leaf) => Whole::Leaf(leaf),
            Part::Sends(node) | Part::Receives(node) => Whole::Node(node),
            Part::Way(a, b) => Whole::Link(a.min(b), a.max(b)),
        }
    }
}

/// One a leaf, node or link: leaves first, then nodes, then links.
pub(super) fn folded(scene: &Scene, claims: &[Claim]) -> Vec<Suspect> {
    let mut wholes: BTreeMap<Whole, Vec<Claim>> = BTreeMap::new();
    for claim in claims {
        wholes.entry(Whole::of(claim.part)).or_default().push(*claim);
    }
    wholes.into_iter().map(|(whole, claims)| suspect(scene, whole, claims)).collect()
}

fn suspect(scene: &Scene, whole: Whole, mut claims: Vec<Claim>) -> Suspect {
    claims.sort_by(|a, b| a.effect.total_cmp(&b.effect).then(a.measure.cmp(&b.measure)));
    let has = |wanted: fn(&Part) -> bool| claims.iter().any(|claim| wanted(&claim.part));
    let kind = match whole {
        Whole::Leaf(_) => FindingKind::Leaf,
        Whole::Link(..) => FindingKind::Link,
        Whole::Node(_) if !has(|part| matches!(part, Part::Receives(_))) => FindingKind::NodeSends,
        Whole::Node(_) if !has(|part| matches!(part, Part::Sends(_))) => FindingKind::NodeReceives,
        Whole::Node(_) => FindingKind::Node,
    };
    let ranks = |nodes: &[usize]| nodes.iter().map(|rank| *rank as u32).collect();
    let subject = match (whole, claims[0].part) {
        (Whole::Leaf(leaf), _) => {
            let leaf = &scene.leaves[leaf];
            Subject { nodes: ranks(&leaf.nodes), leaf: Some(leaf.name.to_owned()) }
        }
        // The worse direction is the one that is named.
        (Whole::Link(..), Part::Way(a, b)) => Subject { nodes: ranks(&[a, b]), leaf: None },
        (Whole::Link(a, b), _) => Subject { nodes: ranks(&[a, b]), leaf: None },
        (Whole::Node(node), _) => Subject { nodes: ranks(&[node]), leaf: None },
    };
    Suspect { kind, subject, effects: effects(scene, &claims), claims }
}

/// One a measure: the worse direction's, with the pairs of both. The claims are ordered, the worst first.
fn effects(scene: &Scene, claims: &[Claim]) -> Vec<Effect> {
    let mut effects: Vec<(usize, Effect)> = Vec::new();
    for claim in claims {
        if let Some((_, effect)) = effects.iter_mut().find(|(measure, _)| *measure == claim.measure) {
            effect.bad_pairs += claim.bad_pairs;
            effect.pairs += claim.pairs;
            continue;
        }
        let metric = scene.measures[claim.measure].metric;
        effects.push((
            claim.measure,
            Effect {
                measure: scene.measures[claim.measure].clone(),
                change: as_change(metric, claim.effect),
                value: unscaled(metric, claim.value),
                peers: unscaled(metric, claim.value - claim.effect),
                z: claim.z,
                bad_pairs: claim.bad_pairs,
                pairs: claim.pairs,
            },
        ));
    }
    effects.into_iter().map(|(_, effect)| effect).collect()
}
