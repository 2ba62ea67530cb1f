//! The receive queue of a QP, as its owner sees it: what is posted, and what has arrived.

use std::{ffi::c_int, io, sync::Arc};

use rdma_sys::{ibv_wc_opcode::IBV_WC_RECV, ibv_wc_status::IBV_WC_WR_FLUSH_ERR};

use super::{
    arena::{Arena, Lease},
    peer::SharedRing,
    ring::{Arrival, Receive, Ring},
};

/// The owner's end.
pub(super) struct ReceiveQueue {
    // Dropped before the lease gives the pages back.
    ring: Ring,
    lease: Lease,
    entries: u32,
    /// Receives posted, and handed out as completions, since the beginning.
    posted: u64,
    taken: u64,
    /// The QP went to error: what did not arrive is flushed.
    flushed: bool,
}

impl ReceiveQueue {
    /// An empty queue for `entries` receives.
    pub(super) fn new(arena: &Arc<Arena>, entries: u32) -> io::Result<ReceiveQueue> {
        let too_large = || io::Error::from_raw_os_error(libc::EINVAL);
        let (lease, map) = arena.lease(Ring::bytes(entries).ok_or_else(too_large)?)?;
        let ring = Ring::new(map, entries).ok_or_else(too_large)?;
        Ok(ReceiveQueue { ring, lease, entries, posted: 0, taken: 0, flushed: false })
    }

    /// Where a peer on this host finds it.
    pub(super) fn shared(&self, qp_num: u32) -> SharedRing {
        SharedRing { fd: self.lease.fd(), offset: self.lease.offset(), entries: self.entries, qp_num }
    }

    pub(super) fn set_qkey(&self, qkey: u32) {
        self.ring.set_qkey(qkey);
    }

    /// Posts a receive, or refuses it with the errno `ibv_post_recv` returns.
    #[inline]
    pub(super) fn post(&mut self, receive: Receive) -> Result<(), c_int> {
        if self.posted - self.taken >= u64::from(self.entries) {
            return Err(libc::ENOMEM);
        }
        self.ring.post(self.posted, receive);
        self.posted += 1;
        Ok(())
    }

    /// The next receive that a message consumed, or that is flushed; with its `wr_id`.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(u64, Arrival)> {
        if self.taken == self.posted {
            return None;
        }
        let arrival = if self.taken < self.ring.arrived() {
            self.ring.arrival(self.taken)
        } else if self.flushed {
            let status = IBV_WC_WR_FLUSH_ERR;
            Arrival { at: 0, status, opcode: IBV_WC_RECV, byte_len: 0, imm: 0, wc_flags: 0, src_qp: 0 }
        } else {
            return None;
        };
        let wr_id = self.ring.receive(self.taken).wr_id;
        self.taken += 1;
        Some((wr_id, arrival))
    }

    /// The QP went to error.
    pub(super) fn flush(&mut self) {
        self.flushed = true;
    }
}
