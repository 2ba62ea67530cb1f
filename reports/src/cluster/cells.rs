//! The runs of a cluster by the pair they measured.

use schema::{Cluster, PairRun, RoundPart};

use super::{
    model::Measure,
    robust,
    scene::{counts, value},
};

/// Runs of one part whose numbers count, ordered by workload, requester and responder, and then as they were made.
pub(super) struct Cells<'c> {
    nodes: usize,
    runs: Vec<(u32, &'c PairRun)>,
}

impl<'c> Cells<'c> {
    pub(super) fn of(cluster: &'c Cluster, part: RoundPart) -> Self {
        let nodes = cluster.nodes.len();
        let workload_of = |run: &PairRun| {
            let round = cluster.rounds.get(run.round as usize).filter(|round| round.part == part)?;
            let known = (run.requester as usize) < nodes && (run.responder as usize) < nodes;
            (known && run.requester != run.responder && counts(run)).then_some(round.workload)
        };
        let mut runs: Vec<(u32, &PairRun)> =
            cluster.runs.iter().filter_map(|run| Some((workload_of(run)?, run))).collect();
        runs.sort_by_key(|(workload, run)| (*workload, run.requester, run.responder, run.sequence));
        Cells { nodes, runs }
    }

    /// Runs of one workload.
    pub(super) fn of_workload(&self, workload: u32) -> &[(u32, &'c PairRun)] {
        let from = self.runs.partition_point(|(other, _)| *other < workload);
        let to = self.runs.partition_point(|(other, _)| *other <= workload);
        &self.runs[from..to]
    }

    /// The valid runs of every pair that has any, as (requester, responder, values in time order).
    pub(super) fn each(&self, measure: &Measure, mut visit: impl FnMut(usize, usize, &mut [f64])) {
        let mut values = Vec::new();
        let pairs = self
            .of_workload(measure.workload)
            .chunk_by(|(_, a), (_, b)| (a.requester, a.responder) == (b.requester, b.responder));
        for pair in pairs {
            values.clear();
            values.extend(pair.iter().filter_map(|(_, run)| value(run, measure)));
            if !values.is_empty() {
                visit(pair[0].1.requester as usize, pair[0].1.responder as usize, &mut values);
            }
        }
    }

    /// By requester and responder: the median of the pair's runs; NaN where there is none.
    pub(super) fn medians(&self, measure: &Measure) -> Vec<f64> {
        let mut medians = vec![f64::NAN; self.nodes * self.nodes];
        self.each(measure, |requester, responder, values| {
            medians[requester * self.nodes + responder] = robust::median(values).unwrap_or(f64::NAN);
        });
        medians
    }
}
