//! What simulated campaigns came to, counted.

use std::ops::AddAssign;

use super::Setting;
use crate::{
    CampaignVerdict, Comparison, Verdict,
    compare::{Cell, Effect},
};

/// How many campaigns, or intervals, of a setting did what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Campaigns.
    pub campaigns: u64,
    /// Campaigns in which a gate was found to differ, at any of the looks.
    pub significant: u64,
    /// Campaigns in which a gate was, in the end, improved or regressed.
    pub claims: u64,
    /// The same, in the direction in which there is no effect.
    pub wrong_way: u64,
    /// Campaigns whose verdict is unstable.
    pub unstable: u64,
    /// Campaigns whose verdict is inconclusive.
    pub inconclusive: u64,
    /// Campaigns whose verdict is equivalent or negligible.
    pub same: u64,
    /// Campaigns in which Student's t alone, uncorrected, finds that the first gate differs.
    pub t_significant: u64,
    /// Campaigns in which the first gate's interval of equivalence lies within its margin.
    pub within: u64,
    /// Gates.
    pub intervals: u64,
    /// Gates whose interval holds the truth.
    pub covered: u64,
    /// Gates with an interval by another method.
    pub checks: u64,
    /// Those of them whose other interval holds the truth.
    pub checks_covered: u64,
    /// Blocks made.
    pub blocks: u64,
}

impl Tally {
    /// Counts a campaign at its last look; whether any look found a difference is known from all of them.
    pub(super) fn count(&mut self, setting: &Setting, last: &Comparison, significant: bool, blocks: u32) {
        let claims = |verdict: Verdict| last.gates().any(|gate| gate.verdict == verdict);
        self.campaigns += 1;
        self.blocks += u64::from(blocks);
        self.significant += u64::from(significant);
        self.claims += u64::from(claims(Verdict::Improved) || claims(Verdict::Regressed));
        self.wrong_way += u64::from(claims(Verdict::Regressed) && setting.effect() > 0.0);
        self.unstable += u64::from(last.verdict == CampaignVerdict::Unstable);
        self.inconclusive += u64::from(last.verdict == CampaignVerdict::Inconclusive);
        let same = matches!(last.verdict, CampaignVerdict::Equivalent | CampaignVerdict::Negligible);
        self.same += u64::from(same);
        let first = last.gates().next().and_then(|gate| Some((gate, gate.effect.as_ref()?)));
        if let Some((gate, effect)) = first {
            let margin = gate.margin;
            self.t_significant += u64::from(effect.p_t.is_some_and(|p| p < last.alpha));
            let within = effect.equivalence_low > -margin && effect.equivalence_high < margin;
            self.within += u64::from(within);
        }
        for effect in last.gates().filter_map(|gate: &Cell| gate.effect) {
            self.count_intervals(setting, &effect);
        }
    }

    fn count_intervals(&mut self, setting: &Setting, effect: &Effect) {
        let truth = setting.effect().exp_m1();
        let holds = |low: f64, high: f64| u64::from(low <= truth && truth <= high);
        self.intervals += 1;
        self.covered += holds(effect.low, effect.high);
        if let Some(check) = effect.cross_check {
            self.checks += 1;
            self.checks_covered += holds(check.low, check.high);
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        let Tally { campaigns, significant, claims, wrong_way, unstable, inconclusive, same, .. } = other;
        let Tally { t_significant, within, intervals, covered, checks, checks_covered, blocks, .. } = other;
        self.campaigns += campaigns;
        self.significant += significant;
        self.claims += claims;
        self.wrong_way += wrong_way;
        self.unstable += unstable;
        self.inconclusive += inconclusive;
        self.same += same;
        self.t_significant += t_significant;
        self.within += within;
        self.intervals += intervals;
        self.covered += covered;
        self.checks += checks;
        self.checks_covered += checks_covered;
        self.blocks += blocks;
    }
}
