//! The change points of one epoch of a series: where its level changed by more than its noise and by more than matters.
//!
//! E-divisive proposes; a split stays if it is unlikely by chance, given that a night is often like the one before, and large.
//! A level has to hold for some nights, or it was an excursion and no level. See docs/adr/0014.

use schema::Certainty;

use crate::compare::median;

use super::{
    Rules,
    e_divisive::{Bar, Proposal, Split, merge, weak_splits},
    level::{mad, mean, winsorised},
    noise::{Noise, inflation},
};

/// How many times more likely by chance a split may be that is only suspected; also what the search starts from.
const SUSPECTED_P: f64 = 10.0;
/// Nothing is pulled in closer than this many margins, or a change of numbers that are mostly equal would shrink to nothing.
const REACH_IN_MARGINS: f64 = 2.0;
/// A suspicion is given up after the nights of so many levels.
const SUSPECTED_LEVELS: usize = 2;
/// A single night is the fence's question.
const FEWEST_SUSPECTED: usize = 2;

/// A change of the level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shift {
    /// The first value of the new level.
    pub(super) index: usize,
    /// p of the split, its memory taken into account.
    pub(super) p: f64,
    /// How sure.
    pub(super) certainty: Certainty,
}

/// The levels of an epoch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shifts {
    /// Where they begin, but for the first.
    pub(super) shifts: Vec<Shift>,
    /// What is left around them; none with too few nights.
    pub(super) noise: Option<Noise>,
}

/// The values of an epoch, night by night, and what decides.
pub(super) struct Epoch<'a> {
    /// Those nights that have a value.
    pub(super) values: &'a [f64],
    /// A smaller change does not matter.
    pub(super) margin: f64,
    /// Whether more nights may follow, so that a change near its end may be suspected.
    pub(super) open: bool,
    /// The numbers.
    pub(super) rules: &'a Rules,
}

impl Epoch<'_> {
    /// Finds them.
    pub(super) fn shifts(&self) -> Shifts {
        let Rules { nights_to_start, window_nights, change_point_p, winsor_mads, .. } = *self.rules;
        if self.values.len() < (nights_to_start as usize).max(2) {
            return Shifts { shifts: Vec::new(), noise: None };
        }
        let searched = winsorised(self.values, winsor_mads, REACH_IN_MARGINS * self.margin);
        let likely = |proposal: Proposal| proposal.is_significant(SUSPECTED_P * change_point_p);
        let mut splits = weak_splits(&searched, (window_nights as usize).max(2), &likely);
        let merged = |splits| {
            let inflation_around = |splits: &[usize]| {
                let memory = Noise::around(&searched, splits).memory;
                move |nights| inflation(nights, memory)
            };
            merge(&searched, splits, inflation_around, |splits| self.bars(&searched, splits))
        };
        let kept = loop {
            let kept = merged(splits);
            splits = kept.iter().map(|split| split.index).collect();
            match self.no_level(&kept) {
                Some(at) => splits.remove(at),
                None => break merged(self.settled(splits)),
            };
        };
        let splits: Vec<usize> = kept.iter().map(|split| split.index).collect();
        let noise = Some(Noise::around(&searched, &splits));
        let shift = |split: &Split| Shift {
            index: split.index,
            p: split.p,
            certainty: match self.holds(split.index) && split.p < change_point_p {
                true => Certainty::Confirmed,
                false => Certainty::Suspected,
            },
        };
        Shifts { shifts: kept.iter().map(shift).collect(), noise }
    }

    /// The least change of a level that is one, as a share.
    pub(super) fn floor(margin: f64, cv: f64, rules: &Rules) -> f64 {
        margin.max(rules.cv_multiple * cv)
    }

    fn bars(&self, searched: &[f64], splits: &[usize]) -> Vec<Bar> {
        let magnitude = Self::floor(self.margin, Noise::around(searched, splits).cv, self.rules);
        let p = self.rules.change_point_p;
        let bar = |index: &usize| {
            let p = if self.is_recent(*index, splits) { SUSPECTED_P * p } else { p };
            Bar { p, magnitude }
        };
        splits.iter().map(bar).collect()
    }

    /// Whether nights to come may yet make sure of a split.
    fn is_recent(&self, index: usize, splits: &[usize]) -> bool {
        let nights = SUSPECTED_LEVELS * self.nights_of_a_level();
        self.open && splits.last() == Some(&index) && index + nights > self.values.len()
    }

    /// Nights that make a level: the first, and those after it.
    fn nights_of_a_level(&self) -> usize {
        self.rules.nights_after as usize + 1
    }

    fn holds(&self, index: usize) -> bool {
        index + self.nights_of_a_level() <= self.values.len()
    }

    /// Nights of a level at the end, which may be suspected.
    fn nights_at_the_end(&self) -> usize {
        if self.open { FEWEST_SUSPECTED.min(self.nights_of_a_level()) } else { self.nights_of_a_level() }
    }

    /// Every split moved to where the levels on both sides differ most. A window that begins or ends beside a change may have it
    /// some nights off, and so has a search that sees a new level pulled in.
    fn settled(&self, mut splits: Vec<usize>) -> Vec<usize> {
        for at in 0..splits.len() {
            let from = if at == 0 { 0 } else { splits[at - 1] };
            let (to, fewest) = match splits.get(at + 1) {
                Some(next) => (*next, self.nights_of_a_level()),
                None => (self.values.len(), self.nights_at_the_end()),
            };
            let both = self.pulled_in(&self.values[from..splits[at]], &self.values[splits[at]..to]);
            splits[at] = furthest_apart(&both, self.nights_of_a_level(), fewest)
                .map_or(splits[at], |index| from + index);
        }
        splits
    }

    /// Two levels in a row, with what is far outside both pulled in.
    fn pulled_in(&self, before: &[f64], after: &[f64]) -> Vec<f64> {
        let (one, other) = (median(before).unwrap_or(0.0), median(after).unwrap_or(0.0));
        let around = |values: &[f64], level: f64| values.iter().map(|v| v - level).collect::<Vec<f64>>();
        let left = mad(&[around(before, one), around(after, other)].concat()).unwrap_or(0.0);
        let reach = (self.rules.winsor_mads * left).max(REACH_IN_MARGINS * self.margin * one.abs());
        let (low, high) = (one.min(other) - reach, one.max(other) + reach);
        before.iter().chain(after).map(|value| value.max(low).min(high)).collect()
    }

    /// A split that begins or ends an excursion: of the two the likelier by chance.
    fn no_level(&self, splits: &[Split]) -> Option<usize> {
        let last = splits.len().checked_sub(1)?;
        if self.values.len() - splits[last].index < self.nights_at_the_end() {
            return Some(last);
        }
        let begin = |at: usize| if at == 0 { 0 } else { splits[at - 1].index };
        let end = (0..=last).find(|at| splits[*at].index - begin(*at) < self.nights_of_a_level())?;
        Some(if end > 0 && splits[end - 1].p >= splits[end].p { end - 1 } else { end })
    }
}

/// The split whose sides, of at least so many values each, differ most for their number.
fn furthest_apart(values: &[f64], fewest_before: usize, fewest_after: usize) -> Option<usize> {
    let n = values.len() as f64;
    let level = mean(values);
    let (mut best, mut above) = (None, 0.0);
    for (index, value) in values.iter().enumerate() {
        let (before, after) = (index as f64, n - index as f64);
        if index >= fewest_before && values.len() - index >= fewest_after {
            // The squares that two levels explain, and one does not.
            let apart = above * above * n / (before * after);
            if best.is_none_or(|(most, _)| apart > most) {
                best = Some((apart, index));
            }
        }
        above += value - level;
    }
    best.map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::nights::{NightNoise, Wander};
    use proptest::prelude::*;
    use rand::SeedableRng;

    fn noisy(levels: &[(usize, f64)], wander: Wander, seed: u64) -> Vec<f64> {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let mut noise = NightNoise::new(wander, 0.01);
        let nights = levels.iter().flat_map(|(nights, level)| std::iter::repeat_n(*level, *nights));
        nights.map(|level| level * (1.0 + noise.next(&mut random))).collect()
    }

    fn shifts(values: &[f64]) -> Vec<(usize, Certainty)> {
        let rules = Rules::default();
        let epoch = Epoch { values, margin: 0.02, open: true, rules: &rules };
        epoch.shifts().shifts.iter().map(|shift| (shift.index, shift.certainty)).collect()
    }

    #[test]
    fn a_change_is_suspected_from_its_second_night_and_confirmed_from_its_third() {
        let values = noisy(&[(60, 100.0), (10, 92.0)], Wander::Normal, 1);
        assert_eq!(shifts(&values[..61]), []);
        assert_eq!(shifts(&values[..62]), [(60, Certainty::Suspected)]);
        assert_eq!(shifts(&values[..63]), [(60, Certainty::Confirmed)]);
        assert_eq!(shifts(&values), [(60, Certainty::Confirmed)]);
    }

    #[test]
    fn two_odd_nights_are_no_level_and_three_are() {
        let two = noisy(&[(40, 100.0), (2, 80.0), (30, 100.0)], Wander::Normal, 2);
        assert_eq!(shifts(&two), []);
        let three = noisy(&[(40, 100.0), (3, 80.0), (30, 100.0)], Wander::Normal, 2);
        assert_eq!(shifts(&three), [(40, Certainty::Confirmed), (43, Certainty::Confirmed)]);
    }

    #[test]
    fn an_epoch_that_is_over_has_no_suspicions() {
        let values = noisy(&[(60, 100.0), (2, 92.0)], Wander::Normal, 1);
        let rules = Rules::default();
        let closed = Epoch { values: &values, margin: 0.02, open: false, rules: &rules };
        assert!(closed.shifts().shifts.is_empty());
    }

    #[test]
    fn a_change_is_where_the_levels_differ_most() {
        assert_eq!(furthest_apart(&[1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9], 3, 2), Some(4));
        assert_eq!(furthest_apart(&[1.0, 9.0, 9.0, 9.0, 9.0], 3, 2), Some(3));
        assert_eq!(furthest_apart(&[1.0, 9.0, 9.0, 9.0], 3, 2), None);
        // A night before the loss is a little low as well.
        let values = [[1.01, 0.99].repeat(25), vec![0.985, 0.97, 0.90, 0.91, 0.905, 0.9]].concat();
        assert_eq!(shifts(&values), [(52, Certainty::Confirmed)]);
    }

    #[test]
    fn numbers_that_are_mostly_equal_still_have_levels() {
        let mut values = vec![1_000.0; 40];
        assert_eq!(shifts(&values), []);
        values.extend([1_060.0; 5]);
        assert_eq!(shifts(&values), [(40, Certainty::Confirmed)]);
        values[20] = 1_500.0;
        assert_eq!(shifts(&values), [(40, Certainty::Confirmed)]);
    }

    #[test]
    fn a_change_that_does_not_matter_is_none() {
        let values = noisy(&[(100, 100.0), (100, 98.5)], Wander::Normal, 3);
        assert_eq!(shifts(&values), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn units_do_not_matter(
            values in proptest::collection::vec(0.5f64..2.0, 14..80),
            scale in 1e-3f64..1e12,
        ) {
            let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
            prop_assert_eq!(shifts(&values), shifts(&scaled));
        }

        #[test]
        fn any_numbers_have_an_answer(
            values in proptest::collection::vec(
                prop_oneof![Just(0.0), Just(1.0), -1e3f64..1e3, proptest::num::f64::NORMAL],
                0..80,
            ),
        ) {
            shifts(&values);
        }
    }
}
