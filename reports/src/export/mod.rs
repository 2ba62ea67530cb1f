//! The measurements themselves, in forms other tools read.

mod csv;
mod hlog;
pub mod night;

pub use csv::csv;
pub use hlog::{HlogError, hlog, night_hlog};
