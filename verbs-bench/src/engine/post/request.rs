//! What every work request of a QP has in common, and the steps by which one differs from the next.

use schema::Op;

use crate::engine::job::{Job, JobQp, Memory, UdAddress};

/// Where a QP's messages come from and go to, and how they move through the working set.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The verb.
    pub op: Op,
    /// Number of the QP within its thread, which every work request carries as its id.
    pub wr_id: u64,
    /// Message size in bytes.
    pub msg_bytes: u32,
    /// Whether messages are posted inline.
    pub inline: bool,
    /// Local address of slot 0, and the local key.
    pub local: Memory,
    /// Remote address of slot 0, and the remote key.
    pub remote: Memory,
    /// Bytes from one slot to the next.
    pub stride: u64,
    /// Bytes from slot 0 to the end of the last.
    pub span: u64,
    /// Where datagrams go.
    pub ud: Option<UdAddress>,
}

impl Route {
    /// The route of QP number `lane` of a job.
    pub fn new(job: &Job<'_>, lane: usize, qp: &JobQp) -> Self {
        let layout = &job.layout;
        let index = u64::from(qp.index);
        let (here, there) = match job.spec.op {
            Op::Read => (layout.target(index, 0), layout.source(index, 0)),
            _ => (layout.source(index, 0), layout.target(index, 0)),
        };
        Route {
            op: job.spec.op,
            wr_id: lane as u64,
            msg_bytes: job.msg_bytes,
            inline: job.is_inline(),
            local: Memory { addr: job.local.addr + here, key: job.local.key },
            remote: Memory { addr: job.remote.addr + there, key: job.remote.key },
            stride: layout.stride,
            // An atomic always works on the same counter.
            span: if job.spec.op.is_atomic() { layout.stride } else { layout.bytes_per_qp() },
            ud: qp.ud,
        }
    }
}

/// What changes from message to message.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    stride: u64,
    span: u64,
    offset: u64,
    number: u64,
}

impl Cursor {
    /// At the first message.
    pub fn new(route: &Route) -> Self {
        Cursor { stride: route.stride, span: route.span, offset: 0, number: 0 }
    }

    /// Offset of the next message's slot, and its number from 0.
    #[inline(always)]
    pub fn advance(&mut self) -> (u64, u64) {
        let at = (self.offset, self.number);
        self.offset += self.stride;
        if self.offset == self.span {
            self.offset = 0;
        }
        self.number += 1;
        at
    }
}
