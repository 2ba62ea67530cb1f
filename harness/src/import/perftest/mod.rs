//! What perftest prints and writes: its tables, among whatever else a log holds, and its JSON, also that of releases before
//! 2024, which is no JSON.
//!
//! The facts about the format are from perftest's source (`perftest_parameters.{h,c}` of releases 4.4 to 6.29).

mod columns;
mod facts;
mod json;
mod row;
mod table;
mod title;

use super::{Log, Refusal};

/// Reads a file.
pub fn read(text: &str) -> Result<Log, Refusal> {
    if text.trim_start().starts_with('{') { json::read(text) } else { table::read(text) }
}

#[cfg(test)]
mod tests;
