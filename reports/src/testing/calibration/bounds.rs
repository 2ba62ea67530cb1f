//! What simulated campaigns must show, and whether they did.

use super::{Row, Tally};

/// What a group of settings is there to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounds {
    /// Without an effect: a gate differs in at most 5 % of the campaigns, is improved or regressed in at most 1 %, and 93 to 97 %
    /// of the intervals hold the truth (at least 93 % with several looks, or where the machine jumps).
    NoEffect,
    /// The test finds the effect in at least 80 % of the campaigns.
    Difference,
    /// The interval of equivalence lies within the margin in at least 80 % of the campaigns.
    Sameness,
    /// The verdict is the right one in at least 80 % of the campaigns.
    Verdict,
}

const DIFFER_AT_MOST: f64 = 0.05;
const CLAIM_AT_MOST: f64 = 0.01;
const COVERAGE: (f64, f64) = (0.93, 0.97);
const POWER_AT_LEAST: f64 = 0.8;
/// A share that is exactly at its bound is drawn beyond this many standard errors once in 740 rows.
const ERRORS: f64 = 3.0;

/// What a share of so many may differ from a bound by chance.
pub(super) fn allowance(bound: f64, of: u64) -> f64 {
    ERRORS * (bound * (1.0 - bound) / of.max(1) as f64).sqrt()
}

impl Bounds {
    /// The bounds that a row misses by more than chance, in words.
    pub fn missed(self, row: &Row) -> Vec<String> {
        let tally = &row.tally;
        let mut missed = Vec::new();
        let mut at_most = |what: &str, count: u64, of: u64, bound: f64| {
            if count as f64 / of.max(1) as f64 > bound + allowance(bound, of) {
                missed.push(format!("{row}: {what} {count} of {of}, more than {} %", 100.0 * bound));
            }
        };
        match self {
            Bounds::NoEffect => {
                at_most("a gate differs in", tally.significant, tally.campaigns, DIFFER_AT_MOST);
                at_most("improved or regressed in", tally.claims, tally.campaigns, CLAIM_AT_MOST);
            }
            Bounds::Difference => at_most(
                "not found in",
                tally.campaigns - tally.significant,
                tally.campaigns,
                1.0 - POWER_AT_LEAST,
            ),
            Bounds::Sameness => at_most(
                "not shown to be the same in",
                tally.campaigns - tally.within,
                tally.campaigns,
                1.0 - POWER_AT_LEAST,
            ),
            Bounds::Verdict => {
                let right = right(row);
                at_most(
                    "no right verdict in",
                    tally.campaigns - right,
                    tally.campaigns,
                    1.0 - POWER_AT_LEAST,
                );
                at_most("improved or regressed the wrong way in", wrong(row), tally.campaigns, CLAIM_AT_MOST);
            }
        }
        let uncovered = tally.intervals - tally.covered;
        at_most("intervals miss the truth in", uncovered, tally.intervals, 1.0 - COVERAGE.0);
        // The interval of an early look is wider on purpose, that of a machine which jumps by what it saw.
        if row.setting.looks.is_none() && row.setting.noise.is_steady() {
            at_most("intervals hold the truth in", tally.covered, tally.intervals, COVERAGE.1);
        }
        missed
    }
}

/// Campaigns with the right verdict: a claim where the effect is past the margin, the same where there is none.
pub(super) fn right(row: &Row) -> u64 {
    let Tally { claims, wrong_way, same, .. } = row.tally;
    if row.setting.effect_in_margins > 1.0 { claims - wrong_way } else { same }
}

fn wrong(row: &Row) -> u64 {
    if row.setting.effect_in_margins > 0.0 { row.tally.wrong_way } else { row.tally.claims }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::calibration::{Noise, Setting};
    use pretty_assertions::assert_eq;

    fn row(effect_in_margins: f64, tally: Tally) -> Row {
        let setting = Setting {
            noise: Noise::Normal,
            gates: 1,
            blocks: 10,
            sd_in_margins: 1.0,
            effect_in_margins,
            looks: None,
        };
        let sound = Tally { campaigns: 2_000, intervals: 2_000, covered: 1_900, ..Tally::default() };
        let mut row = Row { setting, tally: sound };
        row.tally += tally;
        row
    }

    #[test]
    fn what_chance_explains_is_no_miss() {
        // Three standard errors of 5 % of 2,000 are 29 campaigns, of 1 % 13.
        let of = |significant, claims| {
            Bounds::NoEffect.missed(&row(0.0, Tally { significant, claims, ..Tally::default() }))
        };
        assert_eq!(of(129, 33), [""; 0]);
        assert_eq!(
            of(130, 34),
            [
                "normal, 1 gate, 10 blocks, sd 1, effect 0: a gate differs in 130 of 2000, more than 5 %",
                "normal, 1 gate, 10 blocks, sd 1, effect 0: improved or regressed in 34 of 2000, more than 1 %",
            ]
        );
    }

    #[test]
    fn intervals_may_be_too_narrow_or_too_wide() {
        let of = |covered| {
            let mut row = row(0.0, Tally::default());
            row.tally.covered = covered;
            Bounds::NoEffect.missed(&row).len()
        };
        assert_eq!([of(1_825), of(1_826), of(1_962), of(1_963)], [1, 0, 0, 1]);
    }

    #[test]
    fn a_claim_the_wrong_way_is_not_power() {
        let claims = Tally { claims: 1_800, wrong_way: 0, ..Tally::default() };
        assert_eq!(Bounds::Verdict.missed(&row(2.0, claims)).len(), 0);
        assert_eq!(Bounds::Verdict.missed(&row(2.0, Tally { wrong_way: 1_800, ..claims })).len(), 2);
        assert_eq!(Bounds::Verdict.missed(&row(0.0, claims)).len(), 2);
        assert_eq!(Bounds::Difference.missed(&row(2.0, Tally { significant: 1_500, ..claims })).len(), 1);
        assert_eq!(Bounds::Sameness.missed(&row(0.0, Tally { within: 1_600, ..claims })).len(), 0);
    }
}
