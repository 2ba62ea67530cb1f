//! A judged night in the forms that CI, monitoring and other tools of regression read: one function a form. What is said is in
//! the [`crate::history::NightReport`]; the single runs of long CSV come from the [`schema::History`] behind it. Computes nothing but units.

mod bencher;
mod benchmark_action;
mod github;
mod junit;
mod long_csv;
mod metrics;
pub(super) mod series;
mod wide_csv;

pub use bencher::bencher;
pub use benchmark_action::{bigger_is_better, smaller_is_better};
pub use github::github_annotations;
pub use junit::junit;
pub use long_csv::long_csv;
pub use metrics::{open_metrics, prometheus};
pub use wide_csv::{otava_config, wide_csv};

use schema::History;

use crate::{
    history::NightReport,
    render::history::{json, markdown},
};

/// A form of a night, as it is asked for and as its file is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The whole judgement.
    Json,
    /// [`junit`]
    Junit,
    /// [`prometheus`]
    Prometheus,
    /// [`open_metrics`]
    OpenMetrics,
    /// [`long_csv`]
    Csv,
    /// [`wide_csv`]
    Otava,
    /// [`otava_config`]
    OtavaConfig,
    /// [`markdown`]
    Markdown,
    /// [`github_annotations`]
    GithubAnnotations,
    /// [`bencher`]
    Bencher,
    /// [`bigger_is_better`]
    BiggerIsBetter,
    /// [`smaller_is_better`]
    SmallerIsBetter,
}

impl Format {
    /// All.
    pub const ALL: [Format; 12] = [
        Format::Json,
        Format::Junit,
        Format::Prometheus,
        Format::OpenMetrics,
        Format::Csv,
        Format::Otava,
        Format::OtavaConfig,
        Format::Markdown,
        Format::GithubAnnotations,
        Format::Bencher,
        Format::BiggerIsBetter,
        Format::SmallerIsBetter,
    ];

    /// The name of its file in a folder that has them all.
    pub fn file(self) -> &'static str {
        match self {
            Format::Json => "night.json",
            Format::Junit => "junit.xml",
            Format::Prometheus => "metrics.prom",
            Format::OpenMetrics => "metrics.openmetrics",
            Format::Csv => "runs.csv",
            Format::Otava => "otava.csv",
            Format::OtavaConfig => "otava.yaml",
            Format::Markdown => "night.md",
            Format::GithubAnnotations => "annotations.txt",
            Format::Bencher => "bencher.json",
            Format::BiggerIsBetter => "bigger-is-better.json",
            Format::SmallerIsBetter => "smaller-is-better.json",
        }
    }

    /// A night in this form; of the history, the nights whose runs long CSV is to have.
    pub fn of(self, history: &History, report: &NightReport) -> String {
        match self {
            Format::Json => json(report),
            Format::Junit => junit(report),
            Format::Prometheus => prometheus(report),
            Format::OpenMetrics => open_metrics(report),
            Format::Csv => long_csv(history),
            Format::Otava => wide_csv(report),
            Format::OtavaConfig => otava_config(report, Format::Otava.file()),
            Format::Markdown => markdown(report),
            Format::GithubAnnotations => github_annotations(report),
            Format::Bencher => bencher(report),
            Format::BiggerIsBetter => bigger_is_better(report),
            Format::SmallerIsBetter => smaller_is_better(report),
        }
    }
}
