//! Logs of other tools, read into history as nights of another engine.
//!
//! A reader understands a file whole or refuses it whole, at a line. Nothing it does not know is guessed, and what it leaves out
//! it says. Readers are pure: text in, measurements out; [`nights`] puts the measurements of many files together by day.

pub mod csv;
mod measurement;
mod nights;
pub mod perftest;
mod refusal;

pub use measurement::{Log, Measurement, Remark};
pub use nights::{File, Naming, nights};
pub use refusal::Refusal;
