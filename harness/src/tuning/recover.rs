//! Turns back what a crash left, from the journal alone. Can be run again at any time, and can itself be killed.

use std::io;

use schema::{KnobRecord, KnobState};

use super::{
    error::TuneError,
    here,
    journal::{Entry, Journal, Lock, Past, PastStep, Progress},
    site::Site,
    target::Held,
    turn_back::{TurnedBack, turn_back},
};

/// What was found, and what came of it.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// In one line: what the journal was.
    pub found: String,
    /// Every target that the journal names, in the order it was turned back.
    pub records: Vec<KnobRecord>,
    /// Those that someone else had changed, or that could not be written; the journal stays.
    pub conflicts: Vec<KnobRecord>,
}

/// Turns back what a journal of this namespace names. Nothing to do is fine. `force` overrides what others have put there since,
/// and passes over what can't be read in a damaged journal.
pub fn recover(site: &Site, force: bool) -> Result<Recovered, TuneError> {
    let netns = here::netns(site);
    let nothing =
        |found: &str| Recovered { found: found.to_owned(), records: Vec::new(), conflicts: Vec::new() };
    if peek(site, &netns)?.is_none() {
        return Ok(nothing("there is no journal: nothing was left"));
    }
    let lock = Lock::take(site, &netns)?;
    let Some((mut journal, past)) = Journal::open(site, lock, &netns)? else {
        return Ok(nothing("there is no journal: nothing was left"));
    };
    if let Some((line, why)) = &past.damage
        && !force
    {
        let (journal, line, why) = (journal.path().to_owned(), *line, why.clone());
        return Err(TuneError::Damaged { journal, line, why });
    }
    let Some(what) = what_is_left(site, &past) else {
        journal.archive()?;
        return Ok(nothing(&nothing_left(site, &past)));
    };
    let mut held = Held::new();
    let (mut records, mut conflicts) = (Vec::new(), Vec::new());
    for (number, step) in past.steps.iter().enumerate().rev() {
        if step.progress.is_some_and(Progress::is_done) {
            continue;
        }
        let ended = turn_back(site, &mut held, step, force);
        if let Some(progress) = ended.progress {
            let found = (progress == Progress::Conflict).then(|| ended.found.clone());
            journal.append(&Entry::Progress { step: number, progress, found })?;
        }
        let record = record(step, &ended);
        if matches!(record.state, KnobState::Conflict | KnobState::Drifted) {
            conflicts.push(record.clone());
        }
        records.push(record);
    }
    if conflicts.is_empty() {
        journal.append(&Entry::Closed)?;
        journal.archive()?;
    }
    Ok(Recovered { found: what, records, conflicts })
}

/// The right to tune, refused where a journal is left. One that has nothing to say any more is put away.
pub(super) fn lock_to_tune(site: &Site, netns: &str) -> Result<Lock, TuneError> {
    let lock = Lock::take(site, netns)?;
    let Some(past) = peek(site, netns)? else { return Ok(lock) };
    let path = super::journal::path(site, netns);
    if let Some((line, why)) = past.damage {
        return Err(TuneError::Damaged { journal: path, line, why });
    }
    if let Some(what) = what_is_left(site, &past) {
        let remedy = if past.left { "restore" } else { "recover" };
        return Err(TuneError::Left { journal: path, what, remedy });
    }
    if let Some((journal, _)) = Journal::open(site, lock.clone(), netns)? {
        journal.archive()?;
    }
    Ok(lock)
}

/// What a crash left of a tuning, if one did. What was left on purpose, and what is being done by a live process, is none of it.
pub fn left_by_a_crash(site: &Site) -> Option<TuneError> {
    let netns = here::netns(site);
    let past = peek(site, &netns).ok().flatten()?;
    let what = what_is_left(site, &past)?;
    let owner = past.header.as_ref()?.owner;
    (!past.left && !here::runs(owner)).then(|| TuneError::Left {
        journal: super::journal::path(site, &netns),
        what,
        remedy: "recover",
    })
}

/// What stands in a journal, in one line; none if nothing is left to be turned back.
pub(super) fn what_is_left(site: &Site, past: &Past) -> Option<String> {
    let header = past.header.as_ref()?;
    if past.is_done() || is_of_another_boot(site, past) {
        return None;
    }
    let profile = header.profile.as_deref().map(|name| format!("profile {name}, ")).unwrap_or_default();
    let pid = header.owner.pid;
    Some(if past.left {
        format!("{profile}left tuned by `tune apply` (process {pid})")
    } else if here::runs(header.owner) {
        format!("{profile}left by process {pid}, which still runs but let go of it")
    } else {
        format!("{profile}left by process {pid}, which died before it had turned everything back")
    })
}

/// Why nothing is left.
fn nothing_left(site: &Site, past: &Past) -> String {
    let why = if past.header.is_none() {
        "its writer died before it had touched anything"
    } else if is_of_another_boot(site, past) {
        "it is of another boot, and what was tuned went with that"
    } else {
        "everything it names was turned back"
    };
    format!("a journal was left, but {why}; it is archived")
}

/// Whether the host was booted since; told only if both boots are known.
fn is_of_another_boot(site: &Site, past: &Past) -> bool {
    let then = past.header.as_ref().map(|header| header.boot_id.clone()).unwrap_or_default();
    let now = here::boot_id(site);
    !then.is_empty() && !now.is_empty() && then != now
}

/// State and note of a target that was to be turned back. `skipped`: the kernel had refused to turn it.
pub(super) fn outcome(ended: &TurnedBack, skipped: bool) -> (KnobState, String) {
    match ended.progress {
        Some(Progress::Gone) => {
            (KnobState::Gone, "the target is gone; there is nothing to turn back".to_owned())
        }
        Some(Progress::Conflict) => {
            (KnobState::Conflict, format!("someone else has put `{}` there; it was left alone", ended.found))
        }
        Some(_) if skipped => (KnobState::Skipped, String::new()),
        Some(_) => (KnobState::Restored, String::new()),
        None => (KnobState::Drifted, format!("could not be turned back: {}", ended.found)),
    }
}

fn record(step: &PastStep, ended: &TurnedBack) -> KnobRecord {
    let entry = &step.entry;
    let (state, note) = outcome(ended, false);
    KnobRecord {
        knob: entry.knob,
        item: entry.item.clone(),
        target: entry.target.operate().describe(),
        class: entry.class,
        old: Some(entry.old.clone()),
        asked: entry.new.clone(),
        effective: step.found.clone(),
        state,
        note,
    }
}

pub(super) fn peek(site: &Site, netns: &str) -> Result<Option<Past>, TuneError> {
    Journal::peek(site, netns).map_err(|cause: io::Error| TuneError::Journal {
        what: "reading",
        path: super::journal::path(site, netns),
        cause,
    })
}
