//! Figures: SVG drawn from the campaign, each with its title, a description for those who don't see it, a caption, and the
//! numbers behind it.

mod axis;
mod by_size;
mod figure;
mod forest;
mod frame;
mod heat;
mod histogram;
mod over_time;
mod paint;
mod percentiles;
mod runs;
mod source;
mod squeeze;
mod tails;

use super::RenderError;

pub(super) use by_size::{latency_by_size, throughput_by_size};
pub(super) use figure::Figure;
pub(super) use forest::{comparisons, gates};
pub(super) use heat::{by_candidate, by_metric};
pub(super) use histogram::histogram;
pub(super) use over_time::over_time;
pub(super) use percentiles::percentiles;
pub(super) use runs::runs;
pub(super) use source::Source;
pub(super) use tails::tails;
