//! What is about to be done to a host, on disk before it is done, so that it can be undone after any crash.
//!
//! `docs/journal.md` has the format. One journal per network namespace; its states are those of [`Progress`].

mod entry;
mod file;
mod read;

pub(super) use entry::{Entry, FORMAT, Header, Owner, Progress, StepEntry};
pub(super) use file::{Journal, Lock, path};
pub(super) use read::{Past, PastStep};
