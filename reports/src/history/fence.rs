//! Whether a night stands out from the recent nights of its level: the fast question, which a single night can answer and a
//! second measurement of the same night has to confirm.
//!
//! The fence is as far as nights have lately been from the night before, and then some (as rustc-perf has it): the upper quartile of
//! those distances and some interquartile ranges. It looks both ways.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::compare::median;

use super::{
    level::{mean, winsorised},
    levels::values,
    model::FenceReport,
    track::{Past, Track},
};
use crate::compare::mean_and_sd;

/// Distances from night to night that have quartiles worth the name.
const FEWEST_DISTANCES: usize = 3;

/// A night and the fence around the nights before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fence {
    pub(super) report: FenceReport,
    /// p that a night of this level is as far from it, by the prediction interval of Student's t.
    pub(super) p: f64,
}

/// The fence of the night that is judged; none while too few nights are known, and without a value.
pub(super) fn of(track: &Track, past: &Past) -> Option<Fence> {
    let levels = &track.levels;
    let (last, earlier) = levels.nights.split_last()?;
    if last.at != past.tonight() || levels.noise.is_none() {
        return None;
    }
    let tonight = track.on(last.at)?;
    let recent = past.rules.fence_nights as usize;
    let begin = levels.begin(levels.sure());
    let lately = values(&earlier[begin.min(earlier.len())..]);
    let lately = &lately[lately.len().saturating_sub(recent)..];
    let level = median(lately).filter(|level| *level != 0.0)?;
    let distance = |value: f64| (value - level) / level.abs();
    let report = FenceReport {
        level,
        fence: width(track, earlier.len(), past)?,
        distance: distance(tonight.value?),
        again: median(&tonight.confirm_runs).map(distance),
    };
    Some(Fence { report, p: p(lately, tonight.value?, past.rules.winsor_mads, track.margin)? })
}

/// How far a night may be from the level, as a share of it, by how far nights were from the night before.
fn width(track: &Track, earlier: usize, past: &Past) -> Option<f64> {
    let levels = &track.levels;
    let begins = |index: usize| levels.shifts.iter().any(|shift| shift.index == index);
    let far = |index: usize| {
        let (before, after) = (levels.nights[index - 1].value, levels.nights[index].value);
        (!begins(index) && before != 0.0).then(|| (after / before - 1.0).abs())
    };
    let first = earlier.saturating_sub(past.rules.fence_nights as usize).max(1);
    let mut distances: Vec<f64> = (first..earlier).filter_map(far).collect();
    if distances.len() < FEWEST_DISTANCES {
        return None;
    }
    distances.sort_by(f64::total_cmp);
    let (lower, upper) = (quantile(&distances, 0.25), quantile(&distances, 0.75));
    Some(upper + past.rules.fence_iqr * (upper - lower))
}

/// Between the values beside it (Hyndman and Fan's type 7, the default of NumPy and R).
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

fn p(lately: &[f64], tonight: f64, winsor_mads: f64, margin: f64) -> Option<f64> {
    if lately.len() < 2 {
        return None;
    }
    let lately = winsorised(lately, winsor_mads, margin);
    let n = lately.len() as f64;
    let error = mean_and_sd(&lately).1 * (1.0 + 1.0 / n).sqrt();
    let distance = (tonight - mean(&lately)).abs();
    let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    Some(match error > 0.0 {
        true => (2.0 * student.sf(distance / error)).min(1.0),
        false if distance > 0.0 => 0.0,
        false => 1.0,
    })
}

impl FenceReport {
    /// Whether the night stands out by more than `margin`, a share of the level, which is what calls for measuring it again.
    pub fn stands_out(&self, margin: f64) -> bool {
        self.beyond(self.distance, margin)
    }

    /// Whether the runs made again stand out too, to the same side; none where none were made.
    pub fn confirmed(&self, margin: f64) -> Option<bool> {
        let again = self.again?;
        Some(self.beyond(again, margin) && (again > 0.0) == (self.distance > 0.0))
    }

    fn beyond(&self, distance: f64, margin: f64) -> bool {
        distance.abs() > self.fence.max(margin)
    }
}
