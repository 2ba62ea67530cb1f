//! The page that a team opens in the morning: last night's verdict and findings first, then every series as a small chart. One
//! self-contained file, like the report of a campaign: no network, opens from disk, reads without its script.

mod card;
mod chart;
mod finding;
mod path;
mod sections;

use askama::Template;

use super::{campaigns::Campaigns, words};
use crate::{
    history::NightReport,
    render::{RenderError, number, view::Badge},
};
use card::Card;
use finding::Finding;
use sections::{ConfigurationRow, Remark};

#[derive(Template)]
#[template(path = "dashboard.html")]
struct Page<'r> {
    report: &'r NightReport,
    verdict: Badge,
    claim: String,
    simulated: Option<String>,
    night: String,
    summary: String,
    changed: Vec<String>,
    findings: Vec<Finding<'r>>,
    states: Vec<StateCount>,
    groups: Vec<Group<'r>>,
    configurations: Vec<ConfigurationRow>,
    remarks: Vec<Remark>,
    rules: Vec<String>,
    /// Number and day since 1970 of every night: what the script names nights by.
    nights: String,
    version: &'static str,
}

/// Series of one scenario.
struct Group<'r> {
    scenario: &'r str,
    about: String,
    cards: Vec<Card<'r>>,
}

/// How many series are in a state.
struct StateCount {
    badge: Badge,
    count: usize,
}

/// The page of a night that was judged.
pub fn dashboard(report: &NightReport, campaigns: &Campaigns) -> Result<String, RenderError> {
    let place = Place::of(report, campaigns);
    let nights =
        report.nights.iter().map(|night| format!("{} {}", night.id, night.started_at_unix_ms / DAY_MS));
    let page = Page {
        report,
        verdict: words::verdict(report.verdict),
        claim: words::claim(report),
        simulated: words::simulated(report),
        night: words::night(report, report.night.id),
        summary: summary(report),
        changed: report.configuration_changes.iter().map(words::configuration_change).collect(),
        findings: report.findings.iter().map(|finding| Finding::of(&place, finding)).collect(),
        states: states(report),
        groups: groups(&place),
        configurations: sections::configurations(report),
        remarks: sections::remarks(report),
        rules: sections::rules(report),
        nights: nights.collect::<Vec<_>>().join(","),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(page.render()?)
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A report with what every card looks up.
struct Place<'r> {
    report: &'r NightReport,
    campaigns: &'r Campaigns,
    positions: std::collections::HashMap<i64, usize>,
}

impl<'r> Place<'r> {
    fn of(report: &'r NightReport, campaigns: &'r Campaigns) -> Self {
        let positions = report.nights.iter().enumerate().map(|(n, night)| (night.id, n)).collect();
        Place { report, campaigns, positions }
    }

    /// Where a night stands among all.
    fn position(&self, night: i64) -> Option<usize> {
        self.positions.get(&night).copied()
    }

    fn night(&self, id: i64) -> String {
        match self.position(id) {
            Some(at) => format!("night {id} ({})", number::date(self.report.nights[at].started_at_unix_ms)),
            None => format!("night {id}"),
        }
    }
}

fn summary(report: &NightReport) -> String {
    let night = &report.night;
    let started = number::utc(night.started_at_unix_ms);
    let took = number::took(night.started_at_unix_ms, night.ended_at_unix_ms);
    let nights = number::counted(report.nights.len() as u32, "night");
    format!("Started {started} UTC{took}. {nights} of history.")
}

fn states(report: &NightReport) -> Vec<StateCount> {
    let mut counts: Vec<(u8, StateCount)> = Vec::new();
    for series in &report.series {
        let rank = words::rank(&series.state);
        match counts.iter_mut().find(|(known, _)| *known == rank) {
            Some((_, state)) => state.count += 1,
            None => counts.push((rank, StateCount { badge: words::state(&series.state), count: 1 })),
        }
    }
    counts.sort_by_key(|(rank, _)| *rank);
    counts.into_iter().map(|(_, state)| state).collect()
}

/// Scenarios in the order they were first measured, in each the worst series first.
fn groups<'r>(place: &Place<'r>) -> Vec<Group<'r>> {
    let mut groups: Vec<Group<'r>> = Vec::new();
    for series in &place.report.series {
        let card = Card::of(place, series);
        match groups.iter_mut().find(|group| group.scenario == series.key.scenario) {
            Some(group) => group.cards.push(card),
            None => {
                groups.push(Group { scenario: &series.key.scenario, about: String::new(), cards: vec![card] })
            }
        }
    }
    for group in &mut groups {
        group.cards.sort_by_key(|card| card.rank);
        group.about = number::counted_as(group.cards.len() as u32, "series", "series");
    }
    groups
}
