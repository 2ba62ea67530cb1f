//! What figures are drawn from: one workload of a campaign, and its points.

use schema::{Bytes, Campaign, CampaignRun, Metric, Point, Role, Test, Workload};

use super::{frame::Mark, paint::Paint};
use crate::{
    index::Index,
    render::{number, words},
};

/// A workload of a campaign.
#[derive(Clone, Copy)]
pub(in crate::render) struct Source<'c> {
    /// The campaign.
    pub(in crate::render) campaign: &'c Campaign,
    /// Its points.
    pub(in crate::render) index: &'c Index<'c>,
    /// The workload.
    pub(in crate::render) workload: &'c Workload,
    /// What it measures.
    pub(in crate::render) test: Test,
    /// The label of simulation; none for real devices.
    pub(in crate::render) simulated: Option<&'c str>,
}

/// A variant as it is drawn.
pub(super) struct Series<'c> {
    pub(super) name: &'c str,
    pub(super) paint: Paint,
    pub(super) mark: Mark,
}

impl<'c> Source<'c> {
    /// A workload, without a label of simulation.
    #[cfg(test)]
    pub(super) fn of(
        campaign: &'c Campaign,
        index: &'c Index<'c>,
        workload: &'c Workload,
        test: Test,
    ) -> Self {
        Source { campaign, index, workload, test, simulated: None }
    }

    /// The variants: the baseline a disc, candidates diamonds.
    pub(super) fn series(&self) -> Vec<Series<'c>> {
        let mut candidates = 0..;
        let variants = self.campaign.variants.iter();
        variants
            .map(|variant| match variant.role {
                Role::Baseline => Series { name: &variant.name, paint: Paint::Baseline, mark: Mark::Disc },
                Role::Candidate => {
                    let paint = Paint::Candidate(candidates.next().unwrap_or(0));
                    Series { name: &variant.name, paint, mark: Mark::Diamond }
                }
            })
            .collect()
    }

    /// The valid runs with their point at a size, in time order.
    pub(super) fn points(&self, msg_bytes: Bytes) -> &'c [(&'c CampaignRun, &'c Point)] {
        self.index.points(&self.workload.name, msg_bytes)
    }

    /// The points of a variant's runs, controls left out.
    pub(super) fn points_of(&self, variant: &str, msg_bytes: Bytes) -> &'c [&'c Point] {
        self.index.measured(&self.workload.name, variant, msg_bytes)
    }

    /// The variants by mark and colour.
    pub(super) fn legend(&self) -> Vec<(Mark, Paint, String)> {
        self.series().into_iter().map(|series| (series.mark, series.paint, series.name.to_owned())).collect()
    }

    /// Names of the variants.
    pub(super) fn variants(&self) -> Vec<String> {
        self.campaign.variants.iter().map(|variant| variant.name.clone()).collect()
    }

    /// A title that says which workload and size it is about.
    pub(super) fn titled(&self, what: &str, msg_bytes: Bytes) -> String {
        format!("{what}, {} at {}", self.workload.name, number::size(msg_bytes))
    }

    /// What the latencies of a size span; of variants in closed and open loops, both.
    pub(super) fn spans(&self, msg_bytes: Bytes) -> String {
        let mut spans: Vec<String> = Vec::new();
        for (_, point) in self.points(msg_bytes) {
            let span = words::latency(point.latency_ns.kind);
            if !spans.contains(&span) {
                spans.push(span);
            }
        }
        spans.join("; ")
    }

    /// The metrics of a list that some run has.
    pub(super) fn published(&self, metrics: &[Metric], sizes: &[Bytes]) -> Vec<Metric> {
        let has = |metric: &Metric| {
            let mut points = sizes.iter().flat_map(|size| self.points(*size));
            points.any(|(_, point)| metric.of(point).is_some_and(|value| value > 0.0))
        };
        metrics.iter().copied().filter(has).collect()
    }

    /// The metrics of a list in the words of a choice.
    pub(super) fn named(&self, metrics: &[Metric]) -> Vec<String> {
        metrics.iter().map(|metric| words::short_metric(*metric)).collect()
    }
}
