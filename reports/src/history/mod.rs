//! Judges a night by the nights before it: limits, pinned baselines, a fence around recent nights, and change points. Pure:
//! what goes in is a [`schema::History`], what comes out is a [`NightReport`]; prints nothing.

mod epochs;
pub mod model;
mod rules;

use schema::{History, Night};

pub use model::{
    BaselineReport, Change, ChangePoint, Counts, Epoch, FenceReport, Member, NightFinding, NightReport,
    NightVerdict, PointReport, SeriesReport, SeriesState,
};
pub use rules::Rules;

/// Judges a night of a history; later nights are left out of sight.
///
/// None where the history has no such night.
pub fn judge(history: &History, night: i64, rules: &Rules) -> Option<NightReport> {
    let position = history.nights.iter().position(|known| known.id == night)?;
    let nights: &[Night] = &history.nights[..=position];
    let series: Vec<SeriesReport> =
        history.series.iter().map(|series| epochs::report(series, nights, &history.configurations)).collect();
    Some(NightReport {
        schema_version: schema::SCHEMA_VERSION,
        suite: history.suite.clone(),
        night: nights[position].clone(),
        nights: nights.to_vec(),
        verdict: NightVerdict::Fine,
        findings: Vec::new(),
        configuration_changes: Vec::new(),
        counts: Counts { series: series.len() as u32, ..Counts::default() },
        series,
        notes: history.notes.clone(),
        acknowledgements: history.acknowledgements.clone(),
        rules: rules.clone(),
    })
}
