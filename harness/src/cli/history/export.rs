//! `history export`: a judged night in the forms of other tools.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use reports::export::night::Format;

use super::{Place, Which, output};
use crate::{cli::night_files, exit::Exit};

/// Arguments of `history export`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness history export --out results
  rdma-harness history export --format junit --out junit.xml
  rdma-harness history export --suite my-rack --night 41 --format markdown

Without --format, --out is a folder that gets a file of each form; docs/outputs.md tells what reads them. An export fails nothing: the
exit code is 0 whatever it says of the night.")]
pub(super) struct Export {
    #[command(flatten)]
    which: Which,
    /// Form
    #[arg(long, value_enum)]
    format: Option<Form>,
    /// File to write, standard output if absent; without --format, the folder to write to
    #[arg(long, value_name = "FILE", required_unless_present = "format")]
    out: Option<PathBuf>,
}

/// Forms of a night.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// The whole judgement
    Json,
    /// JUnit XML: a regression is a failure
    Junit,
    /// Prometheus' text format, for node_exporter's textfile collector
    Prometheus,
    /// OpenMetrics
    Openmetrics,
    /// Long CSV: a row a run, of every night up to this one
    Csv,
    /// Wide CSV for Apache Otava: a row a night, a column a series
    Otava,
    /// The otava.yaml that goes with it
    OtavaConfig,
    /// Markdown, for a ticket or the summary of a CI job
    Markdown,
    /// Annotations of GitHub Actions
    GithubAnnotations,
    /// Bencher Metric Format
    Bencher,
    /// github-action-benchmark, customBiggerIsBetter: rates
    BiggerIsBetter,
    /// github-action-benchmark, customSmallerIsBetter: latencies
    SmallerIsBetter,
    /// HdrHistogram interval log: every histogram of the night
    Hlog,
}

impl Form {
    /// None for the one that is made of campaigns.
    fn format(self) -> Option<Format> {
        Some(match self {
            Form::Json => Format::Json,
            Form::Junit => Format::Junit,
            Form::Prometheus => Format::Prometheus,
            Form::Openmetrics => Format::OpenMetrics,
            Form::Csv => Format::Csv,
            Form::Otava => Format::Otava,
            Form::OtavaConfig => Format::OtavaConfig,
            Form::Markdown => Format::Markdown,
            Form::GithubAnnotations => Format::GithubAnnotations,
            Form::Bencher => Format::Bencher,
            Form::BiggerIsBetter => Format::BiggerIsBetter,
            Form::SmallerIsBetter => Format::SmallerIsBetter,
            Form::Hlog => return None,
        })
    }
}

impl Export {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        let (history, report) = self.which.judged(&store)?;
        let Some(form) = self.format else {
            if let Some(folder) = &self.out {
                night_files::write_all(folder, &store, &history, &report)?;
            }
            return Ok(Exit::Fine);
        };
        let bytes = match form.format() {
            Some(format) => format.of(&history, &report).into_bytes(),
            None => night_files::histograms(&store, &report.night)?,
        };
        match &self.out {
            Some(file) => output::write_file(file, &bytes)?,
            None => output::print(&String::from_utf8(bytes)?)?,
        }
        Ok(Exit::Fine)
    }
}
