//! The engine: one RDMA measurement between two processes, and everything it stands on.
//!
//! Read it in the order of a run: `cli` makes a spec of flags, `session` is the straight line of each side, `connect` brings
//! the two processes together, `engine` holds the hot loops. Below them `verbs` wraps libibverbs one object a file,
//! `softnic` offers the same objects without hardware, `clock` and `placement` say when and where. The only room that links
//! libibverbs and libnuma.

pub mod cli;
pub mod clock;
pub mod cm;
pub mod connect;
pub mod digest;
pub mod engine;
pub mod fault;
pub mod placement;
pub mod session;
pub mod softnic;
pub mod verbs;
