//! `export`: the measurements of a campaign, for other tools.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schema::Campaign;

use super::{Place, output};
use crate::exit::{Exit, UsageError};

/// Forms of export.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The whole campaign with every record and histogram
    Json,
    /// Long format: one row per run, message size and metric
    Csv,
    /// HdrHistogram interval log: one histogram per run and message size
    Hlog,
}

/// Arguments of `export`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness export --format csv --out runs.csv
  rdma-harness export 3 --format hlog --variant depth-128 > depth-128.hlog")]
pub(super) struct Export {
    /// Number of the campaign; the newest if absent
    campaign: Option<i64>,
    /// Form
    #[arg(long, value_enum)]
    format: Format,
    /// File to write; standard output if absent
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only runs of this workload
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Only runs of this variant
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
}

impl Export {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        let mut campaign = store.load(store.campaign_id(self.campaign)?)?;
        self.select(&mut campaign)?;
        let bytes = match self.format {
            Format::Json => serde_json::to_vec_pretty(&campaign)?,
            Format::Csv => reports::export::csv(&campaign).into_bytes(),
            Format::Hlog => reports::export::hlog(&campaign, |_| true)?,
        };
        match &self.out {
            Some(file) => output::write_file(file, &bytes)?,
            None => output::print(&String::from_utf8(bytes)?)?,
        }
        Ok(Exit::Fine)
    }

    /// Keeps the runs asked for; a name that no run bears is an error, not an empty file.
    fn select(&self, campaign: &mut Campaign) -> Result<(), UsageError> {
        let workloads = campaign.workloads.iter().map(|workload| workload.name.as_str());
        known("--workload", self.workload.as_deref(), workloads)?;
        known(
            "--variant",
            self.variant.as_deref(),
            campaign.variants.iter().map(|variant| variant.name.as_str()),
        )?;
        campaign.runs.retain(|run| {
            self.workload.as_ref().is_none_or(|name| *name == run.workload)
                && self.variant.as_ref().is_none_or(|name| *name == run.variant)
        });
        Ok(())
    }
}

fn known<'n>(
    flag: &str,
    asked: Option<&str>,
    names: impl Iterator<Item = &'n str>,
) -> Result<(), UsageError> {
    let names: Vec<&str> = names.collect();
    match asked {
        Some(name) if !names.contains(&name) => {
            Err(UsageError(format!("{flag} {name}: the campaign has {}", names.join(", "))))
        }
        _ => Ok(()),
    }
}
