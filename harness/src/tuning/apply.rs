//! Turns a plan's knobs, all or none, with every write in the journal before it is made; and turns them back.

use std::io;

use host::Value;
use schema::{KnobRecord, KnobState};

use super::{
    error::TuneError,
    here,
    journal::{Entry, Journal, PastStep, Progress, StepEntry},
    plan::{Plan, Step},
    recover,
    site::Site,
    target::{CgroupTarget, GROUP, Held, Target, cgroup},
    turn_back::turn_back,
};

/// Errnos by which the kernel says that a target can't be changed, by anyone: EPERM, EIO (a managed interrupt before Linux 6.12),
/// EACCES, EOPNOTSUPP.
const REFUSALS: [i32; 4] = [1, 5, 13, 95];

/// A tuned host. Dropped, it is turned back as well as can be; [`Applied::restore`] says how that went.
pub struct Applied {
    site: Site,
    /// None while nothing is turned.
    journal: Option<Journal>,
    turned: Vec<Turned>,
    others: Vec<KnobRecord>,
    /// Targets that stood as asked before anything was written.
    same: Vec<Step>,
    held: Held,
}

/// What came of turning a host back.
#[derive(Debug, Clone)]
pub struct Restored {
    /// Every target of the tuning.
    pub records: Vec<KnobRecord>,
    /// Those that someone else had changed, or that could not be written; they are left as they are, and the journal stays.
    pub conflicts: Vec<KnobRecord>,
}

/// One write that was made.
struct Turned {
    step: Step,
    past: PastStep,
    state: KnobState,
    effective: Option<String>,
    note: String,
}

/// Turns every knob of a plan. If one fails, those before it are turned back.
pub fn apply(site: &Site, plan: Plan) -> Result<Applied, TuneError> {
    if !plan.refusals.is_empty() {
        return Err(TuneError::Refused { refusals: plan.refusals });
    }
    if plan.check_only {
        return Err(TuneError::CheckOnly { profile: plan.profile.unwrap_or_default() });
    }
    let netns = here::netns(site);
    let mut applied = Applied {
        site: site.clone(),
        journal: None,
        turned: Vec::new(),
        others: plan.others,
        same: plan.same,
        held: Held::new(),
    };
    if plan.steps.is_empty() && recover::peek(site, &netns)?.is_none() {
        return Ok(applied);
    }
    let lock = recover::lock_to_tune(site, &netns)?;
    if plan.steps.is_empty() {
        return Ok(applied);
    }
    applied.journal = Some(Journal::create(site, lock, here::header(site, plan.profile.as_deref()))?);
    for step in plan.steps {
        let (knob, item) = (step.knob, step.item.clone());
        if let Err(why) = applied.turn(step) {
            let restored = applied.turn_all_back();
            let conflicts = restored.conflicts.len();
            return Err(TuneError::Apply { knob, item, why, records: restored.records, conflicts });
        }
    }
    Ok(applied)
}

impl Applied {
    /// What became of every target so far.
    pub fn records(&self) -> Vec<KnobRecord> {
        self.turned.iter().map(Turned::record).chain(self.others.iter().cloned()).collect()
    }

    /// Reads every target again: verified if it stayed, drifted if not.
    pub fn verify(&self) -> Vec<KnobRecord> {
        let turned = self.turned.iter().map(|turned| {
            let mut record = turned.record();
            if turned.state == KnobState::Verified {
                let target = turned.step.aim.operate();
                let current = target.read(&self.site, &self.held);
                let asked = [Some(turned.step.new.as_str()), turned.effective.as_deref()];
                let stayed = current
                    .as_ref()
                    .known()
                    .is_some_and(|now| asked.iter().flatten().any(|asked| target.same(now, asked)));
                if !stayed {
                    record.state = KnobState::Drifted;
                    record.note = current.why_unknown().unwrap_or("someone else has changed it").to_owned();
                }
                record.effective = current.known();
            }
            record
        });
        turned.chain(self.others.iter().map(|record| self.still_unchanged(record))).collect()
    }

    /// A target that was not written to, read again: it too is to stay as asked.
    fn still_unchanged(&self, record: &KnobRecord) -> KnobRecord {
        let mut record = record.clone();
        let step = self.same.iter().find(|step| (step.knob, &step.target) == (record.knob, &record.target));
        let Some(step) = step.filter(|_| record.state == KnobState::Unchanged) else { return record };
        let target = step.aim.operate();
        let current = target.read(&self.site, &self.held);
        if !current.as_ref().known().is_some_and(|now| target.same(now, &step.new)) {
            record.state = KnobState::Drifted;
            record.note = current.why_unknown().unwrap_or("someone else has changed it").to_owned();
        }
        record.effective = current.known();
        record
    }

    /// Has `start` start a process where it may use the CPUs of an isolated partition, if one was made: a process outside can't be
    /// placed there. We are there too while it starts, and back afterwards.
    pub fn start_within<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let group = Target::Cgroup { part: CgroupTarget::Group };
        let made = self.turned.iter().any(|turned| turned.step.aim == group);
        if !made || !self.site.sysroot.is_live() {
            return start();
        }
        let own = cgroup::own(&self.site.sysroot)
            .ok_or_else(|| io::Error::other("/proc/self/cgroup does not say which cgroup we are in"))?;
        cgroup::enter(&self.site.sysroot, GROUP)?;
        let started = start();
        cgroup::enter(&self.site.sysroot, &own)?;
        started
    }

    /// Turns everything back, in reverse.
    pub fn restore(mut self) -> Restored {
        self.turn_all_back()
    }

    /// Leaves the host tuned, and the journal for `tune restore`. What only our process holds ends with it.
    pub fn leave(mut self) -> Result<Vec<KnobRecord>, TuneError> {
        if let Some(journal) = &mut self.journal {
            journal.append(&Entry::Left)?;
        }
        let records = self.records();
        self.journal = None;
        self.turned.clear();
        Ok(records)
    }

    /// Turns one target; the reason if it can't be, or did not take.
    fn turn(&mut self, step: Step) -> Result<(), String> {
        let target = step.aim.clone();
        let target = target.operate();
        let current = match target.read(&self.site, &self.held) {
            Value::Known(current) => current,
            unknown => return Err(unknown.why_unknown().unwrap_or_default().to_owned()),
        };
        if target.same(&current, &step.new) {
            // A step before it has brought it about: the governor `performance` brings its own preference.
            let step = Step { old: current, note: String::new(), ..step };
            self.others.push(step.unchanged());
            self.same.push(step);
            return Ok(());
        }
        if !target.same(&current, &step.old) {
            return Err(format!("it was `{}` when it was planned and is `{current}` now", step.old));
        }
        let entry = StepEntry {
            step: self.turned.len(),
            knob: step.knob,
            item: step.item.clone(),
            class: step.class,
            target: step.aim.clone(),
            old: current,
            new: step.new.clone(),
        };
        let number = entry.step;
        self.append(&Entry::Step(entry.clone()))?;
        let note = step.note.clone();
        let past = PastStep { entry, progress: None, found: None };
        self.turned.push(Turned { step, past, state: KnobState::Planned, effective: None, note });
        self.site.point("write: before");
        let written = target.write(&self.site, &mut self.held, &self.turned[number].step.new);
        self.site.point("write: made");
        if let Err(error) = written {
            return self.was_refused(number, &error);
        }
        self.progress(number, Progress::Applied, None)?;
        let now = match target.read(&self.site, &self.held) {
            Value::Known(now) => now,
            unknown => return Err(unknown.why_unknown().unwrap_or_default().to_owned()),
        };
        let turned = &mut self.turned[number];
        let asked = turned.step.new.clone();
        turned.effective = Some(now.clone());
        if !target.same(&now, &asked) {
            self.progress(number, Progress::Applied, Some(now.clone()))?;
            return Err(format!("`{asked}` was written, `{now}` stands there"));
        }
        self.turned[number].state = KnobState::Verified;
        self.progress(number, Progress::Verified, (now != asked).then_some(now))
    }

    /// The kernel refused a write: fine for a knob that may be left out, if nothing changed.
    fn was_refused(&mut self, number: usize, error: &io::Error) -> Result<(), String> {
        self.progress(number, Progress::Failed, None)?;
        let refused = error.raw_os_error().is_some_and(|errno| REFUSALS.contains(&errno));
        let turned = &mut self.turned[number];
        if !turned.step.optional || !refused {
            return Err(format!("writing `{}` to {}: {error}", turned.step.new, turned.step.target));
        }
        turned.state = KnobState::Skipped;
        turned.note = format!("the kernel refused the write: {error}");
        Ok(())
    }

    fn progress(&mut self, step: usize, progress: Progress, found: Option<String>) -> Result<(), String> {
        self.turned[step].past.progress = Some(progress);
        self.turned[step].past.found.clone_from(&found);
        self.append(&Entry::Progress { step, progress, found })
    }

    fn append(&mut self, entry: &Entry) -> Result<(), String> {
        match &mut self.journal {
            Some(journal) => journal.append(entry).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    /// The host matters more than the journal: what can't be noted is turned back all the same, and stays in the journal.
    fn turn_all_back(&mut self) -> Restored {
        let mut noted = true;
        for number in (0..self.turned.len()).rev() {
            let ended = turn_back(&self.site, &mut self.held, &self.turned[number].past, false);
            let turned = &mut self.turned[number];
            turned.take(&ended);
            if let Some(progress) = ended.progress {
                let found = (progress == Progress::Conflict).then_some(ended.found);
                noted &= self.append(&Entry::Progress { step: number, progress, found }).is_ok();
            }
        }
        let records = self.records();
        let left = |record: &&KnobRecord| matches!(record.state, KnobState::Conflict | KnobState::Drifted);
        let conflicts: Vec<KnobRecord> = records.iter().filter(left).cloned().collect();
        if let Some(mut journal) = self.journal.take()
            && noted
            && conflicts.is_empty()
            && journal.append(&Entry::Closed).is_ok()
        {
            // It is closed: if it can't be put away now, the next start does.
            let _ = journal.archive();
        }
        self.turned.clear();
        Restored { records, conflicts }
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        if !self.turned.is_empty() {
            self.turn_all_back();
        }
    }
}

impl Turned {
    fn record(&self) -> KnobRecord {
        KnobRecord {
            knob: self.step.knob,
            item: self.step.item.clone(),
            target: self.step.target.clone(),
            class: self.step.class,
            old: Some(self.step.old.clone()),
            asked: self.step.new.clone(),
            effective: self.effective.clone(),
            state: self.state,
            note: self.note.clone(),
        }
    }

    fn take(&mut self, ended: &super::turn_back::TurnedBack) {
        let (state, note) = recover::outcome(ended, self.state == KnobState::Skipped);
        self.state = state;
        if !note.is_empty() {
            self.note = note;
        }
    }
}
