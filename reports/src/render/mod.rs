//! Prints what was computed, for people and for programs. Computes nothing: a number that is not in the campaign or in the
//! comparison is not printed.

mod json;
mod number;
mod sentence;
mod table;
mod words;

pub use json::json;
pub use sentence::sentence;
pub use table::table;
