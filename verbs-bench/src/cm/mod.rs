//! rdma_cm brings the QPs to life: it resolves address and route, exchanges QP and sequence numbers in its own packets, and
//! says what to move the QPs with. perftest calls this -R.
//!
//! The QPs are ours, made on our own context, so rdma_cm knows them by number only (its "external QP" mode). Each QP has an
//! id of its own; the requester connects them one after another, and the responder finds each QP by the index in the
//! request's private data. A request without the session's nonce is a stranger's and is rejected. Every wait has a deadline.

mod connect;
mod error;
mod event;
mod id;
mod listen;
#[cfg(test)]
mod on_device;
mod terms;

pub use connect::connect_all;
pub use error::CmError;
pub use id::Connections;
pub use listen::Listener;
pub use terms::{Nonce, Terms};
