//! A cluster laid out for computing: its measures, which nodes share a leaf, and how many switches lie between any two.

use std::collections::BTreeMap;

use schema::{Cluster, ClusterNode, Metric, NodeState, PairOutcome, PairPoint, PairRole, PairRun, RoundPart};

use super::{
    cells::Cells,
    model::{ClusterRules, Measure},
};

/// A leaf switch and who is plugged into it.
#[derive(Debug)]
pub(super) struct Leaf<'c> {
    pub(super) name: &'c str,
    /// Ranks, ascending.
    pub(super) nodes: Vec<usize>,
}

/// What every step of judging looks at.
pub(super) struct Scene<'c> {
    pub(super) cluster: &'c Cluster,
    pub(super) rules: &'c ClusterRules,
    /// In the order of workloads, sizes and metrics.
    pub(super) measures: Vec<Measure>,
    /// Of `measures`, those from this position on are of pairs under load: other numbers than those of pairs by themselves.
    pub(super) first_loaded: usize,
    /// In the order of their names; empty where the topology is not known.
    pub(super) leaves: Vec<Leaf<'c>>,
    /// By rank: position in `leaves`.
    pub(super) leaf_of: Vec<Option<usize>>,
    /// Switches on the way, nearest first; none where the topology does not tell.
    pub(super) classes: Vec<Option<u32>>,
    /// By requester and responder: position in `classes`.
    class_of: Vec<u8>,
    /// Runs of the pattern that were measured.
    pub(super) cells: Cells<'c>,
}

impl<'c> Scene<'c> {
    pub(super) fn of(cluster: &'c Cluster, rules: &'c ClusterRules) -> Self {
        let mut members: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (rank, node) in cluster.nodes.iter().enumerate() {
            if let Some(leaf) = node.leaf() {
                members.entry(leaf).or_default().push(rank);
            }
        }
        let leaves: Vec<Leaf> = members.into_iter().map(|(name, nodes)| Leaf { name, nodes }).collect();
        let mut leaf_of = vec![None; cluster.nodes.len()];
        for (number, leaf) in leaves.iter().enumerate() {
            leaf.nodes.iter().for_each(|rank| leaf_of[*rank] = Some(number));
        }
        let (classes, class_of) = classes(&cluster.nodes);
        let cells = Cells::of(cluster, RoundPart::Pattern);
        let mut measures = measures(cluster);
        let first_loaded = measures.len();
        if loaded_rounds(cluster).contains(&true) {
            let under_load = |measure: &Measure| Measure {
                name: format!("{} under load", measure.name),
                ..measure.clone()
            };
            measures.extend(measures.iter().map(under_load).collect::<Vec<_>>());
        }
        Scene { cluster, rules, measures, first_loaded, leaves, leaf_of, classes, class_of, cells }
    }

    /// Nodes, those that never came included.
    pub(super) fn nodes(&self) -> usize {
        self.cluster.nodes.len()
    }

    /// Position of a pair's hop class in `classes`.
    pub(super) fn class(&self, requester: usize, responder: usize) -> usize {
        usize::from(self.class_of[requester * self.nodes() + responder])
    }

    /// Whether a node can be measured with.
    pub(super) fn present(&self, rank: usize) -> bool {
        self.cluster.nodes[rank].state == NodeState::Present
    }
}

/// By round of a cluster: whether others load the fabric beside what is measured.
pub(super) fn loaded_rounds(cluster: &Cluster) -> Vec<bool> {
    let mut loaded = vec![false; cluster.rounds.len()];
    for run in cluster.runs.iter().filter(|run| run.role == PairRole::Congestor) {
        if let Some(loaded) = loaded.get_mut(run.round as usize) {
            *loaded = true;
        }
    }
    loaded
}

/// What every pair of a cluster is compared by, without load beside it.
pub(super) fn measures(cluster: &Cluster) -> Vec<Measure> {
    let of_workload = |(number, workload): (usize, &schema::ClusterWorkload)| {
        let name = format!("{}/{}", workload.scenario, workload.workload);
        let sizes = workload.spec.msg_bytes.clone();
        let metrics: Vec<Metric> =
            workload.metrics.iter().copied().filter(|metric| PairPoint::METRICS.contains(metric)).collect();
        sizes.into_iter().flat_map(move |msg_bytes| {
            let name = name.clone();
            let measure =
                move |metric| Measure { workload: number as u32, name: name.clone(), msg_bytes, metric };
            metrics.clone().into_iter().map(measure)
        })
    };
    cluster.workloads.iter().enumerate().flat_map(of_workload).collect()
}

/// A run whose numbers count.
pub(super) fn counts(run: &PairRun) -> bool {
    run.role == PairRole::Measured && run.outcome == PairOutcome::Measured
}

/// The number of a run; none where it has none above 0.
pub(super) fn value(run: &PairRun, measure: &Measure) -> Option<f64> {
    let point = run.points.iter().find(|point| point.msg_bytes == measure.msg_bytes)?;
    point.get(measure.metric).filter(|value| value.is_finite() && *value > 0.0)
}

fn classes(nodes: &[ClusterNode]) -> (Vec<Option<u32>>, Vec<u8>) {
    // Names are compared once a node and not once a pair: switches become numbers.
    let mut numbers: BTreeMap<&[String], usize> = BTreeMap::new();
    let place: Vec<usize> = nodes
        .iter()
        .map(|node| {
            let next = numbers.len();
            *numbers.entry(&node.switches).or_insert(next)
        })
        .collect();
    let mut first = vec![None; numbers.len()];
    place.iter().enumerate().for_each(|(rank, place)| {
        first[*place].get_or_insert(rank);
    });
    let first: Vec<usize> = first.into_iter().flatten().collect();
    let hops: Vec<Vec<Option<u32>>> =
        first.iter().map(|a| first.iter().map(|b| nodes[*a].hops(&nodes[*b])).collect()).collect();
    let mut classes: Vec<Option<u32>> = hops.iter().flatten().copied().collect();
    // The nearest first, and what is not known last.
    classes.sort_by_key(|hops| hops.unwrap_or(u32::MAX));
    classes.dedup();
    let number = |hops: &Option<u32>| classes.iter().position(|class| class == hops).unwrap_or(0) as u8;
    let numbered: Vec<Vec<u8>> = hops.iter().map(|row| row.iter().map(number).collect()).collect();
    let pairs = place.iter().flat_map(|a| place.iter().map(|b| numbered[*a][*b])).collect();
    (classes, pairs)
}
