//! A finding at the head of the page: what is wrong, how much, where, since when, what changed then, and what to click.

use super::{
    Place,
    card::{self, Link},
    path::STEP,
};
use crate::{
    history::{Member, NightFinding, SeriesReport},
    render::{history::words, view::Badge},
};

pub(super) struct Finding<'r> {
    pub(super) badge: Badge,
    pub(super) new: bool,
    /// The change alone; empty where there is none.
    pub(super) change: String,
    /// Its interval and levels, or what is wrong in words.
    pub(super) detail: String,
    pub(super) place: String,
    pub(super) since: String,
    pub(super) how: String,
    /// What happened in that night or the one before it, by what people and configurations say.
    pub(super) around: Vec<String>,
    pub(super) links: Vec<Link>,
    /// The series drawn beside it, and how wide its chart is.
    pub(super) drawn: Option<(i64, u32)>,
    pub(super) members: Vec<MemberRow<'r>>,
}

pub(super) struct MemberRow<'r> {
    pub(super) series: &'r SeriesReport,
    pub(super) name: String,
    pub(super) change: String,
}

impl<'r> Finding<'r> {
    pub(super) fn of(place: &Place<'r>, finding: &'r NightFinding) -> Self {
        let report = place.report;
        let member = |member: &Member| {
            let series = words::series(report, member.series)?;
            let margin = report.rules.margin(series.key.metric);
            let change = member.change.as_ref().map(|of| words::change(of, margin));
            let change = change.or_else(|| member.cause.clone()).unwrap_or_default();
            Some(MemberRow { series, name: series.key.to_string(), change })
        };
        let members: Vec<MemberRow<'r>> = finding.members.iter().filter_map(member).collect();
        let first = members.first().map(|member| member.series);
        let largest = finding.members.first().and_then(|member| member.change.as_ref()).zip(first);
        let change =
            largest.map(|(of, series)| words::change_alone(of, report.rules.margin(series.key.metric)));
        let detail = words::how_much(report, finding);
        let detail = match &change {
            Some(change) => {
                detail.strip_prefix(change.as_str()).unwrap_or(&detail).trim_start_matches([',', ' '])
            }
            None => &detail,
        };
        let mut links = Vec::new();
        if let Some(series) = first {
            links.extend(card::links(place, series, finding.since));
            if finding.since != report.night.id {
                links.extend(card::links(place, series, report.night.id));
            }
        }
        Finding {
            badge: words::finding(finding),
            new: finding.new,
            detail: detail.to_owned(),
            change: change.unwrap_or_default(),
            place: words::place(report, finding),
            since: place.night(finding.since),
            how: words::how(finding, finding.found_by, finding.certainty),
            around: around(place, finding, &members),
            links,
            drawn: first.map(|series| (series.id, STEP * report.nights.len().max(1) as u32)),
            members,
        }
    }
}

fn around(place: &Place<'_>, finding: &NightFinding, members: &[MemberRow<'_>]) -> Vec<String> {
    let Some(since) = place.position(finding.since) else { return Vec::new() };
    let near = |night: i64| place.position(night).is_some_and(|at| at == since || at + 1 == since);
    let ours = |series: i64| members.iter().any(|member| member.series.id == series);
    let notes = place.report.notes.iter().filter(|note| near(note.night) && note.series.is_none_or(ours));
    let mut said: Vec<String> =
        notes.map(|note| format!("{}: {}", place.night(note.night), note.text)).collect();
    for epoch in members.iter().flat_map(|member| member.series.epochs.iter().skip(1)) {
        let text = format!("{}: {}", place.night(epoch.from), words::configuration_changes(&epoch.changes));
        if near(epoch.from) && !said.contains(&text) {
            said.push(text);
        }
    }
    said
}
