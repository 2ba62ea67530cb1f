//! A night against one that a person pinned, run by run.

use schema::{Certainty, FoundBy, NightValue};

use super::{
    claim::{self, Claim},
    level::{Compared, compare},
    levels::{runs, value},
    model::BaselineReport,
    track::{Past, Track, trend},
};

/// Runs of either night that are enough to be sure of.
const RUNS: usize = 5;

/// How the night that is judged stands to the pinned one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Against {
    pub(super) report: BaselineReport,
    /// p that both nights are one level; none with too few runs to tell.
    pub(super) p: Option<f64>,
    runs: usize,
    floor: f64,
}

/// None where no baseline is asked for, or either night has no value.
pub(super) fn of(track: &Track, past: &Past) -> Option<Against> {
    let name = past.rules.baseline.as_ref()?;
    let pinned = past.history.baselines.iter().find(|pinned| pinned.name == *name)?;
    let (then, now) = (track.on(*past.order.get(&pinned.night)?)?, track.on(past.tonight())?);
    let (before, after) = (measured(then)?, measured(now)?);
    let Compared { change, p } = compare(&before, &after, 0.0)?;
    let configuration = |night: &NightValue| past.history.configurations.get(&night.configuration);
    let configuration_changes = match (configuration(then), configuration(now)) {
        (Some(then), Some(now)) => now.changes_from(then),
        _ => Vec::new(),
    };
    let report = BaselineReport { name: name.clone(), night: pinned.night, change, configuration_changes };
    Some(Against { report, p, runs: before.len().min(after.len()), floor: track.floor(past.rules) })
}

/// The runs of a night that has a value; that value where they are not known, as in some logs.
fn measured(night: &NightValue) -> Option<Vec<f64>> {
    let value = value(night)?;
    let runs = runs(night);
    Some(if runs.is_empty() { vec![value] } else { runs })
}

impl Against {
    /// A change that is larger than what nights differ by anyway, and not within the noise of both nights' runs.
    pub(super) fn claim(&self, track: &Track) -> Option<Claim> {
        let change = self.report.change;
        let sure = change.low? > 0.0 || change.high? < 0.0;
        if !sure || change.change.abs() <= self.floor {
            return None;
        }
        let trend = trend(track.metric(), change.after - change.before)?;
        let off = |night: &NightValue| {
            value(night).is_some_and(|value| {
                let distance = value / change.before - 1.0;
                distance.abs() > self.floor && (distance > 0.0) == (change.change > 0.0)
            })
        };
        let certainty = if self.runs >= RUNS { Certainty::Confirmed } else { Certainty::Suspected };
        let claim = claim::new(FoundBy::Baseline, certainty, trend, track.since(off)?);
        Some(Claim { change: Some(change), p: self.p, ..claim })
    }
}
