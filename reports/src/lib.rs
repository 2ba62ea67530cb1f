//! Compares the runs of a campaign and renders what came out.
//!
//! Two rooms. [`compare`] computes and prints nothing; [`render`] prints and computes nothing; what passes between them is a
//! [`Comparison`]. [`export`] writes the measurements themselves for other tools. No I/O, no host, no engine: what goes in
//! is a [`schema::Campaign`], what comes out is text, so all of it builds and runs on any machine.
#![forbid(unsafe_code)]

pub mod bound;
pub mod cluster;
pub mod compare;
pub mod export;
pub mod history;
mod index;
pub mod render;
#[cfg(feature = "testing")]
pub mod testing;

pub use compare::{CampaignVerdict, CompareOptions, Comparison, Verdict, compare};
