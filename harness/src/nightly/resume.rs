//! Finds the night to go on with: the newest of the suite, if it did not come to its end and nothing it measures has changed.

use super::{Entry, Suite};
use crate::{
    plan::Plan,
    resume::difference,
    store::{Store, StoreError},
};

/// Why there is no night to go on with.
#[derive(Debug, thiserror::Error)]
pub enum ResumeNightError {
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Every night came to its end, or there was none.
    #[error("no night of suite `{suite}` is unfinished; run without --resume to begin one")]
    Nothing {
        /// Name of the suite.
        suite: String,
    },
    /// The suite or one of its scenarios says something else now.
    #[error(
        "{what} has changed since night {night} began, and its other runs would be of something else; undo the change, or run without --resume to begin a new night\n{difference}"
    )]
    Changed {
        /// The night.
        night: i64,
        /// Which file.
        what: String,
        /// Unified diff, as it was to as it is; empty where a profile changed.
        difference: String,
    },
}

/// The number of the night to go on with.
pub fn find(store: &Store, suite: &Suite) -> Result<i64, ResumeNightError> {
    let night = store.unfinished_night(&suite.name)?;
    let night = night.ok_or_else(|| ResumeNightError::Nothing { suite: suite.name.clone() })?;
    let changed = |what: String, difference: String| {
        Err(ResumeNightError::Changed { night: night.id, what, difference })
    };
    let then = store.suite_text(night.id)?;
    if then != suite.source {
        return changed(format!("suite `{}`", suite.name), difference(&then, &suite.source));
    }
    for begun in &night.campaigns {
        let campaign = store.load(begun.campaign)?;
        let variant = &campaign.variants[0];
        let same = |entry: &&Entry| entry.scenario.name == campaign.scenario && entry.variant == variant.name;
        let Some(entry) = suite.entries.iter().find(same) else { continue };
        let now = &entry.scenario.source;
        if campaign.scenario_toml != *now {
            let difference = difference(&campaign.scenario_toml, now);
            return changed(format!("scenario `{}`", campaign.scenario), difference);
        }
        let tuned_alike = |plan: Plan| plan.variants[0].tuning == variant.tuning;
        if !entry.plan(campaign.design.seed).is_ok_and(tuned_alike) {
            return changed(format!("a profile that scenario `{}` names", campaign.scenario), String::new());
        }
    }
    Ok(night.id)
}
