//! The points of a campaign by what they measured, sorted once: a report asks for thousands of numbers, and a walk through
//! all runs for each of them would cost runs times numbers.

use std::collections::HashMap;

use schema::{Bytes, Campaign, CampaignRun, Point, Purpose};

/// The valid runs of a campaign by workload and message size.
pub(crate) struct Index<'c>(HashMap<&'c str, HashMap<Bytes, OfSize<'c>>>);

/// The points of a workload at one size, in time order.
#[derive(Default)]
struct OfSize<'c> {
    all: Vec<(&'c CampaignRun, &'c Point)>,
    /// By variant, controls left out.
    measured: HashMap<&'c str, Vec<&'c Point>>,
}

impl<'c> Index<'c> {
    pub(crate) fn of(campaign: &'c Campaign) -> Self {
        let mut index = Index(HashMap::new());
        for run in campaign.runs.iter().filter(|run| run.record.is_valid()) {
            let sizes = index.0.entry(&run.workload).or_default();
            for point in &run.record.points {
                sizes.entry(point.msg_bytes).or_default().insert(run, point);
            }
        }
        index
    }

    /// The runs of a workload with their point at a size, controls among them, in time order.
    pub(crate) fn points(&self, workload: &str, msg_bytes: Bytes) -> &[(&'c CampaignRun, &'c Point)] {
        self.of_size(workload, msg_bytes).map_or(&[], |of_size| &of_size.all)
    }

    /// The points of a variant's runs at a size, controls left out, in time order.
    pub(crate) fn measured(&self, workload: &str, variant: &str, msg_bytes: Bytes) -> &[&'c Point] {
        let of_size = self.of_size(workload, msg_bytes);
        of_size.and_then(|of_size| of_size.measured.get(variant)).map_or(&[], Vec::as_slice)
    }

    fn of_size(&self, workload: &str, msg_bytes: Bytes) -> Option<&OfSize<'c>> {
        self.0.get(workload)?.get(&msg_bytes)
    }
}

impl<'c> OfSize<'c> {
    fn insert(&mut self, run: &'c CampaignRun, point: &'c Point) {
        if self.all.last().is_some_and(|(last, _)| std::ptr::eq(*last, run)) {
            return; // A run has one point of a size; of a record with more, the first counts, here as in the comparison.
        }
        self.all.push((run, point));
        if run.purpose == Purpose::Measure {
            self.measured.entry(&run.variant).or_default().push(point);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Sample};

    #[test]
    fn it_finds_what_a_walk_through_all_runs_finds() {
        let mut campaign =
            Sample { sizes: vec![Bytes(64), Bytes(4096)], latencies: 0, ..Sample::default() }.campaign();
        testing::fail(&mut campaign.runs[3]);
        campaign.runs[5].record.invalid.push("a thread moved".into());
        let index = Index::of(&campaign);
        for size in [Bytes(64), Bytes(4096), Bytes(8)] {
            let walked: Vec<u32> = campaign
                .runs
                .iter()
                .filter(|run| run.record.is_valid() && run.record.points.iter().any(|p| p.msg_bytes == size))
                .map(|run| run.sequence)
                .collect();
            let found: Vec<u32> = index.points("write", size).iter().map(|(run, _)| run.sequence).collect();
            assert_eq!(found, walked);
            for variant in ["base", "deep", "none"] {
                let ours = |run: &&CampaignRun| {
                    run.variant == variant && run.purpose == Purpose::Measure && run.record.is_valid()
                };
                let walked = campaign.runs.iter().filter(ours).flat_map(|run| &run.record.points);
                let walked: Vec<&Point> = walked.filter(|point| point.msg_bytes == size).collect();
                assert_eq!(index.measured("write", variant, size), walked);
            }
        }
        assert!(index.points("read", Bytes(64)).is_empty());
    }

    #[test]
    fn of_two_points_of_a_size_the_first_counts() {
        let mut campaign = Sample { blocks: 1, latencies: 0, ..Sample::default() }.campaign();
        let twice = campaign.runs[0].record.points[0].clone();
        campaign.runs[0].record.points.push(Point { messages: 1, ..twice });
        let index = Index::of(&campaign);
        let points = index.points("write", Bytes(65_536));
        assert_eq!(points.len(), campaign.runs.len());
        assert_ne!(points[0].1.messages, 1);
    }
}
