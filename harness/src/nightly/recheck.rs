//! Derives the values of kept nights again from their campaigns, and names those that came out otherwise.

use schema::{Campaign, History, NightPart};

use super::{Kept, kept::ENGINE, values::derive};
use crate::store::{Store, StoreError};

/// What is wrong with the values of every measured night, in words; empty where each is what its runs say. Campaigns that do not
/// read back are left to [`Store::check`].
pub fn recheck(store: &Store) -> Result<Vec<String>, StoreError> {
    let mut problems = Vec::new();
    for suite in store.suites()? {
        let Ok(history) = store.history(&suite.name, None) else { continue };
        for night in &history.nights {
            for part in &night.campaigns {
                if let Ok(campaign) = store.load(part.campaign) {
                    problems.extend(differences(&history, night.id, part.part, &campaign));
                }
            }
        }
    }
    Ok(problems)
}

fn differences(history: &History, night: i64, part: NightPart, campaign: &Campaign) -> Vec<String> {
    let variant = |name: &str| campaign.variants.iter().any(|variant| variant.name == name);
    let mut problems = Vec::new();
    for series in &history.series {
        let key = &series.key;
        let ours = key.engine == ENGINE && key.scenario == campaign.scenario && variant(&key.variant);
        let value = series.values.iter().find(|value| value.night == night);
        let (true, Some(value)) = (ours, value) else { continue };
        let kept = Kept { workload: key.workload.clone(), msg_bytes: key.msg_bytes, metric: key.metric };
        let derived = derive(campaign, &[kept]).remove(0);
        let of_night = match part {
            NightPart::First => &value.runs,
            NightPart::Confirm => &value.confirm_runs,
        };
        if derived.runs != *of_night {
            problems.push(format!(
                "night {night}, {key}: {} of its runs are kept, and campaign {} has {} of other values",
                of_night.len(),
                campaign.id,
                derived.runs.len()
            ));
        }
    }
    problems
}
