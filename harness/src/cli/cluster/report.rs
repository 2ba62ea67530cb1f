//! `cluster report`: a cluster as a page for people and as a document for programs.

use std::path::{Path, PathBuf};

use clap::Args;
use reports::{cluster::ClusterReport, render::cluster};
use schema::Cluster;

use super::kept::Which;
use crate::{
    cli::{Place, output, report},
    exit::Exit,
};

/// Arguments of `cluster report`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness cluster report --out report --open
  rdma-harness cluster report 12 --out report")]
pub(super) struct Report {
    #[command(flatten)]
    which: Which,
    /// Folder to write report.html, report.md and report.json into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Show report.html in the desktop's browser
    #[arg(long)]
    open: bool,
}

impl Report {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let (measured, judged) = self.which.judged(&place.open()?)?;
        let html = write(&self.out, &measured, &judged)?;
        output::print(&html.display().to_string())?;
        if self.open {
            report::show(&html);
        }
        Ok(Exit::Fine)
    }
}

/// Writes the three files; returns the page for people.
pub(super) fn write(folder: &Path, measured: &Cluster, judged: &ClusterReport) -> anyhow::Result<PathBuf> {
    let html = folder.join("report.html");
    output::write_file(&html, cluster::html(measured, judged)?.as_bytes())?;
    output::write_file(&folder.join("report.md"), cluster::markdown(judged).as_bytes())?;
    output::write_file(&folder.join("report.json"), cluster::json(judged).as_bytes())?;
    Ok(html)
}
