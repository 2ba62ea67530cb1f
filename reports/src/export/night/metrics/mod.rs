//! A night for Prometheus: the text format that node_exporter's textfile collector reads, and OpenMetrics. No timestamps: the
//! textfile collector refuses them, so the age of a night is a value of its own.

mod families;
mod text;

pub use text::{open_metrics, prometheus};
