//! A judged night in the forms that CI, monitoring and other tools of regression read: one function a form. What is said is in
//! the [`crate::history::NightReport`]; the single runs of long CSV come from the [`schema::History`] behind it. Computes nothing but units.

mod bencher;
mod benchmark_action;
mod long_csv;
mod metrics;
mod series;
mod wide_csv;

pub use bencher::bencher;
pub use benchmark_action::{bigger_is_better, smaller_is_better};
pub use long_csv::long_csv;
pub use metrics::{open_metrics, prometheus};
pub use wide_csv::{otava_config, wide_csv};
