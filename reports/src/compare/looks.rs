//! Where a campaign stands among its planned looks, and the levels that follow from that.

use std::collections::BTreeMap;

use schema::{Campaign, Design, Purpose, Role, StopRule, Stopped};

use super::{
    levels::Levels,
    model::{Look, Looks},
    spending::{self, Spend},
};

/// What a comparison may find at the look it is.
pub(super) struct Standing {
    /// The looks; none in a campaign that makes all its blocks.
    pub(super) looks: Option<Looks>,
    /// The levels of this look.
    pub(super) levels: Levels,
    /// Pairs below which nothing is said, because the first look has not come.
    pub(super) fewest_pairs: u32,
}

impl Standing {
    /// Of a campaign with so many gates.
    pub(super) fn of(campaign: &Campaign, alpha: f64, gates: u32) -> Self {
        if campaign.design.stop == StopRule::AllBlocks {
            return Standing { looks: None, levels: Levels::of_one_look(alpha), fewest_pairs: 0 };
        }
        let blocks = whole_blocks(campaign);
        let plan = Plan::of(campaign, blocks);
        let levels = plan.both_levels(alpha, gates);
        let at = plan.blocks.iter().rposition(|look| *look <= blocks);
        let here = at.unwrap_or(0);
        let spends = plan.spends(alpha);
        let look =
            |n: usize| Look { blocks: plan.blocks[n], spent: spends[n].spent, level: levels[n].difference };
        Standing {
            levels: levels[here],
            fewest_pairs: if at.is_none() { plan.blocks[0] } else { 0 },
            looks: Some(Looks {
                planned: (0..plan.blocks.len()).map(look).collect(),
                at: at.map(|at| at as u32),
                blocks,
                stopped: campaign.stopped,
            }),
        }
    }
}

/// The looks that a design plans, with what each may find in a campaign with so many gates; a design that makes all its
/// blocks has one.
pub fn planned_looks(design: &Design, gates: u32, alpha: f64) -> Vec<Look> {
    if design.stop == StopRule::AllBlocks {
        return vec![Look { blocks: design.blocks, spent: alpha, level: alpha }];
    }
    let plan = Plan { blocks: design.looks(), most: design.blocks.max(1), ended: false };
    let (spends, levels) = (plan.spends(alpha), plan.levels(alpha, gates));
    let looks = plan.blocks.iter().zip(spends).zip(levels);
    looks.map(|((blocks, spend), level)| Look { blocks: *blocks, spent: spend.spent, level }).collect()
}

/// The levels of these looks.
pub(super) fn planned_levels(design: &Design, gates: u32, alpha: f64) -> Vec<Levels> {
    Plan { blocks: design.looks(), most: design.blocks.max(1), ended: false }.both_levels(alpha, gates)
}

/// The looks of a campaign as they are, or would be, taken.
struct Plan {
    blocks: Vec<u32>,
    most: u32,
    /// Whether the last look is the last there is, whatever share of the blocks it has.
    ended: bool,
}

impl Plan {
    /// Time does not depend on what is measured, so the look after which it ended may spend what is left.
    fn of(campaign: &Campaign, whole: u32) -> Self {
        let mut blocks = campaign.design.looks();
        let ended = campaign.stopped == Some(Stopped::TimeSpent);
        if ended {
            blocks.retain(|look| *look < whole);
            blocks.push(whole.max(1));
        }
        Plan { blocks, most: campaign.design.blocks.max(1), ended }
    }

    fn spends(&self, alpha: f64) -> Vec<Spend> {
        let last = self.blocks.len() - 1;
        let spend = |(n, blocks): (usize, &u32)| {
            let share = f64::from(*blocks) / f64::from(self.most);
            let spent = if n == last && self.ended { alpha } else { spending::spent(alpha, share) };
            Spend { share, spent }
        };
        self.blocks.iter().enumerate().map(spend).collect()
    }

    fn both_levels(&self, alpha: f64, gates: u32) -> Vec<Levels> {
        let difference = self.levels(alpha, gates);
        // Each of the two one-sided tests of equivalence is the upper half of a two-sided test at twice the level.
        let equivalence = self.levels(2.0 * alpha, 1);
        let both = |(difference, twice): (f64, f64)| Levels { difference, equivalence: twice / 2.0 };
        difference.into_iter().zip(equivalence).map(both).collect()
    }

    /// The levels that p, corrected for the number of gates, is tested at.
    ///
    /// Each gate has its own bounds, at its own part of alpha (Maurer and Bretz 2013). Those of the smallest part, times the
    /// number of gates, are exact for the first gate that Holm rejects and a little strict for the others.
    fn levels(&self, alpha: f64, gates: u32) -> Vec<f64> {
        let gates = f64::from(gates.max(1));
        spending::levels(&self.spends(alpha / gates)).into_iter().map(|level| level * gates).collect()
    }
}

/// Blocks of which every run was tried, from the first on.
fn whole_blocks(campaign: &Campaign) -> u32 {
    let controls = campaign.variants.iter().filter(|variant| variant.role == Role::Baseline).count();
    let of_a_block = campaign.workloads.len() * (campaign.variants.len() + controls);
    let mut tried: BTreeMap<u32, std::collections::BTreeSet<(&str, &str, bool)>> = BTreeMap::new();
    for run in &campaign.runs {
        let key = (run.workload.as_str(), run.variant.as_str(), run.purpose == Purpose::Control);
        tried.entry(run.block).or_default().insert(key);
    }
    (0..).take_while(|block| tried.get(block).is_some_and(|runs| runs.len() >= of_a_block)).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sample;
    use pretty_assertions::assert_eq;

    /// Looks after 6, 10, 14, 18 and 20 blocks.
    fn campaign(blocks: u32, stopped: Option<Stopped>) -> Campaign {
        let mut campaign = Sample { blocks: 20, ..Sample::default() }.campaign();
        campaign.design.stop = StopRule::WhenDecided { first_look: 6, look_every: 4, max_time_ns: None };
        campaign.runs.retain(|run| run.block < blocks);
        campaign.stopped = stopped;
        campaign
    }

    fn at(blocks: u32, stopped: Option<Stopped>) -> (Looks, Standing) {
        let standing = Standing::of(&campaign(blocks, stopped), 0.05, 1);
        (standing.looks.clone().unwrap(), standing)
    }

    #[test]
    fn a_campaign_of_all_blocks_has_one_look_at_all_of_alpha() {
        let standing = Standing::of(&Sample::default().campaign(), 0.05, 3);
        assert_eq!(standing.levels, Levels::of_one_look(0.05));
        assert!(standing.looks.is_none() && standing.fewest_pairs == 0);
    }

    #[test]
    fn before_the_first_look_nothing_is_said() {
        let (looks, standing) = at(5, None);
        assert_eq!((looks.at, looks.blocks, standing.fewest_pairs), (None, 5, 6));
    }

    #[test]
    fn every_look_has_its_level_and_the_last_the_largest() {
        let (looks, standing) = at(14, Some(Stopped::Decided));
        assert_eq!(looks.planned.iter().map(|look| look.blocks).collect::<Vec<_>>(), [6, 10, 14, 18, 20]);
        assert_eq!((looks.at, looks.stopped), (Some(2), Some(Stopped::Decided)));
        assert_eq!(standing.levels.difference, looks.planned[2].level);
        assert!(looks.planned.is_sorted_by(|a, b| a.level < b.level && a.spent < b.spent));
        assert!((looks.planned[4].spent - 0.05).abs() < 1e-12 && looks.planned[4].level < 0.05);
        assert!(standing.levels.equivalence < looks.planned[2].spent);
    }

    #[test]
    fn what_is_planned_is_what_is_taken() {
        let campaign = campaign(14, None);
        for gates in [1, 3] {
            let taken = Standing::of(&campaign, 0.05, gates).looks.unwrap().planned;
            assert_eq!(planned_looks(&campaign.design, gates, 0.05), taken);
        }
        let fixed = planned_looks(&Sample { blocks: 9, ..Sample::default() }.campaign().design, 4, 0.05);
        assert_eq!(fixed, [Look { blocks: 9, spent: 0.05, level: 0.05 }]);
    }

    #[test]
    fn between_two_looks_the_last_one_counts() {
        assert_eq!(at(12, None).0.at, Some(1));
    }

    #[test]
    fn a_block_that_was_begun_is_not_whole() {
        let mut begun = campaign(7, None);
        begun.runs.pop();
        assert_eq!(whole_blocks(&begun), 6);
    }

    #[test]
    fn when_the_time_is_spent_the_last_look_spends_what_is_left() {
        let (looks, standing) = at(12, Some(Stopped::TimeSpent));
        assert_eq!(looks.planned.iter().map(|look| look.blocks).collect::<Vec<_>>(), [6, 10, 12]);
        assert_eq!((looks.at, looks.planned[2].spent), (Some(2), 0.05));
        let (unspent, _) = at(10, None);
        assert_eq!(looks.planned[1], unspent.planned[1], "what was looked at before stays as it was");
        assert!(standing.levels.difference > unspent.planned[2].level);
    }

    #[test]
    fn more_gates_have_stricter_bounds_but_no_looser_sum() {
        let one = Standing::of(&campaign(10, None), 0.05, 1).levels.difference;
        let eight = Standing::of(&campaign(10, None), 0.05, 8).levels.difference;
        assert!(eight <= one && eight > one / 2.0, "{one} {eight}");
    }

    #[test]
    fn the_first_look_that_can_decide_comes_later_in_a_longer_campaign_but_sooner_in_its_share() {
        use crate::compare::{CompareOptions, fewest_pairs, first_useful_look};
        let first = |most, gates| first_useful_look(most, fewest_pairs, gates, &CompareOptions::default());
        assert_eq!([6, 10, 20, 40, 60].map(|most| first(most, 1)), [6, 7, 8, 10, 11].map(Some));
        assert_eq!((first(20, 8), first(5, 1)), (Some(11), None));
    }
}
