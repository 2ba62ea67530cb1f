//! `report`: a campaign as a page for people and as a document for programs.

use std::path::{Path, PathBuf};

use clap::Args;
use reports::{Comparison, render};
use schema::Campaign;

use super::{Place, compare, output};
use crate::exit::Exit;

/// Arguments of `report`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness report 3 --out report
  rdma-harness report --out report --open")]
pub(super) struct Report {
    /// Number of the campaign; the newest if absent
    campaign: Option<i64>,
    /// Folder to write report.html, report.md and report.json into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Show report.html in the desktop's browser
    #[arg(long)]
    open: bool,
}

impl Report {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        let campaign = store.load(store.campaign_id(self.campaign)?)?;
        let html = write(&self.out, &campaign, &compare::compare(&campaign))?;
        output::print(&html.display().to_string())?;
        if self.open {
            show(&html);
        }
        Ok(Exit::Fine)
    }
}

/// Opens the page with whatever the desktop opens pages with. It is written already: that nothing can show it is said, and
/// fails nothing.
pub(super) fn show(html: &Path) {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"].into_iter().any(set) {
        eprintln!(
            "rdma-harness: nothing to open the report with: none of DISPLAY, WAYLAND_DISPLAY and BROWSER is set. Copy {} to where there is a browser",
            html.display()
        );
        return;
    }
    // An opener is free to change its folder, so the path is given from the root.
    let page = std::path::absolute(html).unwrap_or_else(|_| html.to_owned());
    if let Err(cause) = open::that_detached(&page) {
        eprintln!(
            "rdma-harness: nothing opened {}: {cause}; is xdg-open (package xdg-utils) there?",
            page.display()
        );
    }
}

/// Writes the three files; returns the page for people.
pub(super) fn write(folder: &Path, campaign: &Campaign, comparison: &Comparison) -> anyhow::Result<PathBuf> {
    let html = folder.join("report.html");
    output::write_file(&html, render::html(campaign, comparison)?.as_bytes())?;
    output::write_file(&folder.join("report.md"), render::markdown(campaign, comparison).as_bytes())?;
    output::write_file(&folder.join("report.json"), render::report_json(campaign, comparison).as_bytes())?;
    Ok(html)
}
