//! What one thread's loop works on: its QPs and queues as raw pointers, its memory, its message.
//!
//! The session makes a job from the objects it owns; the loops of this room see nothing else of them.

use std::{sync::Arc, time::Duration};

use rdma_sys::{ibv_ah, ibv_cq, ibv_qp, ibv_qp_ex};
use schema::RunSpec;

use super::layout::Layout;
use crate::verbs::CompletionChannel;

/// One end's registered region as work requests name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Address of its first byte, as its owner sees it.
    pub addr: u64,
    /// The local key where it is ours, the remote key where it is the peer's.
    pub key: u32,
}

/// Where a datagram goes.
#[derive(Debug, Clone, Copy)]
pub struct UdAddress {
    /// Address handle.
    pub ah: *mut ibv_ah,
    /// QP number of the far end.
    pub qp_num: u32,
    /// Queue key of the far end.
    pub qkey: u32,
}

/// One QP of the thread.
#[derive(Debug, Clone, Copy)]
pub struct JobQp {
    /// For `ibv_post_send` and `ibv_post_recv`.
    pub qp: *mut ibv_qp,
    /// For `ibv_wr_*`; null for a classic QP.
    pub qp_ex: *mut ibv_qp_ex,
    /// Its number among the QPs of all threads, which says where its slots are.
    pub index: u32,
    /// Where its datagrams go; UD only.
    pub ud: Option<UdAddress>,
}

/// A completion queue of the thread, and where it sleeps.
#[derive(Clone)]
pub struct JobCq {
    /// For `ibv_poll_cq`; with the extended API the `ibv_cq_ex` itself.
    pub cq: *mut ibv_cq,
    /// The channel of its events; none where the thread only polls.
    pub channel: Option<Arc<CompletionChannel>>,
}

/// Everything a loop of one thread needs for one message size.
///
/// Whoever makes it vouches that QPs, queues, address handles and memory outlive every loop made of it, and that no other
/// thread uses them meanwhile.
#[derive(Clone)]
pub struct Job<'a> {
    /// The whole plan.
    pub spec: &'a RunSpec,
    /// Size of this point's messages; RunSpec::faults refuses what does not fit.
    pub msg_bytes: u32,
    /// QPs of this thread.
    pub qps: Vec<JobQp>,
    /// Where its sends complete.
    pub send_cq: JobCq,
    /// Where its receives complete; a queue of its own.
    pub recv_cq: JobCq,
    /// Where messages lie, the same on both sides.
    pub layout: Layout,
    /// Our region.
    pub local: Memory,
    /// The peer's region.
    pub remote: Memory,
}

impl Job<'_> {
    /// Whether messages of this point are posted inline.
    pub fn is_inline(&self) -> bool {
        !self.spec.op.fetches() && self.msg_bytes <= self.spec.max_inline_bytes
    }
}

/// How long a sleeping thread sleeps at most before it looks at its deadline and its control connection.
pub const SLEEP: Duration = Duration::from_millis(1);
