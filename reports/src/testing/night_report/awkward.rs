//! The same night with names and reasons as only imported logs have them: quotes, ends of lines, markup, other scripts, and
//! very long ones. What reads an export must find them again, or at least not stumble.

use schema::{History, SeriesKey};

use super::{night_history, night_report};
use crate::history::{NightReport, SeriesState};

/// Nights that are kept.
const NIGHTS: usize = 4;

/// Names that mean something to one format or another.
pub fn awkward_names() -> [String; 12] {
    [
        "a \"quoted\" one".into(),
        "it's, with; commas".into(),
        "two\nlines\r\nand more".into(),
        "<b>&amp;</b> ]]>".into(),
        "Grüße 測試 🚀".into(),
        "x".repeat(200),
        "back\\slash\\n and 100%".into(),
        "a|b `c` [d](e) #1".into(),
        "::error title=x::y".into(),
        "{brace=\"1\"} = 2".into(),
        "tab\tand\u{1}\u{7f} control".into(),
        "  blanks  ".into(),
    ]
}

/// [`night_history`] and [`night_report`], their last nights and a run of each, with these names.
pub fn awkward_night() -> (History, NightReport) {
    let (mut history, mut report) = (night_history(), night_report());
    let names = awkward_names();
    history.nights.drain(..history.nights.len() - NIGHTS);
    report.nights.clone_from(&history.nights);
    let known = |night: i64| night >= report.nights[0].id;
    for (i, series) in history.series.iter_mut().enumerate() {
        rename(&mut series.key, &names, i);
        series.values.retain(|value| known(value.night));
        for value in &mut series.values {
            value.runs.truncate(1);
            value.confirm_runs.truncate(1);
        }
    }
    for (i, series) in report.series.iter_mut().enumerate() {
        rename(&mut series.key, &names, i);
        series.points.retain(|point| known(point.night));
        series.epochs.retain(|epoch| known(epoch.to));
        if let SeriesState::NotMeasured { why } = &mut series.state {
            *why = names.join("; ");
        }
    }
    for (finding, name) in report.findings.iter_mut().zip(&names) {
        finding.members[0].cause = Some(name.clone());
    }
    for (night, name) in report.notes.iter_mut().zip(&names) {
        night.text.clone_from(name);
    }
    report.suite = names[0].clone();
    for night in report.nights.iter_mut().chain([&mut report.night]).chain(&mut history.nights) {
        night.suite = names[0].clone();
    }
    history.suite = names[0].clone();
    (history, report)
}

fn rename(key: &mut SeriesKey, names: &[String; 12], i: usize) {
    let name = |offset: usize| names[(i + offset) % names.len()].clone();
    key.scenario = names[i % 2 + 2].clone();
    key.workload = name(0);
    key.variant = name(1);
    key.requester.host = name(2);
    key.responder.device = name(3);
}
