//! The runs of a cluster by the pair they measured.

use schema::{Cluster, PairRun, RoundPart};

use super::{
    model::Measure,
    robust,
    scene::{counts, loaded_rounds, value},
};

/// Whether other pairs loaded the fabric beside it, and which workload it was.
type Kind = (bool, u32);

/// Runs of one part whose numbers count, ordered by kind, requester and responder, and then as they were made.
pub(super) struct Cells<'c> {
    nodes: usize,
    runs: Vec<(Kind, &'c PairRun)>,
}

impl<'c> Cells<'c> {
    pub(super) fn of(cluster: &'c Cluster, part: RoundPart) -> Self {
        let nodes = cluster.nodes.len();
        let loaded = loaded_rounds(cluster);
        let kind_of = |run: &PairRun| {
            let round = cluster.rounds.get(run.round as usize).filter(|round| round.part == part)?;
            let known = (run.requester as usize) < nodes && (run.responder as usize) < nodes;
            (known && run.requester != run.responder && counts(run))
                .then_some((loaded[run.round as usize], round.workload))
        };
        let mut runs: Vec<(Kind, &PairRun)> =
            cluster.runs.iter().filter_map(|run| Some((kind_of(run)?, run))).collect();
        runs.sort_by_key(|(kind, run)| (*kind, run.requester, run.responder, run.sequence));
        Cells { nodes, runs }
    }

    /// Runs of one workload, under load or not.
    pub(super) fn of_kind(&self, loaded: bool, workload: u32) -> &[(Kind, &'c PairRun)] {
        let kind = (loaded, workload);
        let from = self.runs.partition_point(|(other, _)| *other < kind);
        let to = self.runs.partition_point(|(other, _)| *other <= kind);
        &self.runs[from..to]
    }

    /// The valid runs of every pair that has any, as (requester, responder, values in time order).
    fn each(&self, measure: &Measure, loaded: bool, mut visit: impl FnMut(usize, usize, &mut [f64])) {
        let mut values = Vec::new();
        let pairs = self
            .of_kind(loaded, measure.workload)
            .chunk_by(|(_, a), (_, b)| (a.requester, a.responder) == (b.requester, b.responder));
        for pair in pairs {
            values.clear();
            values.extend(pair.iter().filter_map(|(_, run)| value(run, measure)));
            if !values.is_empty() {
                visit(pair[0].1.requester as usize, pair[0].1.responder as usize, &mut values);
            }
        }
    }

    /// By requester and responder: the median of the pair's runs, under load or not; NaN where there is none.
    pub(super) fn medians(&self, measure: &Measure, loaded: bool) -> Vec<f64> {
        let mut medians = vec![f64::NAN; self.nodes * self.nodes];
        self.each(measure, loaded, |requester, responder, values| {
            medians[requester * self.nodes + responder] = robust::median(values).unwrap_or(f64::NAN);
        });
        medians
    }
}
