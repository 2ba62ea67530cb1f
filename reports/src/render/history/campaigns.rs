//! What stands behind a night: its campaigns, and the pages that show them.

use std::collections::{BTreeMap, BTreeSet};

use schema::{NightPart, SeriesKey};

use super::words;
use crate::history::NightReport;

/// What a campaign of a night is, for links to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignOfNight {
    /// Name of its scenario.
    pub scenario: String,
    /// Address of its report, beside the dashboard; none where none was written.
    pub page: Option<String>,
}

/// The campaigns of nights, by their numbers in the store.
pub type Campaigns = BTreeMap<i64, CampaignOfNight>;

/// A campaign that measured a series in a night.
pub(super) struct Behind<'c> {
    pub(super) campaign: i64,
    pub(super) part: NightPart,
    pub(super) page: Option<&'c str>,
}

impl Behind<'_> {
    /// `240`, `241 (again)`.
    pub(super) fn name(&self) -> String {
        match self.part {
            NightPart::First => self.campaign.to_string(),
            NightPart::Confirm => format!("{} (again)", self.campaign),
        }
    }
}

/// The campaigns of a night that measured a series.
pub(super) fn behind<'c>(
    report: &NightReport,
    campaigns: &'c Campaigns,
    night: i64,
    key: &SeriesKey,
) -> Vec<Behind<'c>> {
    let night = words::night_of(report, night);
    let all = night.map_or(&[][..], |night| night.campaigns.as_slice());
    let ours = all.iter().filter_map(|one| {
        let of = campaigns.get(&one.campaign).filter(|of| of.scenario == key.scenario)?;
        Some(Behind { campaign: one.campaign, part: one.part, page: of.page.as_deref() })
    });
    ours.collect()
}

/// The nights whose evidence a reader of the findings wants: those since which something is changed, and the night itself. By
/// night, the names of the scenarios that are concerned.
pub fn flagged(report: &NightReport) -> BTreeMap<i64, BTreeSet<String>> {
    let mut flagged: BTreeMap<i64, BTreeSet<String>> = BTreeMap::new();
    for finding in &report.findings {
        let members = finding.members.iter().filter_map(|member| words::series(report, member.series));
        for scenario in members.map(|series| series.key.scenario.clone()) {
            for night in [finding.since, report.night.id] {
                flagged.entry(night).or_default().insert(scenario.clone());
            }
        }
    }
    flagged
}
