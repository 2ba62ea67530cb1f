//! A tree in memory: what a snapshot has taken, before it is made fit for strangers' eyes and written.

use std::collections::BTreeMap;

use super::patterns::Kind;

/// One thing of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A folder, taken for itself: what holds other entries is there without being listed.
    Folder,
    /// A symbolic link and where it points.
    Link(String),
    /// A file.
    File {
        /// What it holds.
        bytes: Vec<u8>,
        /// Its permissions.
        mode: u32,
        /// How it is redacted.
        kind: Kind,
    },
}

/// Entries by path, as on the host: `/sys/...`.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// What was taken.
    pub(super) entries: BTreeMap<String, Entry>,
    /// What the host had and did not give, with the errno it gave instead.
    pub(super) missed: BTreeMap<String, i32>,
    /// Bytes of all files.
    pub(super) bytes: u64,
}

impl Tree {
    /// A text that no file of the host holds: a recording.
    pub(super) fn put(&mut self, path: String, text: String) {
        self.bytes += text.len() as u64;
        let entry = Entry::File { bytes: text.into_bytes(), mode: 0o644, kind: Kind::Text };
        self.entries.insert(path, entry);
    }
}
