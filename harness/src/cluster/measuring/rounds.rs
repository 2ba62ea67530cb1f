//! The rounds of a cluster's pattern as the store keeps them for whoever goes on with it.

use schema::PairRole;
use serde::{Deserialize, Serialize};

use crate::cluster::{Rank, pattern::PlannedPair, suite::Step};

/// What was planned when a cluster began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rounds {
    /// The rounds of the pattern, in their order.
    pub steps: Vec<Step>,
    /// Most pairs that run at the same time, in rounds of the pattern and in those that measure again; none is no limit.
    pub at_once: Option<u32>,
}

/// The same in few bytes: half a million pairs are no rarity.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    at_once: Option<u32>,
    steps: Vec<KeptStep>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptStep {
    label: String,
    workload: u32,
    measured: Vec<(Rank, Rank)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    congestors: Vec<(Rank, Rank)>,
}

impl Rounds {
    /// As JSON.
    pub fn to_json(&self) -> String {
        let steps = self.steps.iter().map(|step| {
            let of = |role| {
                let pairs = step.pairs.iter().filter(move |pair| pair.role == role);
                pairs.map(|pair| (pair.requester, pair.responder)).collect()
            };
            KeptStep {
                label: step.label.clone(),
                workload: step.workload,
                measured: of(PairRole::Measured),
                congestors: of(PairRole::Congestor),
            }
        });
        let kept = Kept { at_once: self.at_once, steps: steps.collect() };
        serde_json::to_string(&kept).expect("texts and numbers are JSON")
    }

    /// From what [`Rounds::to_json`] gave; of a round what is measured comes first, then what loads the fabric beside it.
    ///
    /// # Errors
    /// When it is something else.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        let kept: Kept = serde_json::from_str(text)?;
        let steps = kept.steps.into_iter().map(|step| {
            let measured = step.measured.into_iter().map(|(a, b)| PlannedPair::measured(a, b));
            let congestors = step.congestors.into_iter().map(|(a, b)| PlannedPair::congestor(a, b));
            Step { label: step.label, workload: step.workload, pairs: measured.chain(congestors).collect() }
        });
        Ok(Rounds { steps: steps.collect(), at_once: kept.at_once })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_comes_back_with_what_is_measured_first() {
        let pairs =
            vec![PlannedPair::measured(0, 1), PlannedPair::congestor(2, 3), PlannedPair::measured(4, 5)];
        let step = Step { label: "step 1".into(), workload: 2, pairs };
        let mut plan = Rounds { steps: vec![step], at_once: Some(3) };
        let back = Rounds::from_json(&plan.to_json()).unwrap();
        plan.steps[0].pairs.swap(1, 2);
        assert_eq!(back, plan);
        assert!(Rounds::from_json("[]").is_err());
    }
}
