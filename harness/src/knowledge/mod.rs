//! What is known about the knobs of an RDMA host and about what is said of them, as data: one source for `explain`, for
//! docs/tuning.md, and for the names under which the audit reports.
//!
//! The data lies in `data/`, one TOML file a subject. Whoever adds an entry says where it comes from, how it is read, set
//! and undone, and which test shows it; tests hold that each named test, scenario and profile is there.

mod document;
mod entry;
mod lookup;
mod row;
mod show;

use std::sync::LazyLock;

pub use document::document;
pub use entry::{Entry, Handling, Status, Trial, Verdict};
pub use lookup::{Found, find};
pub use row::{Guide, Row};
pub use show::{list, show};

/// One file of entries.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    entry: Vec<Entry>,
}

/// Name and text of every file, in the order in which entries are listed.
const SUBJECTS: [(&str, &str); 12] = [
    ("sysctl", include_str!("data/sysctl.toml")),
    ("interrupts", include_str!("data/interrupts.toml")),
    ("isolation", include_str!("data/isolation.toml")),
    ("numa", include_str!("data/numa.toml")),
    ("power", include_str!("data/power.toml")),
    ("memory", include_str!("data/memory.toml")),
    ("pcie", include_str!("data/pcie.toml")),
    ("identity", include_str!("data/identity.toml")),
    ("link", include_str!("data/link.toml")),
    ("qos", include_str!("data/qos.toml")),
    ("netdev", include_str!("data/netdev.toml")),
    ("measuring", include_str!("data/measuring.toml")),
];

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let read = |(name, text): &(&str, &str)| match toml::from_str::<Subject>(text) {
        Ok(subject) => subject.entry,
        Err(error) => panic!("knowledge/data/{name}.toml: {error}"),
    };
    SUBJECTS.iter().flat_map(read).collect()
});

/// Every entry, by subject.
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// The entry with this id.
pub fn by_id(id: &str) -> Option<&'static Entry> {
    entries().iter().find(|entry| entry.id == id)
}

#[cfg(test)]
mod tests;
