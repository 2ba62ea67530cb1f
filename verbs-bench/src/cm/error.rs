//! What rdma_cm can fail with. Each text names the call or the event, the reason, and what to do.

use std::io;

use crate::verbs::VerbsError;

/// A connection rdma_cm could not bring about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CmError {
    /// A call of librdmacm failed.
    #[error("{call}({with}): {source}; {advice}")]
    Call {
        /// The call.
        call: &'static str,
        /// What it was given.
        with: String,
        /// What to do.
        advice: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Another event came than the one that was due.
    #[error("rdma_cm: {event} came where {awaited} was due: {why}; {advice}")]
    Event {
        /// The event, in the spelling of rdma_cma.h.
        event: String,
        /// What was due.
        awaited: &'static str,
        /// Its status in words.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// Nothing came in time.
    #[error(
        "rdma_cm: no {awaited} in time ({done} of {total} QPs are connected); see whether the peer answers ping from this address, and its messages"
    )]
    TimedOut {
        /// What was due.
        awaited: &'static str,
        /// QPs connected by then.
        done: usize,
        /// QPs to connect.
        total: usize,
    },
    /// The address belongs to another device than the QPs.
    #[error(
        "rdma_cm reaches {address} through {theirs}, and the QPs are on {ours}; name the device whose network device has that address, or another address"
    )]
    Device {
        /// The address.
        address: String,
        /// Device and port that rdma_cm chose.
        theirs: String,
        /// Device and port of the QPs.
        ours: String,
    },
    /// A verb failed.
    #[error(transparent)]
    Verbs(#[from] VerbsError),
}
