//! A series up to the night that is judged: what its nights say, and the levels of its present epoch.

use std::{cmp::Ordering, collections::HashMap};

use schema::{Acknowledgement, Direction, History, Metric, Night, NightValue, Series, Trend};

use super::{Rules, levels::Levels, shifts::Epoch};

/// The nights up to the one that is judged, and what is known about all series.
pub(super) struct Past<'a> {
    pub(super) history: &'a History,
    /// In time order, the one that is judged last.
    pub(super) nights: &'a [Night],
    /// By their identity, where they stand in time.
    pub(super) order: HashMap<i64, usize>,
    pub(super) rules: &'a Rules,
}

impl<'a> Past<'a> {
    /// None where the history has no such night.
    pub(super) fn of(history: &'a History, night: i64, rules: &'a Rules) -> Option<Self> {
        let tonight = history.nights.iter().position(|known| known.id == night)?;
        let nights = &history.nights[..=tonight];
        let order = nights.iter().enumerate().map(|(at, night)| (night.id, at)).collect();
        Some(Past { history, nights, order, rules })
    }

    /// Where the night that is judged stands in time.
    pub(super) fn tonight(&self) -> usize {
        self.nights.len() - 1
    }

    /// Why a change at a night is known: what a person said last of that night or one beside it.
    pub(super) fn acknowledged(&self, series: i64, night: usize) -> Option<String> {
        let is = |known: &&Acknowledgement| {
            let at = self.order.get(&known.night);
            known.series == series && at.is_some_and(|at| at.abs_diff(night) <= 1)
        };
        self.history.acknowledgements.iter().rev().find(is).map(|known| known.reason.clone())
    }
}

/// A series as far as it is judged.
pub(super) struct Track<'a> {
    pub(super) series: &'a Series,
    /// What the nights say, each with where it stands in time.
    pub(super) nights: Vec<(usize, &'a NightValue)>,
    /// The levels of the present epoch.
    pub(super) levels: Levels,
    /// A smaller change does not matter.
    pub(super) margin: f64,
}

impl<'a> Track<'a> {
    pub(super) fn of(series: &'a Series, past: &Past) -> Self {
        let seen = |value: &'a NightValue| Some((*past.order.get(&value.night)?, value));
        let nights: Vec<(usize, &NightValue)> = series.values.iter().filter_map(seen).collect();
        let margin = past.rules.margin(series.key.metric);
        let present = stretches(&nights).last().copied().unwrap_or_default();
        let levels = Levels::of(present, margin, true, past.rules);
        Track { series, nights, levels, margin }
    }

    pub(super) fn metric(&self) -> Metric {
        self.series.key.metric
    }

    /// What it says of a night.
    pub(super) fn on(&self, night: usize) -> Option<&'a NightValue> {
        let found = self.nights.binary_search_by_key(&night, |(at, _)| *at).ok()?;
        Some(self.nights[found].1)
    }

    /// The least change that is one.
    pub(super) fn floor(&self, rules: &Rules) -> f64 {
        Epoch::floor(self.margin, self.levels.noise.map_or(0.0, |noise| noise.cv), rules)
    }

    /// The first of the latest nights of the present epoch for all of which this holds; none if it doesn't for the last.
    pub(super) fn since(&self, holds: impl Fn(&NightValue) -> bool) -> Option<usize> {
        let present = stretches(&self.nights).last().copied().unwrap_or_default();
        present.iter().rev().take_while(|(_, value)| holds(value)).last().map(|(at, _)| *at)
    }
}

/// Nights of one configuration after another: epochs.
pub(super) fn stretches<'n, 'v>(nights: &'n [(usize, &'v NightValue)]) -> Vec<&'n [(usize, &'v NightValue)]> {
    nights.chunk_by(|(_, one), (_, next)| one.configuration == next.configuration).collect()
}

/// Which way a change is; none where there is none.
pub(super) fn trend(metric: Metric, change: f64) -> Option<Trend> {
    let better = match metric.direction() {
        Direction::HigherIsBetter => change,
        Direction::LowerIsBetter => -change,
    };
    match better.partial_cmp(&0.0)? {
        Ordering::Greater => Some(Trend::Improved),
        Ordering::Less => Some(Trend::Regressed),
        Ordering::Equal => None,
    }
}
