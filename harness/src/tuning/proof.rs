//! The proof that a host is not tuned: everything that any variant would touch stands as it did when the campaign began.

use host::Value;
use schema::Tuning;

use super::{
    plan::{Step, plan},
    site::Site,
    status::status,
    target::Held,
};

/// How a host stood before anything was tuned.
#[derive(Clone)]
pub struct Proof {
    site: Site,
    stood: Vec<(Step, Value<String>)>,
}

/// Something that does not stand as it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// The target.
    pub target: String,
    /// What it was.
    pub was: String,
    /// What it is.
    pub is: String,
}

impl std::fmt::Display for Deviation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} was `{}` and is `{}`", self.target, self.was, self.is)
    }
}

impl Proof {
    /// Notes how every target of these tunings stands now. A tuning that is wrong has none; applying it says so.
    pub fn take(site: &Site, tunings: &[&Tuning]) -> Proof {
        let plans = tunings.iter().filter_map(|tuning| plan(site, tuning).ok());
        let mut stood: Vec<(Step, Value<String>)> = Vec::new();
        for step in plans.flat_map(|plan| plan.steps.into_iter().chain(plan.same)) {
            if !stood.iter().any(|(known, _)| known.aim == step.aim) {
                let value = step.aim.operate().read(site, &Held::new());
                stood.push((step, value));
            }
        }
        Proof { site: site.clone(), stood }
    }

    /// What does not stand as it did; a journal that is not closed is a deviation too. Empty is the proof.
    pub fn check(&self) -> Vec<Deviation> {
        let changed = self.stood.iter().filter_map(|(step, was)| {
            let target = step.aim.operate();
            let is = target.read(&self.site, &Held::new());
            let same = match (was, &is) {
                (Value::Known(was), Value::Known(is)) => target.same(was, is),
                (Value::Known(_), _) | (_, Value::Known(_)) => false,
                _ => true,
            };
            let word = |value: &Value<String>| {
                let unknown = value.why_unknown().map(str::to_owned);
                value.clone().known().or(unknown).unwrap_or_default()
            };
            (!same).then(|| Deviation { target: target.describe(), was: word(was), is: word(&is) })
        });
        let status = status(&self.site);
        let left = status.tuned.then(|| Deviation {
            target: status.journal,
            was: "nothing is tuned".to_owned(),
            is: status.summary,
        });
        changed.chain(left).collect()
    }
}
