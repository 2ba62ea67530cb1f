//! The `[pattern]` table of a suite.

use std::path::Path;

use schema::{Directions, PatternKind};

use crate::{
    cluster::pattern::{CustomRounds, Pattern},
    scenario::{Fault, ScenarioError, Section},
    suite::Wrong,
};

/// Nodes opposite one, matchings: as many as anyone may mean.
const MOST: u64 = 4_096;
/// Passes over the whole pattern.
const MOST_PASSES: u64 = 1_000;
/// Matchings of a bisection where a suite does not say.
const MATCHINGS: u32 = 4;

/// What `[pattern]` says.
pub(super) struct Written {
    pub(super) pattern: Pattern,
    pub(super) directions: Directions,
    pub(super) at_once: Option<u32>,
    pub(super) repeat: u32,
    pub(super) seed: Option<u64>,
}

/// Reads the table; the file of a custom pattern is looked for from `folder` on.
pub(super) fn read(root: &Section<'_>, folder: &Path, wrong: &Wrong) -> Option<Written> {
    let Some(section) = root.section("pattern") else {
        if root.raw("pattern").is_none() {
            let what = "is missing; it says which pairs of nodes are measured, and which at the same time";
            root.push(
                Fault::new("pattern", 0..0, what)
                    .advice("add [pattern] with kind = \"pairs\", or \"screen\" for a first look"),
            );
        }
        return None;
    };
    let section = &section;
    let kind = section.parsed::<PatternKind>("kind");
    if kind.is_none() && section.raw("kind").is_none() {
        section.fault("kind", section.span(), "is missing; write for example \"pairs\" or \"screen\"");
    }
    let repeat = section.whole("repeat", 1, MOST_PASSES).map_or(1, |repeat| repeat.value as u32);
    let seed = section.whole("seed", 0, i64::MAX as u64).map(|seed| seed.value);
    let (directions, at_once) = (section.parsed("directions"), section.whole("at_once", 1, MOST));
    let kind = kind?.value;
    let pattern = read_kind(section, kind, folder, wrong);
    section.finish();
    let pattern = pattern?;
    if let Some(both) = directions.as_ref().filter(|at| pattern.is_one_way() && at.value == Directions::Both)
    {
        section.fault("directions", both.span.clone(), one_way(kind));
    }
    if let Some(at_once) = at_once.as_ref().filter(|_| pattern.is_together()) {
        let what =
            format!("has no meaning for {kind}: what it measures is what its pairs do at the same time");
        section.fault("at_once", at_once.span.clone(), what);
    }
    let directions = directions.map_or_else(|| usual(&pattern), |directions| directions.value);
    Some(Written { pattern, directions, at_once: at_once.map(|most| most.value as u32), repeat, seed })
}

fn read_kind(section: &Section<'_>, kind: PatternKind, folder: &Path, wrong: &Wrong) -> Option<Pattern> {
    let count = |key| section.whole(key, 1, MOST).map(|count| count.value as u32);
    let wanted = |key: &'static str, what: &str| {
        if section.raw(key).is_none() {
            section.fault(key, section.span(), format!("is missing; {what}"));
        }
        count(key)
    };
    Some(match kind {
        PatternKind::Pairs => Pattern::Pairs,
        PatternKind::Screen => Pattern::Screen,
        PatternKind::Shift => Pattern::Shift,
        PatternKind::Bisection => Pattern::Bisection { matchings: count("matchings").unwrap_or(MATCHINGS) },
        PatternKind::Incast => Pattern::Incast {
            senders: wanted("senders", "it is how many nodes send to one at the same time")?,
        },
        PatternKind::Outcast => Pattern::Outcast {
            receivers: wanted("receivers", "it is to how many nodes one sends at the same time")?,
        },
        PatternKind::Leaf => Pattern::Leaf,
        PatternKind::Hop => Pattern::Hop,
        PatternKind::Victim => Pattern::Victim { congestors: count("congestors") },
        PatternKind::Custom => Pattern::Custom(read_custom(section, folder, wrong)?),
    })
}

fn read_custom(section: &Section<'_>, folder: &Path, wrong: &Wrong) -> Option<CustomRounds> {
    let Some(file) = section.text("file") else {
        if section.raw("file").is_none() {
            let what = "is missing; it is the path of a file with `ROUND NODE NODE` lines, or with lines such as `0,1;2,3`";
            section.fault("file", section.span(), what);
        }
        return None;
    };
    let path = folder.join(&file.value);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(cause) => {
            section.fault("file", file.span, format!("reading {}: {cause}", path.display()));
            return None;
        }
    };
    match CustomRounds::parse(&path, text) {
        Ok(rounds) => Some(rounds),
        Err(report) => {
            wrong.borrow_mut().get_or_insert(ScenarioError::Faults(report));
            None
        }
    }
}

/// Both ways, unless the pattern itself says who posts.
fn usual(pattern: &Pattern) -> Directions {
    let says = pattern.is_one_way() || pattern.kind() == PatternKind::Custom;
    if says { Directions::Forward } else { Directions::Both }
}

fn one_way(kind: PatternKind) -> String {
    let other = match kind {
        PatternKind::Incast => "; the other direction of it is pattern `outcast`",
        PatternKind::Outcast => "; the other direction of it is pattern `incast`",
        _ => ": it measures every pair each way already",
    };
    format!("has no meaning for {kind}{other}")
}
