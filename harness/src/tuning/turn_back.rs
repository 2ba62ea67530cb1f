//! Compare and restore: a target is turned back only if what stands there is what we put there.

use host::Value;

use super::{
    journal::{PastStep, Progress, StepEntry},
    site::Site,
    target::Held,
};

/// What came of turning one target back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TurnedBack {
    /// How it ended; none if it could not be done, and has to be tried again.
    pub(super) progress: Option<Progress>,
    /// What was found before, or why it could not be done.
    pub(super) found: String,
}

/// Turns one target back; `force` overrides what someone else has put there. `found` is what was read back when it was turned,
/// if the kernel made something else of what was asked.
pub(super) fn turn_back(site: &Site, held: &mut Held, step: &PastStep, force: bool) -> TurnedBack {
    let StepEntry { target, old, new, .. } = &step.entry;
    let target = target.operate();
    let ended = |progress, found: &str| TurnedBack { progress: Some(progress), found: found.to_owned() };
    let stuck = |found: String| TurnedBack { progress: None, found };
    let current = match target.read(site, held) {
        Value::Known(current) => current,
        Value::Absent => return ended(Progress::Gone, "it is gone"),
        unknown => return stuck(unknown.why_unknown().unwrap_or_default().to_owned()),
    };
    if target.same(&current, old) {
        return ended(Progress::Restored, &current);
    }
    let as_read_back = step.found.as_deref().is_some_and(|found| target.same(&current, found));
    if !force && !as_read_back && !target.ours(&current, old, new) {
        return ended(Progress::Conflict, &current);
    }
    site.point("write: before turning back");
    if let Err(error) = target.write(site, held, old) {
        return stuck(format!("writing `{old}`: {error}"));
    }
    site.point("write: turned back");
    match target.read(site, held) {
        Value::Known(now) if target.same(&now, old) => ended(Progress::Restored, &current),
        Value::Known(now) => stuck(format!("`{old}` was written, `{now}` stands there")),
        Value::Absent => ended(Progress::Gone, "it is gone"),
        unknown => stuck(unknown.why_unknown().unwrap_or_default().to_owned()),
    }
}
