//! `report`: a campaign as a page for people and as a document for programs.

use std::path::{Path, PathBuf};

use clap::Args;
use reports::{Comparison, render};
use schema::Campaign;

use super::{Place, compare, output};
use crate::exit::Exit;

/// Arguments of `report`.
#[derive(Args)]
#[command(after_help = "Example:\n  rdma-harness report 3 --out report")]
pub(super) struct Report {
    /// Number of the campaign; the newest if absent
    campaign: Option<i64>,
    /// Folder to write report.html, report.md and report.json into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Report {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        let campaign = store.load(store.campaign_id(self.campaign)?)?;
        let html = write(&self.out, &campaign, &compare::compare(&campaign))?;
        output::print(&html.display().to_string())?;
        Ok(Exit::Fine)
    }
}

/// Writes the three files; returns the page for people.
pub(super) fn write(folder: &Path, campaign: &Campaign, comparison: &Comparison) -> anyhow::Result<PathBuf> {
    let html = folder.join("report.html");
    output::write_file(&html, render::html(campaign, comparison)?.as_bytes())?;
    output::write_file(&folder.join("report.md"), render::markdown(campaign, comparison).as_bytes())?;
    output::write_file(&folder.join("report.json"), render::json(comparison).as_bytes())?;
    Ok(html)
}
