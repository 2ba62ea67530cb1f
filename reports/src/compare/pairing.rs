//! Finds the two runs of a pair, and says of every block that has none which run is missing and why.

use std::collections::{BTreeMap, HashMap};

use schema::{Bytes, Campaign, CampaignRun, Metric, Outcome, Point, Purpose, StopRule};

use super::{
    model::{DroppedPair, Pair, Unusable, UnusableRun},
    node_pair::NodePairs,
    steadiness,
};
use crate::bound;

/// The runs of a campaign by what they are.
pub(super) struct Runs<'c> {
    /// The runs of a place by their block.
    by_place: HashMap<Key<'c>, Vec<Option<&'c CampaignRun>>>,
    drifting: HashMap<(Key<'c>, Bytes), Drifting>,
    unusable: BTreeMap<u32, UnusableRun>,
    node_pairs: NodePairs<'c>,
    blocks: u32,
}

/// Workload, variant and purpose.
type Key<'a> = (&'a str, &'a str, Purpose);

/// How many points of a side, at one size, did not hold still.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Drifting {
    /// Those that drifted.
    pub(super) points: u32,
    /// Those of which it can be told.
    pub(super) of: u32,
}

/// One side of a comparison: a variant of a workload, in pairs or as control.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// Workload name.
    pub(super) workload: &'a str,
    /// Variant name.
    pub(super) variant: &'a str,
    /// Pair or control.
    pub(super) purpose: Purpose,
}

/// What a pair compares.
#[derive(Clone, Copy)]
pub(super) struct Subject {
    /// Message size.
    pub(super) msg_bytes: Bytes,
    /// The number.
    pub(super) metric: Metric,
}

impl<'c> Runs<'c> {
    /// Sorts the runs of a campaign. Of two runs in one place, as after a resumed campaign, the later one counts.
    pub(super) fn of(campaign: &'c Campaign) -> Self {
        let blocks = match campaign.design.stop {
            StopRule::AllBlocks => campaign.design.blocks,
            // Blocks that it did not come to may never be needed: nothing is missing of them.
            StopRule::WhenDecided { .. } => 0,
        };
        let mut runs = Runs {
            by_place: HashMap::new(),
            drifting: HashMap::new(),
            unusable: BTreeMap::new(),
            node_pairs: NodePairs::default(),
            blocks,
        };
        for run in &campaign.runs {
            let place = runs.by_place.entry((&run.workload, &run.variant, run.purpose)).or_default();
            place.resize(place.len().max(run.block as usize + 1), None);
            place[run.block as usize] = Some(run);
            runs.node_pairs.see(&run.record);
            runs.unusable.extend(why_unusable(run).map(|why| (run.sequence, why)));
            runs.blocks = runs.blocks.max(run.block + 1);
        }
        runs.drifting = runs.find_drifting();
        runs
    }

    fn find_drifting(&self) -> HashMap<(Key<'c>, Bytes), Drifting> {
        let mut found: HashMap<(Key<'c>, Bytes), Drifting> = HashMap::new();
        for (key, runs) in &self.by_place {
            let usable = runs.iter().flatten().filter(|run| !self.unusable.contains_key(&run.sequence));
            for point in usable.flat_map(|run| &run.record.points) {
                let Some(drifts) = steadiness::drifts(point) else { continue };
                let of_size = found.entry((*key, point.msg_bytes)).or_default();
                of_size.points += u32::from(drifts);
                of_size.of += 1;
            }
        }
        found
    }

    /// How many points of a side, at a size, did not hold still.
    pub(super) fn drifting(&self, place: Place<'_>, msg_bytes: Bytes) -> Drifting {
        self.drifting.get(&(key(place), msg_bytes)).copied().unwrap_or_default()
    }

    /// The runs of a place by their block.
    fn of_place<'a>(&'a self, place: Place<'a>) -> &'a [Option<&'c CampaignRun>] {
        self.by_place.get(&key(place)).map_or(&[], Vec::as_slice)
    }

    /// Blocks, planned or run.
    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Runs that count for nothing, in time order.
    pub(super) fn unusable(&self) -> impl Iterator<Item = &UnusableRun> {
        self.unusable.values()
    }

    /// The points of a side at a size, of every usable run.
    pub(super) fn points<'a>(
        &'a self,
        place: Place<'a>,
        msg_bytes: Bytes,
    ) -> impl Iterator<Item = &'c Point> + use<'a, 'c> {
        self.of_place(place)
            .iter()
            .flatten()
            .filter(|run| !self.unusable.contains_key(&run.sequence))
            .filter_map(move |run| point(run, msg_bytes))
    }

    /// The reasons for which runs of a side count for nothing.
    pub(super) fn losses<'a>(&'a self, place: Place<'a>) -> impl Iterator<Item = Unusable> + use<'a, 'c> {
        let runs = self.of_place(place).iter().flatten();
        runs.filter_map(|run| self.unusable.get(&run.sequence)).map(|unusable| unusable.kind)
    }

    /// The pairs of two sides, and the blocks that have none.
    pub(super) fn pairs(
        &self,
        baseline: Place<'_>,
        other: Place<'_>,
        subject: Subject,
    ) -> (Vec<Pair>, Vec<DroppedPair>) {
        let (mut pairs, mut dropped) = (Vec::new(), Vec::new());
        let sides = [baseline, other].map(|place| Series { place, runs: self.of_place(place) });
        for block in 0..self.blocks {
            match self.pair(sides, subject, block) {
                Ok(pair) => pairs.push(pair),
                Err(reason) => dropped.push(DroppedPair { block, reason }),
            }
        }
        (pairs, dropped)
    }

    /// Between which nodes the pairs were measured, as a number for each; empty where all were between the same.
    pub(super) fn node_pairs(&self, side: Place<'_>, pairs: &[Pair]) -> Vec<u32> {
        if self.node_pairs.all_the_same() {
            return Vec::new();
        }
        let runs = self.of_place(side);
        let of = |pair: &Pair| {
            let run = runs.get(pair.block as usize).copied().flatten();
            run.map_or(0, |run| self.node_pairs.of(&run.record))
        };
        pairs.iter().map(of).collect()
    }

    fn pair(
        &self,
        [baseline, other]: [Series<'_, 'c>; 2],
        subject: Subject,
        block: u32,
    ) -> Result<Pair, String> {
        let baseline = self.number_in(baseline, subject, block)?;
        let candidate = self.number_in(other, subject, block)?;
        Ok(Pair { block, baseline, candidate, ln_ratio: (candidate / baseline).ln() })
    }

    /// The number of one run; the error says which run has none, and why.
    pub(super) fn number(&self, place: Place<'_>, subject: Subject, block: u32) -> Result<f64, String> {
        self.number_in(Series { place, runs: self.of_place(place) }, subject, block)
    }

    fn number_in(&self, side: Series<'_, 'c>, subject: Subject, block: u32) -> Result<f64, String> {
        let run = self.usable(side, block)?;
        let name = || format!("run {} ({})", run.number(), run.variant);
        let point = point(run, subject.msg_bytes)
            .ok_or_else(|| format!("{} has no point at {}", name(), subject.msg_bytes))?;
        match subject.metric.of(point) {
            Some(number) if number > 0.0 && number.is_finite() => Ok(number),
            Some(number) => Err(format!("{} says {} {number}", name(), subject.metric)),
            None => Err(format!("{} has too few samples for {}", name(), subject.metric)),
        }
    }

    fn usable(&self, Series { place, runs }: Series<'_, 'c>, block: u32) -> Result<&'c CampaignRun, String> {
        let run = runs.get(block as usize).copied().flatten().ok_or_else(|| {
            let control = if place.purpose == Purpose::Control { " as control" } else { "" };
            format!("{}{control} has not run", place.variant)
        })?;
        match self.unusable.get(&run.sequence) {
            None => Ok(run),
            Some(why) => Err(format!("run {} ({}) {}", run.number(), run.variant, why.kind)),
        }
    }
}

/// A place with its runs by block, looked up once for all blocks.
#[derive(Clone, Copy)]
struct Series<'a, 'c> {
    place: Place<'a>,
    runs: &'a [Option<&'c CampaignRun>],
}

fn key(place: Place<'_>) -> Key<'_> {
    (place.workload, place.variant, place.purpose)
}

/// The point of a run at a size. Points come in the order of the sizes that were asked, so that is where it is looked for first: a walk
/// through all points of all runs for every number is what large campaigns would wait for.
fn point(run: &CampaignRun, msg_bytes: Bytes) -> Option<&Point> {
    let points = &run.record.points;
    let asked = run.record.spec.msg_bytes.iter().position(|size| *size == msg_bytes);
    let there = asked.and_then(|position| points.get(position)).filter(|point| point.msg_bytes == msg_bytes);
    there.or_else(|| points.iter().find(|point| point.msg_bytes == msg_bytes))
}

fn why_unusable(run: &CampaignRun) -> Option<UnusableRun> {
    let (kind, reason) = match &run.record.outcome {
        Outcome::Completed => match bound::broken(&run.record) {
            Some(reason) => (Unusable::Invalid, reason),
            None if run.record.is_valid() => return None,
            None => (Unusable::Excluded, run.record.invalid.join("; ")),
        },
        Outcome::Skipped { reason } => (Unusable::Skipped, reason.clone()),
        failed @ Outcome::Failed { .. } => (Unusable::Failed, failed.to_string()),
    };
    Some(UnusableRun {
        sequence: run.sequence,
        block: run.block,
        workload: run.workload.clone(),
        variant: run.variant.clone(),
        control: run.purpose == Purpose::Control,
        kind,
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sample, fail};
    use pretty_assertions::assert_eq;

    const SUBJECT: Subject = Subject { msg_bytes: Bytes(65_536), metric: Metric::Bandwidth };

    fn place(variant: &str) -> Place<'_> {
        Place { workload: "write", variant, purpose: Purpose::Measure }
    }

    #[test]
    fn pairs_are_of_the_same_block() {
        let campaign = Sample::default().campaign();
        let (pairs, dropped) = Runs::of(&campaign).pairs(place("base"), place("deep"), SUBJECT);
        assert_eq!(dropped, []);
        for pair in pairs {
            let number = |variant: &str| {
                let run = campaign.runs.iter().find(|run| {
                    run.block == pair.block && run.variant == variant && run.purpose == Purpose::Measure
                });
                run.unwrap().record.points[0].bandwidth_bits_per_sec.unwrap()
            };
            assert_eq!((pair.baseline, pair.candidate), (number("base"), number("deep")));
        }
    }

    #[test]
    fn a_failed_run_takes_its_pair_with_it_and_is_named() {
        let mut campaign = Sample::default().campaign();
        let lost = campaign.runs.iter().position(|run| run.block == 3 && run.variant == "deep").unwrap();
        fail(&mut campaign.runs[lost]);
        let runs = Runs::of(&campaign);
        let (pairs, dropped) = runs.pairs(place("base"), place("deep"), SUBJECT);
        assert_eq!((pairs.len(), dropped.len(), dropped[0].block), (9, 1, 3));
        assert_eq!(dropped[0].reason, format!("run {} (deep) failed", campaign.runs[lost].number()));
        assert_eq!(runs.unusable().count(), 1);
    }

    #[test]
    fn an_invalid_run_is_excluded_with_its_reasons_and_only_its_pair_goes() {
        let mut campaign = Sample::default().campaign();
        let lost = campaign.runs.iter().position(|run| run.block == 3 && run.variant == "deep").unwrap();
        campaign.runs[lost].record.invalid = vec!["a thread moved".into(), "a counter wrapped".into()];
        let runs = Runs::of(&campaign);
        let (pairs, dropped) = runs.pairs(place("base"), place("deep"), SUBJECT);
        assert_eq!((pairs.len(), dropped.len(), dropped[0].block), (9, 1, 3));
        let unusable: Vec<_> = runs.unusable().collect();
        assert_eq!((unusable.len(), unusable[0].kind), (1, Unusable::Excluded));
        assert_eq!(unusable[0].reason, "a thread moved; a counter wrapped");
        assert_eq!(runs.points(place("deep"), SUBJECT.msg_bytes).count(), 9);
    }

    #[test]
    fn a_campaign_cut_short_lacks_the_blocks_not_yet_run() {
        let mut campaign = Sample::default().campaign();
        campaign.runs.retain(|run| run.block < 7);
        let (pairs, dropped) = Runs::of(&campaign).pairs(place("base"), place("deep"), SUBJECT);
        assert_eq!((pairs.len(), dropped.len()), (7, 3));
        assert_eq!(dropped[0].reason, "base has not run");
    }

    #[test]
    fn blocks_that_a_campaign_did_not_need_are_not_missing() {
        let mut campaign = Sample::default().campaign();
        campaign.design.stop = StopRule::WhenDecided { first_look: 6, look_every: 1, max_time_ns: None };
        campaign.runs.retain(|run| run.block < 7);
        let (pairs, dropped) = Runs::of(&campaign).pairs(place("base"), place("deep"), SUBJECT);
        assert_eq!((pairs.len(), dropped.len()), (7, 0));
    }
}
