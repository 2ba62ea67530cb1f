//! A judged cluster in the forms that CI, monitoring and spreadsheets read: one function a form. What is said is in the
//! [`ClusterReport`]; the single runs of long CSV come from the [`Cluster`] behind it. Computes nothing but units.

mod junit;
mod long_csv;
mod matrix_csv;
mod metrics;

pub use junit::junit;
pub use long_csv::long_csv;
pub use matrix_csv::matrix_csv;
pub use metrics::{open_metrics, prometheus};

use schema::Cluster;

use crate::{
    cluster::ClusterReport,
    render::cluster::{json, markdown},
};

/// A form of a cluster, as it is asked for and as its file is called.
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
    /// [`matrix_csv`]
    Matrix,
    /// [`markdown`]
    Markdown,
}

/// Whether monitoring gets every pair: of n nodes there are n (n - 1) for each number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// Nodes alone.
    LeftOut,
    /// Nodes, and every pair.
    Told,
}

impl Format {
    /// All.
    pub const ALL: [Format; 7] = [
        Format::Json,
        Format::Junit,
        Format::Prometheus,
        Format::OpenMetrics,
        Format::Csv,
        Format::Matrix,
        Format::Markdown,
    ];

    /// The name of its file in a folder that has them all.
    pub fn file(self) -> &'static str {
        match self {
            Format::Json => "cluster.json",
            Format::Junit => "junit.xml",
            Format::Prometheus => "metrics.prom",
            Format::OpenMetrics => "metrics.openmetrics",
            Format::Csv => "runs.csv",
            Format::Matrix => "matrix.csv",
            Format::Markdown => "cluster.md",
        }
    }

    /// A cluster in this form.
    pub fn of(self, cluster: &Cluster, report: &ClusterReport, pairs: Pairs) -> String {
        match self {
            Format::Json => json(report),
            Format::Junit => junit(report),
            Format::Prometheus => prometheus(report, pairs),
            Format::OpenMetrics => open_metrics(report, pairs),
            Format::Csv => long_csv(cluster),
            Format::Matrix => matrix_csv(report),
            Format::Markdown => markdown(report),
        }
    }
}
