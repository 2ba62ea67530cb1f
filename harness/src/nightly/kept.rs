//! From what runs say to what is kept of a night: each value under the name of its series, with its limit.
//!
//! A series that could not be measured keeps the name, the ends and the configuration it had in the night before, so that the
//! gap is in its history and opens no epoch. One that was never measured has no ends yet, and no history to leave a gap in.

use schema::{Configuration, Endpoint, Fabric, History, Limit, SeriesKey};

use super::{Derived, Entry, Kept, Suite, suite::Worst};
use crate::store::NewValue;

/// The engine of every night that is measured.
pub const ENGINE: &str = "verbs-bench";

/// What stands in for what was not measured.
pub(super) struct Absent<'a> {
    /// Why it was not.
    pub(super) why: &'a str,
    /// The nights before.
    pub(super) before: &'a History,
}

/// The values of an entry; `again` are the runs made again the same night.
pub(super) fn night_values(
    suite: &Suite,
    entry: &Entry,
    derived: Option<&[Derived]>,
    again: Option<&[Derived]>,
    absent: &Absent<'_>,
) -> Vec<NewValue> {
    let of = |all: Option<&[Derived]>, kept: &Kept| {
        all.and_then(|all| all.iter().find(|derived| derived.kept == *kept)).cloned()
    };
    let points = entry.points.iter();
    points
        .filter_map(|kept| {
            let last = last(entry, kept, absent.before);
            let derived = of(derived, kept).unwrap_or_else(|| not_measured(kept, absent.why));
            let (key, configuration) = named(entry, kept, &derived, last)?;
            Some(NewValue {
                value: derived.value(),
                limit: limit(suite, entry, kept, &derived),
                confirm_runs: of(again, kept).map_or_else(Vec::new, |again| again.runs),
                key,
                configuration,
                runs: derived.runs,
                failed_runs: derived.failed_runs,
                failure: derived.failure,
                faults: derived.faults,
            })
        })
        .collect()
}

fn not_measured(kept: &Kept, why: &str) -> Derived {
    Derived {
        kept: kept.clone(),
        fabric: Fabric::Verbs,
        ends: None,
        configuration: None,
        runs: Vec::new(),
        failed_runs: 0,
        failure: Some(why.to_owned()),
        expected: None,
        faults: Vec::new(),
    }
}

/// The series of this name that was measured last, and under what.
fn last<'h>(entry: &Entry, kept: &Kept, before: &'h History) -> Option<(&'h SeriesKey, &'h Configuration)> {
    let same = |key: &SeriesKey| {
        key.engine == ENGINE
            && key.scenario == entry.scenario.name
            && key.variant == entry.variant
            && (&key.workload, key.msg_bytes, key.metric) == (&kept.workload, kept.msg_bytes, kept.metric)
    };
    let position = |night: i64| before.nights.iter().position(|known| known.id == night);
    let series = before.series.iter().filter(|series| same(&series.key));
    let series = series.max_by_key(|series| series.values.last().and_then(|value| position(value.night)))?;
    let configuration = series.values.last().map(|value| value.configuration)?;
    Some((&series.key, before.configurations.get(&configuration)?))
}

fn named(
    entry: &Entry,
    kept: &Kept,
    derived: &Derived,
    last: Option<(&SeriesKey, &Configuration)>,
) -> Option<(SeriesKey, Configuration)> {
    let Some([requester, responder]) = &derived.ends else {
        return last.map(|(key, configuration)| (key.clone(), configuration.clone()));
    };
    let key = SeriesKey {
        engine: ENGINE.to_owned(),
        fabric: derived.fabric,
        scenario: entry.scenario.name.clone(),
        workload: kept.workload.clone(),
        variant: entry.variant.clone(),
        msg_bytes: kept.msg_bytes,
        metric: kept.metric,
        requester: Endpoint::clone(requester),
        responder: Endpoint::clone(responder),
    };
    let configuration = derived.configuration.clone().or_else(|| last.map(|(_, last)| last.clone()));
    Some((key, configuration.unwrap_or_default()))
}

/// Limits of measured values that could not be held against them, since nobody knows what link and host can carry.
pub(super) fn without_limit(suite: &Suite, entry: &Entry, derived: &[Derived]) -> Vec<String> {
    let shares = derived.iter().filter(|derived| derived.value().is_some() && derived.expected.is_none());
    let unheld = shares.filter(|derived| {
        let written = suite.limits.iter().find(|limit| limit.fits(entry, &derived.kept));
        written.is_some_and(|limit| matches!(limit.worst, Worst::OfExpected(_)))
    });
    let name = entry.name();
    unheld
        .map(|Derived { kept: Kept { workload, msg_bytes, metric }, .. }| {
            format!(
                "{name}/{workload} at {msg_bytes}: its limit on {metric} is not held against it, since the rate of the link is not known; give it as a rate"
            )
        })
        .collect()
}

/// The limit of a value, where the suite sets one and it is known what it comes to.
fn limit(suite: &Suite, entry: &Entry, kept: &Kept, derived: &Derived) -> Option<Limit> {
    let written = suite.limits.iter().find(|limit| limit.fits(entry, kept))?;
    match written.worst {
        Worst::Value(worst) => Some(Limit { worst, basis: format!("{} sets it", suite.name) }),
        Worst::OfExpected(share) => {
            let bound = derived.expected.as_ref()?;
            let percent = (1e4 * share).round() / 100.0;
            let gbps = bound.bits_per_sec / 1e9;
            let basis = format!("{percent} % of {gbps:.1} Gb/s, {}", bound.basis);
            Some(Limit { worst: share * bound.bits_per_sec, basis })
        }
    }
}
