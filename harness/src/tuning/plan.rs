//! What would be written to a host, with what stands there now. Reads everything, writes nothing.

use host::Value;
use schema::{Class, Knob, KnobRecord, KnobSetting, KnobState, Tuning};
use serde::Serialize;

use super::{
    disruptive,
    error::{Refusal, TuneError},
    knob::{self, Unfit, Want},
    order,
    site::Site,
    target::{Held, Target},
};

/// One write.
#[derive(Debug, Clone, Serialize)]
pub struct Step {
    /// The knob.
    pub knob: Knob,
    /// Its part; empty where it has one.
    pub item: String,
    /// What is written to.
    pub target: String,
    /// What it takes to turn it back.
    pub class: Class,
    /// What stands there.
    pub old: String,
    /// What is to stand there.
    pub new: String,
    /// The right it takes.
    pub needs: &'static str,
    /// More in words; empty where there is nothing to say.
    pub note: String,
    /// Whether it is left out, and said so, if the kernel refuses it.
    pub optional: bool,
    #[serde(skip)]
    pub(super) aim: Target,
}

/// What would be done to a host.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Plan {
    /// The profile it came from.
    pub profile: Option<String>,
    /// In the order they are made; undone in reverse.
    pub steps: Vec<Step>,
    /// Targets that stay as they are: so already, left out, or planned as text.
    pub others: Vec<KnobRecord>,
    /// Of these, the ones that are so already: nothing is written to them, and they are to stay so.
    #[serde(skip)]
    pub(super) same: Vec<Step>,
    /// Knobs that were asked for and can't be turned; with any, nothing is.
    pub refusals: Vec<Refusal>,
    /// Whether it is only checked: it has no steps, and is never applied.
    pub check_only: bool,
}

/// Works out what a tuning means on this host. An error is a setting that is wrong on any host.
pub fn plan(site: &Site, tuning: &Tuning) -> Result<Plan, TuneError> {
    let mut plan = Plan {
        profile: tuning.profile.clone(),
        steps: Vec::new(),
        others: Vec::new(),
        same: Vec::new(),
        refusals: Vec::new(),
        check_only: tuning.check_only,
    };
    for setting in &tuning.knobs {
        match knob::wants(setting, site) {
            Ok(wants) if tuning.check_only => plan.others.extend(check(site, setting, wants)),
            Ok(wants) => match disruptive::refuse(setting, tuning, site) {
                Some(why) => plan.leave_out(setting, why),
                None => plan.add(site, setting, wants),
            },
            Err(Unfit::Host(why)) => plan.leave_out(setting, why),
            Err(Unfit::Nothing(why)) => plan.others.push(without_target(setting, KnobState::Unchanged, why)),
            Err(Unfit::Checked { at, now, holds, remedy }) => {
                let state = if holds { KnobState::Unchanged } else { KnobState::Planned };
                let mut record = without_target(setting, state, remedy);
                (record.target, record.old, record.effective) = (at, now.clone(), now);
                plan.others.push(record);
            }
            Err(Unfit::Value(why)) => {
                let KnobSetting { knob, item, value, .. } = setting.clone();
                return Err(TuneError::Value { knob, item, value, why });
            }
        }
    }
    Ok(plan)
}

impl Plan {
    /// Takes in what another tuning means on the same host: what both want is written once, and what they want otherwise
    /// is a refusal.
    pub fn join(&mut self, other: Plan) {
        self.profile = self.profile.take().or(other.profile);
        self.refusals.extend(other.refusals);
        for record in other.others {
            if !self.others.contains(&record) {
                self.others.push(record);
            }
        }
        self.check_only |= other.check_only;
        for (step, stands) in other
            .steps
            .into_iter()
            .map(|step| (step, false))
            .chain(other.same.into_iter().map(|step| (step, true)))
        {
            let earlier = self.steps.iter().chain(&self.same).find(|earlier| earlier.aim == step.aim);
            match earlier {
                Some(earlier) if step.aim.operate().same(&earlier.new, &step.new) => {}
                Some(earlier) => {
                    let why = format!(
                        "{} is to be both `{}` and `{}`, and it is there once for both sides",
                        step.target, earlier.new, step.new
                    );
                    self.refusals.push(Refusal { knob: step.knob, item: step.item.clone(), why });
                }
                None if stands => self.same.push(step),
                None => self.steps.push(step),
            }
        }
        self.steps.sort_by_key(|step| order::place(step.knob));
    }

    /// Every target that is named, as it stands before anything is written.
    pub fn records(&self) -> Vec<KnobRecord> {
        let planned = self.steps.iter().map(|step| KnobRecord {
            knob: step.knob,
            item: step.item.clone(),
            target: step.target.clone(),
            class: step.class,
            old: Some(step.old.clone()),
            asked: step.new.clone(),
            effective: None,
            state: KnobState::Planned,
            note: step.note.clone(),
        });
        planned.chain(self.others.iter().cloned()).collect()
    }

    /// Takes a knob's targets, all or none.
    fn add(&mut self, site: &Site, setting: &KnobSetting, wants: Vec<Want>) {
        let (mut steps, mut same) = (Vec::new(), Vec::new());
        for want in wants {
            match step(site, setting, want) {
                Ok(Found::Differs(step)) => steps.push(step),
                Ok(Found::Same(step)) => same.push(step),
                Err(why) => return self.leave_out(setting, why),
            }
        }
        for step in &steps {
            if let Some(earlier) = self.steps.iter().find(|earlier| earlier.aim == step.aim) {
                let why = format!("{} is set by {} already", step.target, earlier.knob);
                return self.refusals.push(Refusal { knob: setting.knob, item: setting.item.clone(), why });
            }
        }
        self.steps.append(&mut steps);
        self.others.extend(same.iter().map(Step::unchanged));
        self.same.append(&mut same);
    }

    fn leave_out(&mut self, setting: &KnobSetting, why: String) {
        if setting.optional {
            self.others.push(without_target(setting, KnobState::Skipped, why));
        } else {
            self.refusals.push(Refusal { knob: setting.knob, item: setting.item.clone(), why });
        }
    }
}

/// What is said of a knob that has no target here.
fn without_target(setting: &KnobSetting, state: KnobState, note: String) -> KnobRecord {
    let KnobSetting { knob, item, value, .. } = setting.clone();
    let class = knob.class();
    KnobRecord {
        knob,
        item,
        target: String::new(),
        class,
        old: None,
        asked: value,
        effective: None,
        state,
        note,
    }
}

/// Holds what stands in a knob's targets against what is asked.
fn check(site: &Site, setting: &KnobSetting, wants: Vec<Want>) -> Vec<KnobRecord> {
    let look = |want: Want| {
        let target = want.target.operate();
        let now = target.read(site, &Held::new());
        let holds = now.as_ref().known().is_some_and(|now| target.same(now, &want.new));
        let note = match (&now, holds) {
            (_, true) => String::new(),
            (Value::Known(_), false) => format!("should be `{}`", want.new),
            (unknown, _) => unknown.why_unknown().unwrap_or_default().to_owned(),
        };
        let state = if holds { KnobState::Unchanged } else { KnobState::Planned };
        let mut record = without_target(setting, state, note);
        (record.target, record.asked) = (target.describe(), want.new);
        (record.old, record.effective) = (now.clone().known(), now.known());
        record
    };
    wants.into_iter().map(look).collect()
}

impl Step {
    /// The record of a target that stands as asked.
    pub(super) fn unchanged(&self) -> KnobRecord {
        KnobRecord {
            knob: self.knob,
            item: self.item.clone(),
            target: self.target.clone(),
            class: self.class,
            old: Some(self.old.clone()),
            asked: self.new.clone(),
            effective: Some(self.old.clone()),
            state: KnobState::Unchanged,
            note: self.note.clone(),
        }
    }
}

enum Found {
    Differs(Step),
    Same(Step),
}

/// Looks at one target; the reason if it can't be turned.
fn step(site: &Site, setting: &KnobSetting, want: Want) -> Result<Found, String> {
    let target = want.target.operate();
    let made = want.made_with.is_some();
    let old = match (target.read(site, &Held::new()), want.made_with) {
        (Value::Known(old), _) => old,
        (_, Some(first)) => first,
        (unknown, None) => {
            let why = unknown.why_unknown().unwrap_or_default();
            return Err(format!("{}: {why}", target.describe()));
        }
    };
    let KnobSetting { knob, item, optional, .. } = setting.clone();
    let same = !made && target.same(&old, &want.new);
    if !made && !same {
        target.probe(site)?;
    }
    let step = Step {
        knob,
        item,
        target: target.describe(),
        class: knob.class(),
        old,
        new: want.new,
        needs: "root",
        note: want.note,
        optional,
        aim: want.target,
    };
    Ok(if same { Found::Same(step) } else { Found::Differs(step) })
}
