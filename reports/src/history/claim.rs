//! What each question says of a series, before the number of series is taken into account and what belongs together is put
//! together.

use schema::{Certainty, Direction, FoundBy, NightValue, Trend};

use super::{
    baseline::Against,
    fence::Fence,
    level::Compared,
    levels::value,
    model::Change,
    track::{Past, Track, trend},
};

/// One series, one question, one change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Claim {
    /// Which of the tracks.
    pub(super) track: usize,
    pub(super) found_by: FoundBy,
    pub(super) certainty: Certainty,
    pub(super) trend: Trend,
    /// Where the first night of it stands in time.
    pub(super) since: usize,
    pub(super) change: Option<Change>,
    /// None where it is no matter of chance.
    pub(super) p: Option<f64>,
    pub(super) cause: Option<String>,
    pub(super) acknowledged: Option<String>,
}

/// Everything that is said of a series.
pub(super) fn all(
    number: usize,
    track: &Track,
    fence: Option<&Fence>,
    against: Option<&Against>,
    past: &Past,
) -> Vec<Claim> {
    let tonight = track.on(past.tonight());
    let mut claims: Vec<Claim> = tonight.into_iter().flat_map(|tonight| absolute(track, tonight)).collect();
    claims.extend(against.and_then(|against| against.claim(track)));
    claims.extend(fence.and_then(|fence| stands_out(track, fence)));
    claims.extend(changed(track, past));
    for claim in &mut claims {
        claim.track = number;
        claim.acknowledged = past.acknowledged(track.series.id, claim.since);
    }
    claims
}

/// A claim of a series that has no number yet.
pub(super) fn new(found_by: FoundBy, certainty: Certainty, trend: Trend, since: usize) -> Claim {
    Claim {
        track: 0,
        found_by,
        certainty,
        trend,
        since,
        change: None,
        p: None,
        cause: None,
        acknowledged: None,
    }
}

/// What needs no history: a limit that is not reached, a link or counters that are wrong.
fn absolute(track: &Track, tonight: &NightValue) -> Vec<Claim> {
    let mut claims = Vec::new();
    let certain = |since| new(FoundBy::Limit, Certainty::Confirmed, Trend::Regressed, since);
    if let Some(since) = track.since(|night| fails(track, night).is_some()) {
        let change = fails(track, tonight);
        let cause = tonight.limit.as_ref().map(|limit| format!("worse than its limit: {}", limit.basis));
        claims.push(Claim { change, cause, ..certain(since) });
    }
    if let Some(since) = track.since(|night| !night.faults.is_empty()) {
        claims.push(Claim { cause: Some(tonight.faults.join("; ")), ..certain(since) });
    }
    claims
}

/// From the limit to the value, where the value is worse.
fn fails(track: &Track, night: &NightValue) -> Option<Change> {
    let (before, after) = (night.limit.as_ref()?.worst, value(night)?);
    let worse = match track.metric().direction() {
        Direction::HigherIsBetter => after < before,
        Direction::LowerIsBetter => after > before,
    };
    let change = if before == 0.0 { 0.0 } else { after / before - 1.0 };
    worse.then_some(Change { before, after, change, low: None, high: None })
}

/// A night beyond its fence, unless it was measured again and did not stand out then.
fn stands_out(track: &Track, fence: &Fence) -> Option<Claim> {
    let report = &fence.report;
    let certainty = match (report.stands_out(track.margin), report.confirmed(track.margin)) {
        (false, _) | (_, Some(false)) => return None,
        (true, Some(true)) => Certainty::Confirmed,
        (true, None) => Certainty::Suspected,
    };
    let beyond = |night: &NightValue| {
        let distance = value(night).map_or(0.0, |value| (value - report.level) / report.level.abs());
        let again = super::FenceReport { distance, ..*report };
        again.stands_out(track.margin) && (distance > 0.0) == (report.distance > 0.0)
    };
    let since = track.since(beyond)?;
    let distance = report.again.unwrap_or(report.distance);
    let change = Change {
        before: report.level,
        after: report.level + distance * report.level.abs(),
        change: distance,
        low: None,
        high: None,
    };
    let trend = trend(track.metric(), change.after - change.before)?;
    Some(Claim { change: Some(change), p: Some(fence.p), ..new(FoundBy::Fence, certainty, trend, since) })
}

/// Changes of the level that are still to be told: regressions that stand, improvements of late, and what is suspected.
fn changed(track: &Track, past: &Past) -> Vec<Claim> {
    let (levels, floor) = (&track.levels, track.floor(past.rules));
    let told = levels.shifts.iter().enumerate().filter_map(|(before, shift)| {
        let suspected = shift.certainty == Certainty::Suspected;
        let now = if suspected { levels.last() } else { levels.sure() };
        let Compared { change: step, .. } = levels.compared(before, before + 1)?;
        let Compared { change, .. } = levels.compared(before, now)?;
        let trend = trend(track.metric(), step.after - step.before)?;
        let nights_since = levels.nights.len() - 1 - shift.index;
        let told = match trend {
            Trend::Regressed => suspected || stands(track, &change, floor),
            Trend::Improved => nights_since <= past.rules.nights_after as usize + 1,
        };
        let change = if trend == Trend::Regressed { change } else { step };
        let since = levels.nights[shift.index].at;
        let claim = new(FoundBy::ChangePoint, shift.certainty, trend, since);
        told.then_some(Claim { change: Some(change), p: Some(shift.p), ..claim })
    });
    told.collect()
}

/// Whether the present level is still worse than that before the change, by more than is a change at all.
fn stands(track: &Track, change: &Change, floor: f64) -> bool {
    trend(track.metric(), change.after - change.before) == Some(Trend::Regressed)
        && change.change.abs() > floor
}
