//! What tuning is in place on a host, without a right to it.

use host::Value;
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
    /// The targets that the journal names and that are not turned back.
    pub targets: Vec<TargetStatus>,
}

/// One target that is not turned back.
#[derive(Debug, Clone, Serialize)]
pub struct TargetStatus {
    /// What was written to.
    pub target: String,
    /// What stood there.
    pub old: String,
    /// What was asked.
    pub asked: String,
    /// What stands there; null where it can't be read.
    pub now: Option<String>,
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
    let targets = past.filter(|_| tuned).map(|past| targets(site, &past)).unwrap_or_default();
    Status { journal, summary, tuned, targets }
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

fn targets(site: &Site, past: &Past) -> Vec<TargetStatus> {
    let open = past.steps.iter().filter(|step| !step.progress.is_some_and(Progress::is_done));
    open.map(|step| {
        let target = step.entry.target.operate();
        let now: Value<String> = target.read(site, &Held::new());
        TargetStatus {
            target: target.describe(),
            old: step.entry.old.clone(),
            asked: step.entry.new.clone(),
            now: now.known(),
        }
    })
    .collect()
}
