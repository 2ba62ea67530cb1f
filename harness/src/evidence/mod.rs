//! What a host did around a run: [`Watch`] reads it before and after and samples it in between, [`judge`] says what it means.
//!
//! ```no_run
//! use rdma_harness::evidence::{Subject, Watch};
//! # use schema::outcome::Side;
//! let host = host::Sysroot::new("/");
//! let watch = Watch::start(&host, Subject { device: Some("mlx5_0".into()), ..Subject::default() });
//! // ... the run ...
//! let evidence = watch.finish(Side::Requester, "local", Vec::new());
//! ```
//!
//! Reading never fails a run: what can't be read is a note. Nothing is written. Counters are of a port and of a host, not of
//! a run: whatever else used them in the meantime is counted with it.

mod catalogue;
mod delta;
mod judge;
mod sampler;
mod snapshot;
mod subject;
mod watch;

pub use judge::{Thresholds, judge, judge_by};
pub use subject::Subject;
pub use watch::Watch;
