//! `store`: looks after the file itself.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rdma_harness::{
    cluster, nightly,
    store::{Checked, Merged, Tally},
};

use super::{Place, output};
use crate::exit::Exit;

/// Arguments of `store`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness store check                     is everything in it whole?
  rdma-harness store backup nights-2027.db     a copy, also while a night is being measured
  rdma-harness store merge node7.db node8.db   bring what other hosts measured into this store

Exit codes:
  0 fine   1 something is damaged, or was told differently by two stores   3 could not be done")]
pub(super) struct StoreFile {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Read everything: pages, references, records, histograms, values of nights, pairs of clusters
    Check(Check),
    /// Copy the store into one file, checked, under its name once it is whole
    Backup(Backup),
    /// Add the campaigns, nights, clusters and remarks of other stores; what is known already is not added again
    Merge(Merge),
}

#[derive(Args)]
struct Check {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Backup {
    /// The copy
    file: PathBuf,
    /// Replace a file of that name
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
struct Merge {
    /// Other stores; they are only read, and may be of an earlier version
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl StoreFile {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        match self.what {
            What::Check(check) => check.execute(place),
            What::Backup(backup) => backup.execute(place),
            What::Merge(merge) => merge.execute(place),
        }
    }
}

/// Done, but for what was named.
fn exit(named: &[String]) -> Exit {
    if named.is_empty() { Exit::Fine } else { Exit::Regression }
}

impl Check {
    fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        let mut checked = store.check()?;
        match nightly::recheck(&store).and_then(|of_nights| Ok((of_nights, cluster::recheck(&store)?))) {
            Ok((of_nights, of_clusters)) => checked.problems.extend(of_nights.into_iter().chain(of_clusters)),
            Err(_) if !checked.problems.is_empty() => {} // why it can't be read is among them
            Err(error) => return Err(error.into()),
        }
        if self.json {
            output::print(&serde_json::to_string_pretty(&checked)?)?;
        } else {
            output::print(&told(&checked))?;
        }
        Ok(exit(&checked.problems))
    }
}

fn told(checked: &Checked) -> String {
    let Checked { store_version, bytes, campaigns, runs, pruned_runs, histograms, nights, values, .. } =
        checked;
    let Checked { clusters, pair_runs, pruned_pair_runs, problems, .. } = checked;
    let mut text = format!(
        "store     version {store_version}, {bytes} bytes
campaigns {campaigns}, with {runs} runs, {pruned_runs} of them pruned, and {histograms} histograms
nights    {nights}, with {values} values
clusters  {clusters}, with {pair_runs} runs, {pruned_pair_runs} of them pruned\n"
    );
    match problems.as_slice() {
        [] => text.push_str("whole     everything reads back\n"),
        problems => problems.iter().for_each(|problem| text.push_str(&format!("damaged   {problem}\n"))),
    }
    text
}

impl Backup {
    fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let bytes = place.open()?.backup(&self.file, self.force)?;
        output::print(&format!("backup    {} ({bytes} bytes)", self.file.display()))?;
        Ok(Exit::Fine)
    }
}

impl Merge {
    fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let mut store = place.create_or_open()?;
        let _lock = store.lock_to_measure()?;
        let (mut all, mut conflicts) = (Vec::new(), Vec::new());
        for file in &self.files {
            let merged = store.merge(file)?;
            if !self.json {
                output::print(&format!("merged    {}\n{}", file.display(), told_of_merge(&merged)))?;
            }
            all.push(serde_json::json!({ "file": file, "merged": merged }));
            conflicts.extend(merged.conflicts);
        }
        if self.json {
            output::print(&serde_json::to_string_pretty(&all)?)?;
        }
        Ok(exit(&conflicts))
    }
}

fn told_of_merge(merged: &Merged) -> String {
    let Merged { campaigns, runs, nights, values, clusters, rounds, remarks, conflicts } = merged;
    let line = |what: &str, Tally { added, known }: &Tally| {
        format!("{what:<10}{added} added, {known} known already\n")
    };
    let mut text = [
        line("campaigns", campaigns),
        line("runs", runs),
        line("nights", nights),
        line("values", values),
        line("clusters", clusters),
        line("rounds", rounds),
        line("remarks", remarks),
    ]
    .concat();
    conflicts.iter().for_each(|conflict| text.push_str(&format!("left      {conflict}\n")));
    text
}
