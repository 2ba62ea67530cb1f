//! Why a host was not tuned, or not turned back. Every text says what to do.

use std::path::PathBuf;

use schema::{Knob, KnobRecord};

/// Why tuning failed. Nothing is left half tuned by any of them but [`TuneError::Conflicts`], which names what is left.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// A setting is wrong whatever the host is like.
    #[error("{} = `{value}`: {why}", named(*knob, item))]
    Value {
        /// The knob.
        knob: Knob,
        /// Its part.
        item: String,
        /// The value as written.
        value: String,
        /// What is wrong, and what can be written.
        why: String,
    },
    /// This host can't be tuned so; nothing was written.
    #[error("this host can't be tuned so, and nothing was written:{}", listed(refusals))]
    Refused {
        /// Every knob that was refused, with its reason.
        refusals: Vec<Refusal>,
    },
    /// A tuning that is only checked was to be applied.
    #[error("{profile} is only checked, never applied; `rdma-harness tune verify {profile}` checks it")]
    CheckOnly {
        /// The profile.
        profile: String,
    },
    /// A write failed; what had been written before it was turned back.
    #[error("{}: {why}; what had been turned before it {}", named(*knob, item), turned_back(*conflicts))]
    Apply {
        /// The knob that failed.
        knob: Knob,
        /// Its part.
        item: String,
        /// What happened.
        why: String,
        /// What became of every target.
        records: Vec<KnobRecord>,
        /// How many targets could not be turned back.
        conflicts: usize,
    },
    /// Someone else tunes this host now.
    #[error("process {pid} tunes this host now ({}); wait for its end", lock.display())]
    Busy {
        /// The owner of the journal.
        pid: u32,
        /// The lock it holds.
        lock: PathBuf,
    },
    /// A journal is left from before.
    #[error("{}: {what}; `rdma-harness tune status` shows it, `rdma-harness tune {remedy}` turns it back", journal.display())]
    Left {
        /// The journal.
        journal: PathBuf,
        /// Whether it was left on purpose or by a crash.
        what: String,
        /// The subcommand that clears it.
        remedy: &'static str,
    },
    /// The journal is damaged in its middle.
    #[error("{}: line {line}: {why}; `rdma-harness tune recover --force` turns back what can be read", journal.display())]
    Damaged {
        /// The journal.
        journal: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// The journal can't be kept; without it nothing is tuned.
    #[error("{what} {}: {cause}; the journal is needed before anything is tuned: run as root, or give --state-dir", path.display())]
    Journal {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
}

/// A knob that can't be turned on this host.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Refusal {
    /// The knob.
    pub knob: Knob,
    /// Its part.
    pub item: String,
    /// Why, and what to do.
    pub why: String,
}

/// `sysctl net.core.rmem_max`, or `mtu`.
pub(super) fn named(knob: Knob, item: &str) -> String {
    if item.is_empty() { knob.to_string() } else { format!("{knob} {item}") }
}

fn listed(refusals: &[Refusal]) -> String {
    refusals
        .iter()
        .map(|refusal| format!("\n  {}: {}", named(refusal.knob, &refusal.item), refusal.why))
        .collect()
}

fn turned_back(conflicts: usize) -> String {
    match conflicts {
        0 => "was turned back".to_owned(),
        some => format!("was turned back but for {some}; `rdma-harness tune status` names them"),
    }
}
