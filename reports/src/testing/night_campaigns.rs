//! What stands behind the nights of [`super::night_report`]: a campaign a night, and pages of two of them.

use crate::render::history::{CampaignOfNight, Campaigns, flagged};

use super::night_report;

/// The campaigns, with pages of those that the findings are about.
pub fn night_campaigns() -> Campaigns {
    let report = night_report();
    let flagged = flagged(&report);
    let campaigns =
        report.nights.iter().flat_map(|night| night.campaigns.iter().map(move |one| (night.id, one)));
    let of = |(night, one): (i64, &schema::NightCampaign)| {
        let page =
            flagged.contains_key(&night).then(|| format!("night-{night}/campaign-{}.html", one.campaign));
        (one.campaign, CampaignOfNight { scenario: "nightly-rate".into(), page })
    };
    campaigns.map(of).collect()
}
