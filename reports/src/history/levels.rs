//! The levels of one epoch of a series, and the nights that make them.

use schema::{Certainty, NightValue};

use crate::compare::median;

use super::{
    Rules,
    level::{Alike, Compared, compare, compare_alike, winsorised},
    shifts::{Epoch, Shift, Shifts},
};

/// A night that has a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Valued {
    /// Where the night stands in time.
    pub(super) at: usize,
    /// What it is worth, as [`value`] has it.
    pub(super) value: f64,
}

/// What a night is worth: the median of all its runs. To make runs again because the first looked odd, and then to keep the
/// first alone, would make odd nights of chance last.
pub(super) fn value(night: &NightValue) -> Option<f64> {
    let first = night.value.filter(|value| value.is_finite())?;
    if night.confirm_runs.is_empty() {
        return Some(first);
    }
    median(&runs(night))
}

/// All runs of a night, those made again last.
pub(super) fn runs(night: &NightValue) -> Vec<f64> {
    night.runs.iter().chain(&night.confirm_runs).copied().collect()
}

/// The levels of an epoch.
pub(super) struct Levels {
    /// Its nights that have a value.
    pub(super) nights: Vec<Valued>,
    /// Where they begin, but for the first.
    pub(super) shifts: Vec<Shift>,
    /// How the nights vary around them; none with too few nights.
    pub(super) noise: Option<super::noise::Noise>,
    /// How they vary around all levels; none where values have no logarithm.
    alike: Option<Alike>,
    winsor_mads: f64,
}

impl Levels {
    /// Of nights of one configuration, each with where it stands in time. `open` and `margin` as in [`Epoch`].
    pub(super) fn of(nights: &[(usize, &NightValue)], margin: f64, open: bool, rules: &Rules) -> Self {
        let valued = |(at, night): &(usize, &NightValue)| Some(Valued { at: *at, value: value(night)? });
        let nights: Vec<Valued> = nights.iter().filter_map(valued).collect();
        let values = values(&nights);
        let Shifts { shifts, noise } = Epoch { values: &values, margin, open, rules }.shifts();
        let mut levels = Levels { nights, shifts, noise, alike: None, winsor_mads: rules.winsor_mads };
        let all: Vec<Vec<f64>> = (0..=levels.last()).map(|number| levels.level(number)).collect();
        levels.alike = Alike::of(&all, levels.memory());
        levels
    }

    /// How many nights of the epoch precede the n-th level; level 0 is before the first shift.
    pub(super) fn begin(&self, level: usize) -> usize {
        match level {
            0 => 0,
            level => self.shifts.get(level - 1).map_or(self.nights.len(), |shift| shift.index),
        }
    }

    /// The values of the n-th level, far outliers pulled in.
    pub(super) fn level(&self, number: usize) -> Vec<f64> {
        let nights = &self.nights[self.begin(number)..self.begin(number + 1)];
        winsorised(&values(nights), self.winsor_mads, 0.0)
    }

    /// The last level.
    pub(super) fn last(&self) -> usize {
        self.shifts.len()
    }

    /// The level that the epoch has come to for sure: one that is only suspected can but be the last.
    pub(super) fn sure(&self) -> usize {
        self.shifts.iter().filter(|shift| shift.certainty == Certainty::Confirmed).count()
    }

    /// How a level compares with a later one; none where the epoch has no such levels.
    pub(super) fn compared(&self, from: usize, to: usize) -> Option<Compared> {
        let (from, to) = (self.level(from), self.level(to));
        match self.alike {
            Some(alike) => compare_alike(&from, &to, alike),
            None => compare(&from, &to, self.memory()),
        }
    }

    /// How much of a night's deviation the next shares; 0 with too few nights to tell.
    pub(super) fn memory(&self) -> f64 {
        self.noise.map_or(0.0, |noise| noise.memory)
    }
}

/// The values of nights.
pub(super) fn values(nights: &[Valued]) -> Vec<f64> {
    nights.iter().map(|night| night.value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::nights::of_values;

    #[test]
    fn a_night_that_was_measured_again_is_the_median_of_all_runs() {
        let mut night = of_values(&[Some(90.0)]).series[0].values[0].clone();
        assert_eq!(value(&night), Some(90.0));
        night.confirm_runs = vec![100.0; 6];
        assert_eq!(value(&night), Some(100.0));
        night.value = None;
        assert_eq!(value(&night), None);
    }
}
