//! One Linux host, seen through a root directory: `/`, or a fixture tree with the same shape.
//!
//! Small readers, one noun a file, each returning a [`Value`]: known, absent, not applicable or unreadable. Nothing here
//! writes, caches or guesses, and no parser panics on any text. Pinning and binding are the engine's (`verbs-bench`),
//! which decides with what it reads here.
#![forbid(unsafe_code)]

pub mod cpuinfo;
pub mod cpulist;
pub mod sysroot;
pub mod value;

pub use sysroot::Sysroot;
pub use value::Value;
