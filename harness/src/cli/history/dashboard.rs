//! `history dashboard`: the page of a history, and the reports of the campaigns behind what it says.

use std::path::{Path, PathBuf};

use clap::Args;
use rdma_harness::store::Store;
use reports::{
    history::NightReport,
    render::{
        self,
        history::{self, Campaigns},
    },
};

use super::{Place, Which, output, show};
use crate::{
    cli::{compare, report},
    exit::Exit,
};

#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness history dashboard --out site
  rdma-harness history dashboard --suite rack7 --out /var/www/rdma --open

Writes DIR/index.html, and DIR/night-N/campaign-M.html for the nights since which something is changed and for the last one.
Every file stands for itself and asks nothing of the network. Earlier reports in DIR are left where they are.")]
pub(super) struct Dashboard {
    #[command(flatten)]
    which: Which,
    /// Folder to write into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Show the page in the desktop's browser
    #[arg(long)]
    open: bool,
}

impl Dashboard {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        let night = self.which.report(&store)?;
        let mut campaigns = show::campaigns(&store)?;
        write_reports(&self.out, &store, &night, &mut campaigns)?;
        // The page last: what it leads to is there.
        let page = self.out.join("index.html");
        output::write_file(&page, history::dashboard(&night, &campaigns)?.as_bytes())?;
        output::print(&page.display().to_string())?;
        if self.open {
            report::show(&page);
        }
        Ok(Exit::Fine)
    }
}

/// Writes the reports of the campaigns that findings are about, and notes where.
fn write_reports(
    folder: &Path,
    store: &Store,
    night: &NightReport,
    campaigns: &mut Campaigns,
) -> anyhow::Result<()> {
    for (id, scenarios) in history::flagged(night) {
        let of_night =
            night.nights.iter().find(|known| known.id == id).map_or(&[][..], |known| &known.campaigns);
        for one in of_night {
            let Some(known) = campaigns.get_mut(&one.campaign) else { continue };
            if !scenarios.contains(&known.scenario) {
                continue;
            }
            let page = format!("night-{id}/campaign-{}.html", one.campaign);
            let campaign = store.load(one.campaign)?;
            let html = render::html(&campaign, &compare::compare(&campaign))?;
            output::write_file(&folder.join(&page), html.as_bytes())?;
            known.page = Some(page);
        }
    }
    Ok(())
}
