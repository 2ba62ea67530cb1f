//! One night: every scenario of the suite as a campaign of its own, the values of all of them judged by the nights before, and
//! what stands out made again.
//!
//! Whatever is done is kept at once, and what is missing is seen from what is kept: a night that was stopped or killed anywhere
//! goes on where it was. A scenario that fails is data, and the night goes on without it.

use std::time::Duration;

use reports::history::{NightReport, fence_hits};
use schema::{Campaign, History, NightPart};

use super::{
    Crew, Derived, Entry, Leg, NightObserver, Suite,
    conclude::conclude,
    derive, fresh_seed,
    kept::{Absent, night_values, without_limit},
};
use crate::{
    interrupt::Interrupt,
    plan::{Plan, SingleError},
    run::{self, Ending, Work},
    store::{NewCampaign, Store, StoreError},
    words,
};

/// A night at work.
pub struct Night<'n, C: Crew> {
    /// What is measured.
    pub suite: &'n Suite,
    /// Where it is kept.
    pub store: &'n mut Store,
    /// Its number there.
    pub id: i64,
    /// Who makes the runs.
    pub crew: &'n mut C,
    /// Who is told.
    pub observer: &'n mut dyn NightObserver,
    /// The wish to stop.
    pub interrupt: &'n Interrupt,
    /// Scenarios that could not be measured, or not whole, and why.
    pub failures: Vec<(String, String)>,
    /// Hosts that could not be left as they were.
    pub complaints: Vec<String>,
    /// Limits that could not be held against what was measured.
    pub unheld: Vec<String>,
}

/// How a night came to its end for now.
pub enum NightEnding {
    /// Everything was tried, and judged.
    Judged(Box<NightReport>),
    /// Someone asked to stop; what was done is kept.
    Interrupted,
}

/// Why a night can't go on.
#[derive(Debug, thiserror::Error)]
pub enum NightError {
    /// The store says no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A scenario can't be planned, though it could when the suite was read.
    #[error(transparent)]
    Plan(#[from] SingleError),
    /// No random number.
    #[error("drawing a seed: {0}; check getrandom(2)")]
    Seed(#[from] getrandom::Error),
}

/// What a night has of an entry.
#[derive(Default)]
struct Measured {
    derived: Option<Vec<Derived>>,
    again: Option<Vec<Derived>>,
}

impl<C: Crew> Night<'_, C> {
    /// Makes what is missing, and judges.
    pub fn carry_out(&mut self) -> Result<NightEnding, NightError> {
        let entries: Vec<usize> = (0..self.suite.entries.len()).collect();
        if !self.measure(NightPart::First, &entries)? {
            return Ok(NightEnding::Interrupted);
        }
        let mut measured: Vec<Measured> = entries.iter().map(|_| Measured::default()).collect();
        for entry in &entries {
            measured[*entry].derived = self.derive(NightPart::First, *entry)?;
        }
        let history = self.keep(&measured)?;
        let again = self.entries_of(&history, &fence_hits(&history, self.id, &self.suite.rules));
        if !self.measure(NightPart::Confirm, &again)? {
            return Ok(NightEnding::Interrupted);
        }
        for entry in &again {
            measured[*entry].again = self.derive(NightPart::Confirm, *entry)?;
        }
        let history = if again.is_empty() { history } else { self.keep(&measured)? };
        let report = conclude(self.store, &history, self.id, &self.suite.rules)?;
        Ok(NightEnding::Judged(Box::new(report)))
    }

    /// Makes the missing runs of a part, scenario by scenario; false when it was interrupted.
    fn measure(&mut self, part: NightPart, entries: &[usize]) -> Result<bool, NightError> {
        for entry in entries {
            if self.interrupt.is_raised() || !self.measure_one(part, &self.suite.entries[*entry])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn measure_one(&mut self, part: NightPart, entry: &Entry) -> Result<bool, NightError> {
        let begun = self.campaign(part, entry)?;
        if let Some(campaign) = begun
            && self.store.missing_runs(campaign, false)?.is_empty()
        {
            return Ok(true);
        }
        let plan = entry.plan(fresh_seed()?)?;
        let mut executor = match self.crew.muster(&plan) {
            Ok(executor) => executor,
            Err(why) => {
                self.fail(entry, why);
                return Ok(true);
            }
        };
        let new = NewCampaign { plan: &plan, started_at_unix_ms: words::unix_ms() };
        let campaign = match begun {
            Some(campaign) => campaign,
            None => self.store.begin_in_night(self.id, part, &new)?,
        };
        let ending = self.make_runs(part, entry, campaign, &plan, &mut executor);
        self.complaints.extend(self.crew.dismiss(executor));
        match ending? {
            Ending::Finished => {}
            Ending::Interrupted => return Ok(false),
            Ending::Hopeless(outcome) => self.fail(entry, format!("the first runs all {outcome}")),
            Ending::Lost(why) => self.fail(entry, why),
        }
        Ok(true)
    }

    fn make_runs(
        &mut self,
        part: NightPart,
        entry: &Entry,
        campaign: i64,
        plan: &Plan,
        executor: &mut C::Executor,
    ) -> Result<Ending, StoreError> {
        let missing = self.store.missing_runs(campaign, false)?;
        let mut work = Work {
            campaign,
            variants: &plan.variants,
            grouping: plan.design.grouping,
            workloads: &plan.workloads,
            runs: &missing,
            cooldown: Duration::from_nanos(plan.design.cooldown_ns.get()),
            stopping: None,
        };
        let shown = self.observer.begins(&Leg { part, entry, campaign, plan, missing: missing.len() });
        let ending = run::carry_out(&mut work, self.store, executor, shown, self.interrupt);
        self.observer.ends();
        ending
    }

    fn fail(&mut self, entry: &Entry, why: String) {
        self.observer.failed(entry, &why);
        self.failures.push((entry.name(), why));
    }

    /// The campaign of an entry in a part of the night, if it has begun.
    fn campaign(&self, part: NightPart, entry: &Entry) -> Result<Option<i64>, StoreError> {
        Ok(self.load(part, entry)?.map(|campaign| campaign.id))
    }

    fn load(&self, part: NightPart, entry: &Entry) -> Result<Option<Campaign>, StoreError> {
        let night = self.store.night(self.id)?;
        let campaigns = night.map(|night| night.campaigns).unwrap_or_default();
        for begun in campaigns.iter().filter(|begun| begun.part == part) {
            let campaign = self.store.load(begun.campaign)?;
            if campaign.scenario == entry.scenario.name && campaign.variants[0].name == entry.variant {
                return Ok(Some(campaign));
            }
        }
        Ok(None)
    }

    fn derive(&self, part: NightPart, entry: usize) -> Result<Option<Vec<Derived>>, StoreError> {
        let entry = &self.suite.entries[entry];
        Ok(self.load(part, entry)?.map(|campaign| derive(&campaign, &entry.points)))
    }

    /// Keeps the values there are; the history with them comes back.
    fn keep(&mut self, measured: &[Measured]) -> Result<History, StoreError> {
        let before = self.store.history(&self.suite.name, None)?;
        let mut values = Vec::new();
        self.unheld.clear();
        for (entry, measured) in self.suite.entries.iter().zip(measured) {
            self.unheld.extend(without_limit(
                self.suite,
                entry,
                measured.derived.as_deref().unwrap_or_default(),
            ));
            let name = entry.name();
            let failure = self.failures.iter().find(|(failed, _)| *failed == name);
            let absent = Absent { why: failure.map_or("no run was made", |(_, why)| why), before: &before };
            let (derived, again) = (measured.derived.as_deref(), measured.again.as_deref());
            values.extend(night_values(self.suite, entry, derived, again, &absent));
        }
        self.store.keep_values(self.id, &values)?;
        self.store.history(&self.suite.name, Some(self.id))
    }

    /// The entries that these series are of.
    fn entries_of(&self, history: &History, series: &[i64]) -> Vec<usize> {
        let keys = history.series.iter().filter(|known| series.contains(&known.id)).map(|known| &known.key);
        let keys: Vec<_> = keys.collect();
        let of = |entry: &Entry| {
            keys.iter().any(|key| key.scenario == entry.scenario.name && key.variant == entry.variant)
        };
        (0..self.suite.entries.len()).filter(|n| of(&self.suite.entries[*n])).collect()
    }
}
