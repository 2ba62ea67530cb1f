//! Finds the campaign to go on with: the newest of the scenario that misses runs, if its text has not changed since.

use schema::CampaignState;
use similar::TextDiff;

use crate::{
    plan::Plan,
    store::{Store, StoreError},
};

/// Why there is nothing to go on with.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No such campaign.
    #[error("no campaign of scenario `{scenario}` misses runs{hint}; run it without --resume to begin one")]
    Nothing {
        /// Name of the scenario.
        scenario: String,
        /// What else might be meant.
        hint: &'static str,
    },
    /// The scenario says something else now.
    #[error(
        "the scenario has changed since campaign {campaign} began, and runs of two scenarios can't be compared; undo the change, or run without --resume to begin anew\n{difference}"
    )]
    Changed {
        /// The campaign.
        campaign: i64,
        /// Unified diff, as it was to as it is.
        difference: String,
    },
    /// A profile says something else now.
    #[error(
        "a profile that variant `{variant}` names has changed since campaign {campaign} began, and runs on hosts that were tuned in two ways can't be compared; undo the change, or run without --resume to begin anew"
    )]
    ProfileChanged {
        /// The campaign.
        campaign: i64,
        /// The variant.
        variant: String,
    },
}

/// The campaign to go on with; with `failed`, one whose runs did not all complete is one, too.
pub fn find(store: &Store, plan: &Plan, failed: bool) -> Result<i64, ResumeError> {
    let candidate = if failed {
        let newest = store.newest_of(&plan.scenario)?;
        newest.filter(|(head, _)| head.state() == CampaignState::Unfinished || head.not_completed > 0)
    } else {
        store.newest_unfinished(&plan.scenario)?
    };
    let Some((head, text)) = candidate else {
        let hint = if failed { " or has failed ones" } else { "" };
        return Err(ResumeError::Nothing { scenario: plan.scenario.clone(), hint });
    };
    if text != plan.scenario_toml {
        return Err(ResumeError::Changed {
            campaign: head.id,
            difference: difference(&text, &plan.scenario_toml),
        });
    }
    let then = store.load(head.id)?.variants;
    let changed = then.iter().zip(&plan.variants).find(|(then, now)| then.tuning != now.tuning);
    if let Some((_, now)) = changed {
        return Err(ResumeError::ProfileChanged { campaign: head.id, variant: now.name.clone() });
    }
    Ok(head.id)
}

pub(crate) fn difference(before: &str, now: &str) -> String {
    TextDiff::from_lines(before, now).unified_diff().context_radius(1).header("then", "now").to_string()
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use schema::{Fabric, NightPart, Origin, Outcome, RunRecord};

    use super::*;
    use crate::{
        plan,
        scenario::parse,
        store::{NewCampaign, NewNight},
    };

    const SCENARIO: &str = "question = \"Deeper?\"\ndesign.blocks = 1\n[[workloads]]\nname = \"w\"\ntest = \"bandwidth\"\nop = \"write\"\n[[variants]]\nname = \"shallow\"\nbaseline = true\ntx_depth = 1\n[[variants]]\nname = \"deep\"\n";

    fn planned(text: &str) -> Plan {
        plan::plan(&parse(Path::new("x.toml"), text.to_owned()).unwrap(), 1).unwrap()
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create_or_open(&folder.path().join("store.db")).unwrap();
        (folder, store)
    }

    fn add(store: &mut Store, plan: &Plan, outcome: Option<&Outcome>) -> i64 {
        let id = store.begin(&NewCampaign { plan, started_at_unix_ms: 0 }).unwrap();
        for run in plan.runs.iter().filter(|_| outcome.is_some()) {
            let record = RunRecord::start(plan.spec(run).clone(), Fabric::Verbs, 0, outcome.unwrap().clone());
            store.add_run(id, run.sequence, &record, Duration::ZERO).unwrap();
        }
        id
    }

    #[test]
    fn the_newest_unfinished_campaign_is_found() {
        let (_folder, mut store) = store();
        let plan = planned(SCENARIO);
        assert!(matches!(find(&store, &plan, false), Err(ResumeError::Nothing { .. })));
        add(&mut store, &plan, None);
        let second = add(&mut store, &plan, None);
        add(&mut store, &plan, Some(&Outcome::Completed));
        assert_eq!(find(&store, &plan, false).unwrap(), second);
    }

    #[test]
    fn the_campaign_of_a_night_is_left_to_its_night() {
        let (_folder, mut store) = store();
        let plan = planned(SCENARIO);
        let night = NewNight { suite: "s", suite_toml: "", origin: Origin::Measured, started_at_unix_ms: 0 };
        let night = store.begin_night(&night).unwrap();
        let new = NewCampaign { plan: &plan, started_at_unix_ms: 0 };
        store.begin_in_night(night, NightPart::First, &new).unwrap();
        assert!(matches!(find(&store, &plan, false), Err(ResumeError::Nothing { .. })));
        assert!(matches!(find(&store, &plan, true), Err(ResumeError::Nothing { .. })));
    }

    #[test]
    fn a_changed_scenario_is_refused_and_the_change_is_shown() {
        let (_folder, mut store) = store();
        add(&mut store, &planned(SCENARIO), None);
        let text = find(&store, &planned(&SCENARIO.replace("tx_depth = 1", "tx_depth = 2")), false)
            .unwrap_err()
            .to_string();
        assert!(text.contains("-tx_depth = 1") && text.contains("+tx_depth = 2"), "{text}");
    }

    #[test]
    fn failed_runs_are_a_reason_to_go_on_only_when_asked() {
        let (_folder, mut store) = store();
        let plan = planned(SCENARIO);
        let id = add(&mut store, &plan, Some(&Outcome::Skipped { reason: "no device".into() }));
        assert!(find(&store, &plan, false).is_err());
        assert_eq!(find(&store, &plan, true).unwrap(), id);
    }

    #[test]
    fn a_changed_profile_is_refused() {
        let (folder, mut store) = store();
        let profile = |value: u32| {
            let text = format!("[tune]\nsysctl = {{ \"net.core.netdev_max_backlog\" = {value} }}\n");
            std::fs::write(folder.path().join("mine.toml"), text).unwrap();
            let text = SCENARIO.replace("name = \"deep\"", "name = \"deep\"\ntune.profile = \"mine.toml\"");
            plan::plan(&parse(&folder.path().join("x.toml"), text).unwrap(), 1).unwrap()
        };
        let id = add(&mut store, &profile(2000), None);
        assert_eq!(find(&store, &profile(2000), false).unwrap(), id);
        let text = find(&store, &profile(3000), false).unwrap_err().to_string();
        assert!(text.contains("variant `deep`"), "{text}");
    }
}
