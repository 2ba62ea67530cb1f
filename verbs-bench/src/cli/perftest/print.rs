//! What a call wants printed beside or instead of perftest's table.

use std::path::PathBuf;

/// Which bare number `--output` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Output {
    /// The whole table.
    #[default]
    Table,
    /// Average bandwidth, in the unit of the table.
    Bandwidth,
    /// Messages per second, in millions.
    MessageRate,
    /// Mean latency, us.
    Latency,
}

/// What is printed, and the limits that decide the exit code.
#[derive(Debug, Clone, Default)]
pub(super) struct Print {
    pub(super) gbits: bool,
    pub(super) both: bool,
    pub(super) histogram: bool,
    pub(super) output: Output,
    pub(super) record: bool,
    pub(super) json_file: Option<PathBuf>,
    pub(super) limit_bw: Option<f64>,
    pub(super) limit_msgrate: Option<f64>,
}

impl Output {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        match text {
            "bandwidth" => Ok(Output::Bandwidth),
            "message_rate" => Ok(Output::MessageRate),
            "latency" => Ok(Output::Latency),
            _ => Err(format!("`{text}`: write bandwidth, message_rate or latency")),
        }
    }
}
