//! The end of a night: it is judged by the nights before, and what is said is kept for the nights after.

use reports::history::{NightReport, Rules, judge};
use schema::{History, Reported};

use crate::{
    store::{Store, StoreError},
    words,
};

/// Judges a night that has all its values, keeps what is said and that it has ended.
pub(crate) fn conclude(
    store: &mut Store,
    history: &History,
    night: i64,
    rules: &Rules,
) -> Result<NightReport, StoreError> {
    let mut report = judge(history, night, rules).expect("the night is of its own history");
    store.keep_reported(night, &reported(&report))?;
    let ended = words::unix_ms();
    store.end_night(night, ended)?;
    for known in report.nights.iter_mut().chain([&mut report.night]).filter(|known| known.id == night) {
        known.ended_at_unix_ms = Some(ended);
    }
    Ok(report)
}

/// What was said, for later nights to know what is new.
fn reported(report: &NightReport) -> Vec<Reported> {
    let mut all: Vec<Reported> = Vec::new();
    for finding in &report.findings {
        for member in &finding.members {
            let said = Reported {
                night: report.night.id,
                series: member.series,
                found_by: member.found_by,
                certainty: member.certainty,
                trend: finding.trend,
                since: finding.since,
            };
            if !all.iter().any(|other| (other.series, other.found_by) == (said.series, said.found_by)) {
                all.push(said);
            }
        }
    }
    all
}
