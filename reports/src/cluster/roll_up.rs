//! What a cluster's history is told: a value a node, leaf or pair, of the runs of the pattern.

use std::collections::BTreeMap;

use schema::{
    Bytes, Cluster, Configuration, Endpoint, HistoryLevel, Metric, PairOutcome, PairRole, PairRun, RoundPart,
    Side, cluster::rolled_up, history::side_fact,
};

use super::{
    model::Measure,
    robust,
    scene::{self, counts, value},
};

/// Numbers that a value of a node or leaf is the median of, at most: each itself the median of pairs that were measured one after
/// the other.
const MOST_RUNS: usize = 15;

/// One value of a night.
#[derive(Debug, Clone, PartialEq)]
pub struct RolledUp {
    /// Which of [`Cluster::workloads`].
    pub workload: u32,
    /// Message size.
    pub msg_bytes: Bytes,
    /// What is compared.
    pub metric: Metric,
    /// The side that posts: a node, or what stands for many.
    pub requester: Endpoint,
    /// The side that is written to.
    pub responder: Endpoint,
    /// In time order, in [`Metric::unit`]: the runs of a pair; of a node or leaf, medians of pairs. Empty where none was valid.
    pub runs: Vec<f64>,
    /// Runs that gave no number, or whose numbers are not used.
    pub failed_runs: u32,
    /// Why, the first of them in words.
    pub failure: Option<String>,
    /// What the audits told of the nodes on either side.
    pub configuration: Configuration,
}

/// Both ends of a series. A device that differs among the nodes of an end is not named.
type Ends = (Endpoint, Endpoint);

/// The runs of one series, and who was on which side.
#[derive(Default)]
struct Members<'c> {
    runs: Vec<&'c PairRun>,
    sides: [Vec<usize>; 2],
}

/// Rolls up the runs of the pattern, congestors and runs under load left out: another load is not another night.
pub fn roll_up(cluster: &Cluster, level: HistoryLevel) -> Vec<RolledUp> {
    let loaded = scene::loaded_rounds(cluster);
    let mut all: BTreeMap<(u32, Endpoint, Endpoint), Members> = BTreeMap::new();
    for run in cluster.runs.iter().filter(|run| run.role == PairRole::Measured) {
        let Some(round) = cluster.rounds.get(run.round as usize) else { continue };
        let known = run.requester.max(run.responder) < cluster.nodes.len() as u32;
        if round.part != RoundPart::Pattern || loaded[run.round as usize] || !known {
            continue;
        }
        for (requester, responder) in ends(cluster, run, level) {
            let members = all.entry((round.workload, requester, responder)).or_default();
            members.runs.push(run);
            for (side, rank) in members.sides.iter_mut().zip([run.requester, run.responder]) {
                side.push(rank as usize);
            }
        }
    }
    let measures = scene::measures(cluster);
    let of = |((workload, requester, responder), mut members): ((u32, Endpoint, Endpoint), Members)| {
        members.runs.sort_by_key(|run| run.sequence);
        let configuration = configuration(cluster, &mut members.sides);
        let measures: Vec<&Measure> =
            measures.iter().filter(|measure| measure.workload == workload).collect();
        let value = move |measure: &Measure| RolledUp {
            workload,
            msg_bytes: measure.msg_bytes,
            metric: measure.metric,
            requester: requester.clone(),
            responder: responder.clone(),
            runs: runs(&members.runs, measure, level),
            failed_runs: members.runs.iter().filter(|run| number(run, measure).is_none()).count() as u32,
            failure: members.runs.iter().find_map(|run| failure(run, measure)),
            configuration: configuration.clone(),
        };
        measures.into_iter().map(value).collect::<Vec<_>>()
    };
    all.into_iter().flat_map(of).collect()
}

/// The series that a run belongs to.
fn ends(cluster: &Cluster, run: &PairRun, level: HistoryLevel) -> Vec<Ends> {
    let (a, b) = (&cluster.nodes[run.requester as usize], &cluster.nodes[run.responder as usize]);
    let end = |host: &str, device: &str| Endpoint { host: host.to_owned(), device: device.to_owned() };
    let peers = |device: &str| end(rolled_up::PEERS, device);
    match level {
        HistoryLevel::Pair => vec![(end(&a.name, &a.device), end(&b.name, &b.device))],
        HistoryLevel::Node => {
            vec![(end(&a.name, &a.device), peers(&a.device)), (peers(&b.device), end(&b.name, &b.device))]
        }
        HistoryLevel::Leaf => {
            let leaf = |name: &str, device: &str| end(&rolled_up::leaf(name), device);
            match (a.leaf(), b.leaf()) {
                (Some(from), Some(to)) if from == to => vec![(leaf(from, &a.device), leaf(to, &b.device))],
                (Some(from), Some(to)) => {
                    vec![(leaf(from, &a.device), peers(&a.device)), (peers(&b.device), leaf(to, &b.device))]
                }
                _ => Vec::new(),
            }
        }
    }
}

fn number(run: &PairRun, measure: &Measure) -> Option<f64> {
    counts(run).then(|| value(run, measure)).flatten()
}

fn runs(members: &[&PairRun], measure: &Measure, level: HistoryLevel) -> Vec<f64> {
    let values: Vec<f64> = members.iter().filter_map(|run| number(run, measure)).collect();
    if level == HistoryLevel::Pair || values.len() <= MOST_RUNS {
        return values;
    }
    let each = values.len().div_ceil(MOST_RUNS);
    values.chunks(each).filter_map(|chunk| robust::median(&mut chunk.to_vec())).collect()
}

fn failure(run: &PairRun, measure: &Measure) -> Option<String> {
    match &run.outcome {
        PairOutcome::Invalid { why } | PairOutcome::CouldNotRun { why } => Some(why.clone()),
        PairOutcome::Measured => value(run, measure)
            .is_none()
            .then(|| format!("it gave no {} at {}", measure.metric, measure.msg_bytes)),
    }
}

/// What the nodes of a side have in common; where they differ, every value is named.
fn configuration(cluster: &Cluster, sides: &mut [Vec<usize>; 2]) -> Configuration {
    let mut facts = BTreeMap::new();
    for (nodes, side) in sides.iter_mut().zip([Side::Requester, Side::Responder]) {
        nodes.sort_unstable();
        nodes.dedup();
        let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let audits = nodes.iter().filter_map(|rank| cluster.nodes[*rank].audit.as_ref());
        for (name, value) in audits.flat_map(|audit| &audit.facts.0) {
            let values = seen.entry(name).or_default();
            if !values.contains(&value.as_str()) {
                values.push(value);
            }
        }
        for (name, mut values) in seen {
            values.sort_unstable();
            let told = if values.len() == 1 {
                values[0].to_owned()
            } else {
                format!("mixed: {}", values.join(", "))
            };
            facts.insert(side_fact(side, name), told);
        }
    }
    Configuration(facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster::{Sample, sample};

    fn series<'r>(rolled: &'r [RolledUp], requester: &str, responder: &str) -> &'r RolledUp {
        let ends = |one: &&RolledUp| {
            (one.requester.host.as_str(), one.responder.host.as_str()) == (requester, responder)
        };
        rolled.iter().filter(ends).find(|one| one.metric == Metric::Bandwidth).expect("it is there")
    }

    #[test]
    fn a_node_has_a_series_each_way_and_a_pair_its_runs() {
        let cluster = sample(Sample::SlowNode16);
        let nodes = roll_up(&cluster, HistoryLevel::Node);
        assert_eq!(nodes.len(), 16 * 2 * 4);
        let median = |one: &RolledUp| crate::compare::median(&one.runs).expect("runs");
        let slow = series(&nodes, rolled_up::PEERS, "node7");
        let well = series(&nodes, rolled_up::PEERS, "node8");
        assert!(median(slow) < 0.85 * median(well), "{slow:?} {well:?}");
        assert_eq!(slow.configuration.0["responder.pcie_width"], "8");
        assert_eq!(well.configuration.0["requester.pcie_width"], "mixed: 16, 8");
        assert_eq!(slow.runs.len(), 15);
        let pairs = roll_up(&cluster, HistoryLevel::Pair);
        assert_eq!(pairs.len(), 16 * 15 * 4);
        assert_eq!(series(&pairs, "node1", "node7").runs.len(), 1);
    }

    #[test]
    fn leaves_have_what_leaves_enters_and_stays() {
        let cluster = sample(Sample::SlowLeaf64);
        let leaves = roll_up(&cluster, HistoryLevel::Leaf);
        assert_eq!(leaves.len(), 8 * 3 * 4);
        let (out, inside) =
            (series(&leaves, "leaf=leaf3", rolled_up::PEERS), series(&leaves, "leaf=leaf3", "leaf=leaf3"));
        assert!(out.runs.len() <= MOST_RUNS && inside.runs.len() <= MOST_RUNS);
        assert!(out.runs.iter().all(|run| *run < 75e9) && inside.runs.iter().all(|run| *run > 75e9));
    }

    #[test]
    fn what_could_not_run_is_a_failure_and_no_value() {
        let cluster = sample(Sample::Broken);
        let pairs = roll_up(&cluster, HistoryLevel::Pair);
        let failed = series(&pairs, "node2", "node6");
        assert_eq!((failed.runs.len(), failed.failed_runs), (0, 1));
        assert!(
            failed.failure.as_deref().is_some_and(|why| why.starts_with("requester: connect")),
            "{failed:?}"
        );
    }
}
