//! The agent of one side of a run, on its own host, and the controller's end of the link to it.
//!
//! An agent is `rdma-harness agent`: a launcher starts it once a campaign, here, in a network namespace or through ssh, and
//! drives it over its stdin and stdout. It alone starts verbs-bench. When the link ends, however that happens, it ends what
//! it started and goes.

mod child;
pub(crate) mod ended;
mod job;
pub mod launch;
pub mod link;
mod locate;
pub mod pair;
pub mod protocol;
pub mod serve;
pub mod token;

pub use launch::Launcher;
pub use locate::{LocateError, VerbsBench, locate};
pub use pair::{LaunchError, Pair};
pub use serve::{Setup, serve};
