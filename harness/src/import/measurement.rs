//! What a log says about one message size of one run.

use std::collections::BTreeMap;

use schema::{Bytes, Configuration, Endpoint, Fabric, Metric};

/// What was read of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Log {
    /// In the order of the file.
    pub measurements: Vec<Measurement>,
    /// What was left out, and why.
    pub remarks: Vec<Remark>,
}

/// Something in the file that did not become a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Line, from 1.
    pub line: usize,
    /// What was left out, and why.
    pub what: String,
}

/// One message size of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Where it stands in the file, from 1.
    pub line: usize,
    /// When it was measured, ms since 1970 UTC; none where the log does not tell.
    pub at_unix_ms: Option<u64>,
    /// What measured.
    pub engine: String,
    /// What carried the messages.
    pub fabric: Fabric,
    /// Name of the scenario; none where the log has no such thing.
    pub scenario: Option<String>,
    /// What was measured.
    pub workload: String,
    /// How it was measured, where that makes it another series.
    pub variant: String,
    /// Message size.
    pub msg_bytes: Bytes,
    /// The side that posted, as far as the log tells.
    pub requester: Endpoint,
    /// The side that was written to, as far as the log tells.
    pub responder: Endpoint,
    /// What may change without making it another series.
    pub configuration: Configuration,
    /// Its numbers, in [`Metric::unit`]; none for one that failed.
    pub values: Vec<(Metric, Option<f64>)>,
    /// Why a number is missing; none where all are there.
    pub failure: Option<String>,
    /// Everything the log says about it, by the log's own names.
    pub facts: BTreeMap<String, String>,
}
