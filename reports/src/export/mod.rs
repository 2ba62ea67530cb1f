//! The measurements themselves, in forms other tools read.

pub mod cluster;
mod csv;
mod hlog;
mod junit;
mod metrics;
pub mod night;

pub use csv::csv;
pub use hlog::{HlogError, hlog, night_hlog};
