//! How often a series is said to have changed that has not, and how soon one is that has, by simulated histories that are judged
//! as measured ones are.

use std::collections::BTreeSet;

use schema::{Certainty, FoundBy};

use super::{Nights, Step, Wander, Where};
use crate::history::{NightReport, Rules, fence_hits, judge};

/// Nights of a series without a change.
pub const NIGHTS: usize = 90;
/// Nights before a step.
pub const BEFORE: usize = 60;
/// A step that is not told after so many nights counts as told then.
const PATIENCE: usize = 30;

/// What is said of series without a change, one bandwidth series a suite.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Silence {
    /// Series.
    pub series: u32,
    /// Those with a change point, suspected or confirmed, after [`NIGHTS`].
    pub changed: u32,
    /// Those with a confirmed one.
    pub confirmed: u32,
}

impl Silence {
    /// Simulates this many series with one per cent of such noise.
    pub fn simulate(noise: Wander, cv: f64, series: u32) -> Self {
        let mut silence = Silence { series, ..Silence::default() };
        for seed in 0..series {
            let history =
                Nights { nights: NIGHTS, series: 1, noise, cv, seed: seed.into(), ..Nights::default() };
            let report = judged(&history, NIGHTS);
            let points = &report.series[0].change_points;
            silence.changed += u32::from(!points.is_empty());
            silence.confirmed +=
                u32::from(points.iter().any(|point| point.certainty == Certainty::Confirmed));
        }
        silence
    }
}

/// What a suite without a change is told night after night, once it has enough nights.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Vigil {
    /// Nights that were judged.
    pub nights: u32,
    /// Series said to have changed for sure, each once however long it stands: false alarms and false improvements.
    pub confirmed: u32,
    /// Series suspected to have changed, each once.
    pub suspected: u32,
    /// Series measured again, over all nights.
    pub measured_again: u32,
}

impl Vigil {
    /// Judges every night of so many suites of so many series. What stands out is not measured again.
    pub fn simulate(noise: Wander, suites: u32, series: usize) -> Self {
        let mut vigil = Vigil::default();
        for seed in 0..suites {
            let seed = seed.into();
            let nights = Nights { nights: NIGHTS, series, hosts: 5, noise, seed, ..Nights::default() };
            let (history, rules) = (nights.history(), Rules::default());
            let (mut confirmed, mut suspected) = (BTreeSet::new(), BTreeSet::new());
            for night in rules.nights_to_start as i64..=NIGHTS as i64 {
                let report = judge(&history, night, &rules).expect("a night of the history");
                let members = report.findings.iter().flat_map(|finding| &finding.members);
                for member in members.filter(|member| member.found_by == FoundBy::ChangePoint) {
                    match member.certainty {
                        Certainty::Confirmed => confirmed.insert(member.series),
                        Certainty::Suspected => suspected.insert(member.series),
                    };
                }
                vigil.nights += 1;
                vigil.measured_again += fence_hits(&history, night, &rules).len() as u32;
            }
            vigil.confirmed += confirmed.len() as u32;
            vigil.suspected += suspected.len() as u32;
        }
        vigil
    }
}

/// Nights of the new level until a step is told, and until it is confirmed, in ascending order, of so many series with one
/// per cent of noise.
pub fn nights_until_told(noise: Wander, worse: f64, series: u32) -> (Vec<usize>, Vec<usize>) {
    let (mut told, mut confirmed) = (Vec::new(), Vec::new());
    for seed in 0..series {
        let step = Step { at: Where::Everywhere, night: BEFORE, worse, until: None };
        let (steps, seed) = (vec![step], 1_000_000 + u64::from(seed));
        let nights = Nights { nights: BEFORE + PATIENCE, series: 1, noise, steps, seed, ..Nights::default() };
        let (mut first, mut sure) = (PATIENCE, PATIENCE);
        for since in 1..=PATIENCE {
            let report = judged(&nights, BEFORE + since);
            let said = |certainty| report.findings.iter().any(|finding| finding.certainty >= certainty);
            first = if said(Certainty::Suspected) { first.min(since) } else { first };
            if said(Certainty::Confirmed) {
                sure = since;
                break;
            }
        }
        told.push(first);
        confirmed.push(sure);
    }
    told.sort_unstable();
    confirmed.sort_unstable();
    (told, confirmed)
}

fn judged(nights: &Nights, night: usize) -> NightReport {
    judge(&nights.history(), night as i64, &Rules::default()).expect("a night of the history")
}
