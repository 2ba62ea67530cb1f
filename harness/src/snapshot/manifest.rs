//! What a snapshot says about itself, in `/.recorded/snapshot.json`.

use serde::{Deserialize, Serialize};

/// Where it lies in the tree.
pub const PATH: &str = "/.recorded/snapshot.json";

/// What is told of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the program that took it.
    pub version: String,
    /// Whether it was taken with root's rights.
    pub privileged: bool,
    /// Whether names, addresses and identities were replaced.
    pub redacted: bool,
    /// What was replaced, in words; empty where nothing was.
    pub replaced: String,
    /// Files taken.
    pub files: usize,
    /// Symbolic links taken.
    pub links: usize,
    /// What the host had and did not give.
    pub missed: Vec<MissedFile>,
}

/// A file that is not in the snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissedFile {
    /// Its path on the host, redacted like all others.
    pub path: String,
    /// The error that reading it gave.
    pub errno: i32,
    /// The same in words.
    pub error: String,
}
