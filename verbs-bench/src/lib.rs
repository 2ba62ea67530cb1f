//! The engine: one RDMA measurement between two processes, and everything it stands on.
//!
//! `verbs` wraps libibverbs one object a file; `softnic` offers the same objects without hardware; `clock` and `placement`
//! say when and where; `connect` brings the two processes together; `engine` holds the hot loops. The only room that
//! links libibverbs and libnuma.

pub mod clock;
pub mod placement;
pub mod softnic;
pub mod verbs;
