//! The agent of one side of a run, on its own host, and the controller's end of the link to it.
//!
//! An agent is `rdma-harness agent`: a launcher starts it once a campaign, here, in a network namespace or through ssh, and
//! drives it over its stdin and stdout; or someone else starts it, and it connects (`join/`). It alone starts verbs-bench, tunes its host and watches it. When the link ends, however
//! that happens, it ends what it started, turns its host back and goes.

mod audit;
mod child;
mod device;
pub(crate) mod ended;
pub mod identity;
mod job;
pub mod join;
pub mod launch;
pub mod link;
mod locate;
pub mod pair;
pub mod protocol;
mod runs;
pub mod serve;
mod spawned;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod token;
mod tuner;
mod voice;
pub(crate) mod wire;

pub use launch::Launcher;
pub use locate::{LocateError, VerbsBench, locate};
pub use pair::{LaunchError, Pair};
pub use serve::{Setup, serve};
pub use spawned::Spawned;
