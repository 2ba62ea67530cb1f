//! One entry: a claim that is made about RDMA hosts, a knob of one, or both.

use std::fmt;

use schema::{Knob, Matters};
use serde::{Deserialize, Serialize};

use super::row::Row;

/// What is known about one knob or claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name, which for a knob that is audited is the name of the check.
    pub id: String,
    /// A line that says what it is.
    pub title: String,
    /// Its numbers in the guides.
    #[serde(default)]
    pub rows: Vec<Row>,
    /// What else people call it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What is popularly said, in our words; empty for a knob about which nothing is claimed.
    #[serde(default, deserialize_with = "one_line")]
    pub says: String,
    /// Whether that holds; there is one where something is said.
    pub verdict: Option<Verdict>,
    /// What it does, and why what is said holds or does not. Its first sentence stands alone in tables.
    #[serde(deserialize_with = "one_line")]
    pub why: String,
    /// What of a host's traffic it can change; empty where it changes none.
    #[serde(default)]
    pub matters: Vec<Matters>,
    /// Where it is read: paths and commands.
    #[serde(default)]
    pub read: Vec<String>,
    /// How it is set.
    #[serde(default)]
    pub set: Vec<String>,
    /// How it is undone.
    #[serde(default)]
    pub undo: Vec<String>,
    /// How it is handled; there is one for a knob.
    pub class: Option<Handling>,
    /// The knob of profiles and scenarios that turns it.
    pub knob: Option<Knob>,
    /// Who says what is said here: documents, sources of tools, measurements.
    pub source: Vec<String>,
    /// Other entries that have to do with it, by id.
    #[serde(default)]
    pub see: Vec<String>,
    /// How it is tried here.
    #[serde(default)]
    pub trial: Vec<Trial>,
    /// What this program does about it.
    pub status: Vec<Status>,
    /// The tests that show it: `path::name`.
    #[serde(default)]
    pub test: Vec<String>,
}

impl Entry {
    /// Whether something can be set or read by it.
    pub fn is_knob(&self) -> bool {
        self.class.is_some()
    }

    /// The first sentence of why; a colon or semicolon does not end it.
    pub fn in_short(&self) -> &str {
        let end = self.why.find(". ").map_or(self.why.len(), |at| at + 1);
        &self.why[..end]
    }
}

/// A text that was broken into lines for its file.
fn one_line<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Whether what is said holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As it is said.
    Holds,
    /// Under conditions, or in part.
    Partly,
    /// Not so.
    False,
    /// There is no such file, command or option.
    NoSuchInterface,
    /// True of sockets; verbs traffic that the NIC carries is not touched by it.
    MythOnVerbs,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Holds => "holds",
            Verdict::Partly => "holds in part",
            Verdict::False => "false",
            Verdict::NoSuchInterface => "no such interface",
            Verdict::MythOnVerbs => "myth on verbs",
        })
    }
}

/// How a knob is handled: the classes of [`schema::Class`], and those we only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handling {
    /// The kernel turns it back when our process goes away.
    SelfRestoring,
    /// At once, by writing the old value.
    Instant,
    /// The link flaps or rings are reopened.
    Disruptive,
    /// A boot or a firmware reset.
    Boot,
    /// Read only: what sets it is no business of a benchmark.
    ReadOnly,
}

impl fmt::Display for Handling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Handling::SelfRestoring => "self-restoring: the kernel turns it back when our process ends",
            Handling::Instant => "instant: undone by writing the old value",
            Handling::Disruptive => "disruptive: the link flaps or rings are reopened; must be allowed",
            Handling::Boot => "boot or firmware reset: planned as text, never applied",
            Handling::ReadOnly => "read only: never changed from here",
        })
    }
}

/// What this program does about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// `doctor` reads and judges it.
    Audited,
    /// `tune` and scenarios turn it and turn it back.
    Applied,
    /// Evidence around a run, or a scenario, measures it.
    Measured,
    /// It is false, and that is all there is to do.
    False,
    /// Told here, and no more.
    Explained,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::Audited => "audited",
            Status::Applied => "applied",
            Status::Measured => "measured",
            Status::False => "false",
            Status::Explained => "explained",
        })
    }
}

/// A way to try it here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Trial {
    /// A file of `scenarios/`, and what of it to look at.
    Scenario(String),
    /// A profile of `scenarios/profiles/`.
    Profile(String),
    /// A check of `doctor`.
    Doctor(String),
    /// A command line of ours.
    Command(String),
    /// In words.
    Words(String),
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trial::Scenario(file) => write!(f, "rdma-harness run scenarios/{file}"),
            Trial::Profile(name) => write!(f, "rdma-harness tune plan {name}"),
            Trial::Doctor(check) => write!(f, "rdma-harness doctor    (check {check})"),
            Trial::Command(line) => f.write_str(line),
            Trial::Words(words) => f.write_str(words),
        }
    }
}
