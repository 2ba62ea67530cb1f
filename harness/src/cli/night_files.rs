//! A night as a folder of files, one a form: what `nightly --out` and `history export --out` leave for other tools.

use std::path::Path;

use rdma_harness::store::Store;
use reports::{
    export::{night::Format, night_hlog},
    history::NightReport,
};
use schema::{Campaign, History, Night};

use super::output;
use crate::exit::UsageError;

/// The file of the night's histograms.
const HISTOGRAMS: &str = "runs.hlog";

/// Writes every form, each whole or not at all. Of the runs those of the night alone: with the nights before, the file would grow to
/// 94 MB in a year of two hundred series.
pub(super) fn write_all(
    folder: &Path,
    store: &Store,
    history: &History,
    report: &NightReport,
) -> anyhow::Result<()> {
    let mut history = history.clone();
    history.nights.retain(|night| night.id == report.night.id);
    for format in Format::ALL {
        output::write_file(&folder.join(format.file()), format.of(&history, report).as_bytes())?;
    }
    if !report.night.campaigns.is_empty() {
        output::write_file(&folder.join(HISTOGRAMS), &histograms(store, &report.night)?)?;
    }
    Ok(())
}

/// The histograms of a night, as an interval log.
pub(super) fn histograms(store: &Store, night: &Night) -> anyhow::Result<Vec<u8>> {
    if night.campaigns.is_empty() {
        let refused = match night.cluster {
            Some(cluster) => format!(
                "night {} is of the pairs of cluster {cluster}; histograms are with each: rdma-harness cluster export",
                night.id
            ),
            None => format!("night {} was imported and has no histograms", night.id),
        };
        return Err(UsageError(refused).into());
    }
    let campaigns: Vec<Campaign> =
        night.campaigns.iter().map(|one| store.load(one.campaign)).collect::<Result<_, _>>()?;
    Ok(night_hlog(night, &campaigns)?)
}
