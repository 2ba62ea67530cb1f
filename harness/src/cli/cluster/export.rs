//! `cluster export`: a judged cluster in the forms of other tools.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use reports::{
    cluster::ClusterReport,
    export::cluster::{Format, Pairs},
};
use schema::Cluster;

use super::kept::Which;
use crate::{
    cli::{Place, output},
    exit::Exit,
};

/// Arguments of `cluster export`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness cluster export --out results
  rdma-harness cluster export 12 --format junit --out junit.xml
  rdma-harness cluster export --format prometheus --matrix

Without --format, --out is a folder that gets a file of each form; docs/outputs.md tells what reads them. An export fails nothing: the
exit code is 0 whatever it says of the cluster.")]
pub(super) struct Export {
    #[command(flatten)]
    which: Which,
    /// Form
    #[arg(long, value_enum)]
    format: Option<Form>,
    /// File to write, standard output if absent; without --format, the folder to write to
    #[arg(long, value_name = "FILE", required_unless_present = "format")]
    out: Option<PathBuf>,
    /// Tell Prometheus and OpenMetrics every pair too: of n nodes, n (n - 1) for each number
    #[arg(long)]
    matrix: bool,
}

/// Forms of a cluster.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// The whole judgement
    Json,
    /// JUnit XML: what is confirmed is a failure, what could not run an error
    Junit,
    /// Prometheus' text format, for node_exporter's textfile collector
    Prometheus,
    /// OpenMetrics
    Openmetrics,
    /// Long CSV: a row a run and message size
    Csv,
    /// CSV with a row a requester and a column a responder
    Matrix,
    /// Markdown, for a ticket or the summary of a CI job
    Markdown,
}

impl Form {
    fn format(self) -> Format {
        match self {
            Form::Json => Format::Json,
            Form::Junit => Format::Junit,
            Form::Prometheus => Format::Prometheus,
            Form::Openmetrics => Format::OpenMetrics,
            Form::Csv => Format::Csv,
            Form::Matrix => Format::Matrix,
            Form::Markdown => Format::Markdown,
        }
    }
}

impl Export {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let (measured, report) = self.which.judged(&place.open()?)?;
        let pairs = if self.matrix { Pairs::Told } else { Pairs::LeftOut };
        match (self.format, &self.out) {
            (None, Some(folder)) => write_all(folder, &measured, &report, pairs)?,
            (Some(form), Some(file)) => {
                output::write_file(file, form.format().of(&measured, &report, pairs).as_bytes())?;
            }
            (Some(form), None) => output::print(&form.format().of(&measured, &report, pairs))?,
            // The command line demands one of them.
            (None, None) => {}
        }
        Ok(Exit::Fine)
    }
}

/// A file of each form, each whole or not at all.
pub(super) fn write_all(
    folder: &Path,
    measured: &Cluster,
    report: &ClusterReport,
    pairs: Pairs,
) -> anyhow::Result<()> {
    for format in Format::ALL {
        output::write_file(&folder.join(format.file()), format.of(measured, report, pairs).as_bytes())?;
    }
    Ok(())
}
