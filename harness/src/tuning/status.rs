//! What tuning is in place on a host, without a right to it.

use host::Value;
use schema::{Class, KnobRecord, KnobState};
use serde::Serialize;

use super::{
    here,
    journal::{Journal, Past, Progress},
    recover,
    site::Site,
    target::Held,
};

/// What is in place.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The journal's file.
    pub journal: String,
    /// In one line.
    pub summary: String,
    /// Whether something has to be turned back by `tune restore` or `tune recover`, or is being done now.
    pub tuned: bool,
    /// The targets that the journal names and that are not turned back: verified where they stand as asked, drifted where not.
    pub records: Vec<KnobRecord>,
}

/// Looks at the journal and at what it names.
pub fn status(site: &Site) -> Status {
    let netns = here::netns(site);
    let journal = super::journal::path(site, &netns).display().to_string();
    let (summary, past) = match Journal::peek(site, &netns) {
        Ok(None) => ("nothing is tuned".to_owned(), None),
        Err(error) => (format!("the journal can't be read: {error}"), None),
        Ok(Some(past)) => (summary(site, &past), Some(past)),
    };
    let tuned = past
        .as_ref()
        .is_some_and(|past| past.damage.is_some() || recover::what_is_left(site, past).is_some());
    let records = past.filter(|_| tuned).map(|past| records(site, &past)).unwrap_or_default();
    Status { journal, summary, tuned, records }
}

fn summary(site: &Site, past: &Past) -> String {
    if let Some((line, why)) = &past.damage {
        return format!("the journal is damaged at line {line}: {why}");
    }
    match (recover::what_is_left(site, past), &past.header) {
        (None, _) => "nothing is tuned; an old journal is archived at the next start".to_owned(),
        (Some(_), Some(header)) if !past.left && here::runs(header.owner) => {
            format!("process {} tunes this host now", header.owner.pid)
        }
        (Some(what), _) => what,
    }
}

fn records(site: &Site, past: &Past) -> Vec<KnobRecord> {
    let open = past.steps.iter().filter(|step| !step.progress.is_some_and(Progress::is_done));
    open.map(|step| {
        let entry = &step.entry;
        let target = entry.target.operate();
        let now = target.read(site, &Held::new());
        let (state, note) = match now.as_ref() {
            // What a process holds is known to that process alone.
            _ if entry.class == Class::SelfRestoring => (KnobState::Verified, "held by its process"),
            Value::Known(now) if target.same(now, &entry.new) => (KnobState::Verified, ""),
            Value::Known(now) if target.same(now, &entry.old) => {
                (KnobState::Drifted, "it is as it was before")
            }
            Value::Known(_) => (KnobState::Drifted, "someone else has changed it"),
            Value::Absent => (KnobState::Gone, "it is gone"),
            _ => (KnobState::Drifted, "it can't be read"),
        };
        KnobRecord {
            knob: entry.knob,
            item: entry.item.clone(),
            target: target.describe(),
            class: entry.class,
            old: Some(entry.old.clone()),
            asked: entry.new.clone(),
            effective: now.known(),
            state,
            note: note.to_owned(),
        }
    })
    .collect()
}
