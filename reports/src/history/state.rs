//! How each series stands after the night, how many stand how, and what that makes of the night.

use schema::{Certainty, NightValue, Origin, Trend};

use super::{
    claim::Claim,
    levels::value,
    model::{Counts, NightFinding, NightVerdict, SeriesReport, SeriesState},
    track::{Past, Track},
};

/// How a series stands, by what is left of its claims.
pub(super) fn of<'c>(
    track: &Track,
    claims: impl Iterator<Item = &'c Claim> + Clone,
    past: &Past,
) -> SeriesState {
    if let Some(why) = not_measured(track, past) {
        return SeriesState::NotMeasured { why };
    }
    let open = claims.clone().filter(|claim| claim.acknowledged.is_none());
    let confirmed = |trend| {
        let is = move |claim: &Claim| claim.trend == trend && claim.certainty == Certainty::Confirmed;
        open.clone().any(is)
    };
    if confirmed(Trend::Regressed) {
        SeriesState::Regressed
    } else if open.clone().any(|claim| claim.certainty == Certainty::Suspected) {
        SeriesState::Suspected
    } else if confirmed(Trend::Improved) {
        SeriesState::Improved
    } else if claims.clone().next().is_some() {
        SeriesState::Acknowledged
    } else if track.levels.noise.is_none() {
        let (nights, of) = (track.levels.nights.len() as u32, past.rules.nights_to_start);
        SeriesState::Learning { nights, of }
    } else {
        SeriesState::Steady
    }
}

/// Why there is no value of this night; none where there is one.
fn not_measured(track: &Track, past: &Past) -> Option<String> {
    let Some(tonight) = track.on(past.tonight()) else {
        return Some(if due(track, past) {
            "measured the night before, and not this night".into()
        } else {
            "not measured any more".into()
        });
    };
    value(tonight).is_none().then(|| why(tonight))
}

fn why(night: &NightValue) -> String {
    let runs = night.runs.len() + night.failed_runs as usize;
    let failed = format!("{} of {runs} runs failed", night.failed_runs);
    night.failure.as_ref().map_or(failed.clone(), |first| format!("{failed}: {first}"))
}

/// Whether the night was to measure it: it did, or the night before it did. Logs of another tool hold what they hold.
pub(super) fn due(track: &Track, past: &Past) -> bool {
    let (tonight, night) = (past.tonight(), &past.nights[past.tonight()]);
    let before = || tonight.checked_sub(1).and_then(|before| track.on(before)).is_some();
    track.on(tonight).is_some() || (night.origin != Origin::Imported && before())
}

/// Series by their state; `due` says of each whether the night was to measure it.
pub(super) fn counts(series: &[SeriesReport], due: &[bool]) -> Counts {
    let mut counts = Counts { series: series.len() as u32, ..Counts::default() };
    for (series, due) in series.iter().zip(due) {
        let count = match series.state {
            SeriesState::Steady => &mut counts.steady,
            SeriesState::Learning { .. } => &mut counts.learning,
            SeriesState::Suspected => &mut counts.suspected,
            SeriesState::Regressed => &mut counts.regressed,
            SeriesState::Improved => &mut counts.improved,
            SeriesState::Acknowledged => &mut counts.acknowledged,
            SeriesState::NotMeasured { .. } if *due => &mut counts.not_measured,
            SeriesState::NotMeasured { .. } => continue,
        };
        *count += 1;
    }
    counts
}

/// The worst that is said.
pub(super) fn verdict(findings: &[NightFinding], counts: &Counts) -> NightVerdict {
    let suspected = |finding: &NightFinding| {
        finding.trend == Trend::Regressed
            && finding.certainty == Certainty::Suspected
            && finding.acknowledged.is_none()
    };
    if findings.iter().any(NightFinding::alarms) {
        NightVerdict::Regression
    } else if counts.not_measured > 0 {
        NightVerdict::CouldNotRun
    } else if findings.iter().any(suspected) {
        NightVerdict::Inconclusive
    } else {
        NightVerdict::Fine
    }
}
