//! Judges a night by the nights before it: limits, pinned baselines, a fence around recent nights, and change points. Pure:
//! what goes in is a [`schema::History`], what comes out is a [`NightReport`]; prints nothing.
//!
//! [`track`] cuts a series into epochs and these into levels, which [`shifts`] finds by [`e_divisive`]. Each question then
//! makes its [`claim`]; [`discoveries`] takes the number of series into account, [`findings`] puts together what belongs
//! together, and [`state`] says what is left. `docs/measurement.md` explains the method.

mod baseline;
mod claim;
mod discoveries;
mod e_divisive;
mod epochs;
mod fence;
mod findings;
mod level;
mod levels;
pub mod model;
mod noise;
mod rules;
mod shifts;
mod state;
mod track;

use schema::{ConfigurationChange, History};

use claim::Claim;
use discoveries::Asked;
pub use model::{
    BaselineReport, Change, ChangePoint, Counts, Epoch, FenceReport, Member, NightFinding, NightReport,
    NightVerdict, PointReport, SeriesReport, SeriesState,
};
pub use rules::Rules;
use track::{Past, Track};

/// Judges a night of a history; later nights are left out of sight.
///
/// None where the history has no such night.
pub fn judge(history: &History, night: i64, rules: &Rules) -> Option<NightReport> {
    let past = Past::of(history, night, rules)?;
    let tracks: Vec<Track> = history.series.iter().map(|series| Track::of(series, &past)).collect();
    let fences: Vec<_> = tracks.iter().map(|track| fence::of(track, &past)).collect();
    let baselines: Vec<_> = tracks.iter().map(|track| baseline::of(track, &past)).collect();
    let due: Vec<bool> = tracks.iter().map(|track| state::due(track, &past)).collect();
    let asked = Asked {
        change_points: tracks.iter().filter(|track| track.levels.noise.is_some()).count(),
        fences: fences.iter().flatten().map(|fence| fence.p).collect(),
        baselines: baselines.iter().flatten().filter_map(|against| against.p).collect(),
    };
    // What is not measured any more is not this night's business.
    let claims = (0..tracks.len()).filter(|number| due[*number]).flat_map(|number| {
        let (fence, against) = (fences[number].as_ref(), baselines[number].as_ref());
        claim::all(number, &tracks[number], fence, against, &past)
    });
    let claims = discoveries::kept(claims.collect(), &asked, rules.false_discovery_rate);
    let findings = findings::of(&claims, &tracks, &past);
    let mut series: Vec<SeriesReport> =
        tracks.iter().enumerate().map(|(number, track)| report(number, track, &claims, &past)).collect();
    for ((series, fence), against) in series.iter_mut().zip(fences).zip(baselines) {
        series.fence = fence.map(|fence| fence.report);
        series.baseline = against.map(|against| against.report);
    }
    let counts = state::counts(&series, &due);
    let known = |night: &i64| past.order.contains_key(night);
    Some(NightReport {
        schema_version: schema::SCHEMA_VERSION,
        suite: history.suite.clone(),
        night: past.nights[past.tonight()].clone(),
        nights: past.nights.to_vec(),
        verdict: state::verdict(&findings, &counts),
        findings,
        configuration_changes: configuration_changes(&series, night),
        counts,
        series,
        notes: history.notes.iter().filter(|note| known(&note.night)).cloned().collect(),
        acknowledgements: history.acknowledgements.iter().filter(|ack| known(&ack.night)).cloned().collect(),
        rules: rules.clone(),
    })
}

/// The series whose night stands out and was not measured again yet, worst first: whoever can measure them again the same night
/// turns suspicions into findings, or into nothing.
///
/// Empty where the history has no such night.
pub fn fence_hits(history: &History, night: i64, rules: &Rules) -> Vec<i64> {
    let Some(past) = Past::of(history, night, rules) else { return Vec::new() };
    let hit = |series| {
        let track = Track::of(series, &past);
        let report = fence::of(&track, &past)?.report;
        let hit = report.stands_out(track.margin) && report.again.is_none();
        hit.then_some((report.distance.abs(), track.series.id))
    };
    let mut hits: Vec<(f64, i64)> = history.series.iter().filter_map(hit).collect();
    hits.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    hits.into_iter().map(|(_, series)| series).collect()
}

fn report(number: usize, track: &Track, claims: &[Claim], past: &Past) -> SeriesReport {
    let own = claims.iter().filter(|claim| claim.track == number);
    let (epochs, change_points) = epochs::epochs(track, past);
    SeriesReport {
        id: track.series.id,
        key: track.series.key.clone(),
        state: state::of(track, own, past),
        points: epochs::points(track),
        epochs,
        change_points,
        cv: track.levels.noise.map(|noise| noise.cv),
        fence: None,
        limit: track.on(past.tonight()).and_then(|night| night.limit.clone()),
        baseline: None,
    }
}

/// What begins an epoch this night, over all series, each once.
fn configuration_changes(series: &[SeriesReport], night: i64) -> Vec<ConfigurationChange> {
    let mut changes: Vec<ConfigurationChange> = Vec::new();
    let present = series.iter().filter_map(|series| series.epochs.last());
    for change in present.filter(|epoch| epoch.from == night).flat_map(|epoch| &epoch.changes) {
        if !changes.contains(change) {
            changes.push(change.clone());
        }
    }
    changes
}
