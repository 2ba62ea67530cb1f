//! The lines of a journal: a checksum, a blank, a JSON object.

use schema::{Class, Knob};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::tuning::target::Target;

/// Version of the format.
pub(crate) const FORMAT: u32 = 1;
/// Hexadecimal digits of a line's checksum: 64 bits of its SHA-256.
const CHECKSUM_DIGITS: usize = 16;
/// Longer lines are no lines of ours.
pub(crate) const MAX_LINE_BYTES: usize = 64 * 1024;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The first line.
    Header(Header),
    /// A write that is about to be made.
    Step(StepEntry),
    /// How far a step has come.
    Progress {
        /// Which step.
        step: usize,
        /// How far.
        progress: Progress,
        /// What was read back, where it is not what was asked; what was found, for a conflict.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<String>,
    },
    /// The owner ended and left the host tuned on purpose.
    Left,
    /// Everything is turned back; the journal is history.
    Closed,
}

/// Who tunes which host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// [`FORMAT`] of the writer.
    pub(crate) format: u32,
    /// The boot; what is tuned goes with it. Empty where the host does not say.
    pub(crate) boot_id: String,
    /// The network namespace: its inode, or `tree`.
    pub(crate) netns: String,
    /// Digest of the host's name: tells two hosts that share a folder apart without telling the name.
    pub(crate) host: String,
    /// `uname -r`.
    pub(crate) kernel: String,
    /// Version of this program.
    pub(crate) tool: String,
    /// The profile; null where knobs were listed.
    pub(crate) profile: Option<String>,
    /// The process that tunes.
    pub(crate) owner: Owner,
}

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    /// Its number.
    pub(crate) pid: u32,
    /// Its start in clock ticks since boot, which tells it from a later process of that number.
    pub(crate) started_ticks: u64,
}

/// A write, before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepEntry {
    /// Its number, from 0.
    pub(crate) step: usize,
    /// The knob it belongs to.
    pub(crate) knob: Knob,
    /// The knob's part.
    pub(crate) item: String,
    /// What it takes to turn it back.
    pub(crate) class: Class,
    /// What is written to.
    pub(crate) target: Target,
    /// What stood there.
    pub(crate) old: String,
    /// What is to stand there.
    pub(crate) new: String,
}

/// How far a step has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Progress {
    /// The kernel took the write.
    Applied,
    /// It was read back as asked.
    Verified,
    /// The kernel refused the write; nothing changed.
    Failed,
    /// The old value stands again.
    Restored,
    /// Someone else had changed it; it was left alone.
    Conflict,
    /// The target is gone.
    Gone,
}

impl Progress {
    /// Whether nothing is left to be turned back.
    pub(crate) fn is_done(self) -> bool {
        matches!(self, Progress::Restored | Progress::Gone)
    }
}

impl Entry {
    /// Its line, with the line end.
    pub(crate) fn line(&self) -> String {
        let json = serde_json::to_string(self).expect("an entry has no maps with odd keys");
        format!("{} {json}\n", checksum(&json))
    }

    /// The entry of a line without its line end.
    pub(crate) fn parse(line: &[u8]) -> Result<Entry, String> {
        if line.len() > MAX_LINE_BYTES {
            return Err("it is longer than any line of a journal".to_owned());
        }
        let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
        let (sum, json) = line.split_once(' ').ok_or("it has no checksum")?;
        if sum != checksum(json) {
            return Err("its checksum is not that of its text".to_owned());
        }
        serde_json::from_str(json).map_err(|error| error.to_string())
    }
}

fn checksum(json: &str) -> String {
    let digest = Sha256::digest(json.as_bytes());
    digest.iter().take(CHECKSUM_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}
