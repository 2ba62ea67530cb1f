//! The completion queue: a ring of what `ibv_poll_cq` will hand out.

use std::{ffi::c_int, io, ptr};

use rdma_sys::{ibv_cq, ibv_wc, ibv_wc_opcode::IBV_WC_RDMA_WRITE, imm_data_invalidated_rkey_union_t};

use super::{qp::SoftQp, stall::LinkTime};

/// Most entries of a CQ, as current devices have it.
pub(super) const MAX_CQE: u32 = 1 << 22;

/// A completion queue. Its first field is what verbs sees; one thread at a time uses it and its QPs.
#[repr(C)]
pub(super) struct SoftCq {
    pub(super) ibv: ibv_cq,
    ring: Box<[Cqe]>,
    /// Completions handed out, and pushed, since the beginning.
    popped: u64,
    pushed: u64,
    /// A completion found no room. As with hardware the queue is then unusable.
    overrun: bool,
    /// The QPs that complete here.
    pub(super) qps: Vec<*mut SoftQp>,
    /// Time on the link, for QPs with a model.
    pub(super) link_time: LinkTime,
}

/// A completion waiting to be polled.
#[derive(Clone, Copy)]
struct Cqe {
    wr_id: u64,
    qp: *mut SoftQp,
    /// Work requests of `qp` whose slots are free once this is polled.
    retires: u64,
    status: u32,
    byte_len: u32,
}

impl SoftCq {
    pub(super) fn new(ibv: ibv_cq, entries: u32) -> io::Result<SoftCq> {
        if entries == 0 || entries > MAX_CQE {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let empty = Cqe { wr_id: 0, qp: ptr::null_mut(), retires: 0, status: 0, byte_len: 0 };
        let ring = vec![empty; entries.next_power_of_two() as usize].into_boxed_slice();
        let ibv = ibv_cq { cqe: ring.len() as c_int, ..ibv };
        Ok(SoftCq {
            ibv,
            ring,
            popped: 0,
            pushed: 0,
            overrun: false,
            qps: Vec::new(),
            link_time: LinkTime::EVEN,
        })
    }

    #[inline(always)]
    fn index(&self, count: u64) -> usize {
        count as usize & (self.ring.len() - 1)
    }

    /// Queues the completion of the work request `qp` posted as its `retires`-th.
    #[inline(always)]
    pub(super) fn push(&mut self, qp: *mut SoftQp, wr_id: u64, retires: u64, status: u32, byte_len: u32) {
        if self.pushed - self.popped == self.ring.len() as u64 {
            self.overrun = true;
            return;
        }
        let at = self.index(self.pushed);
        self.ring[at] = Cqe { wr_id, qp, retires, status, byte_len };
        self.pushed += 1;
    }

    /// Hands out up to `num_entries` completions; an overrun queue fails once what came before is handed out.
    ///
    /// # Safety
    /// `wc` has room for `num_entries`, and the QPs of queued completions are live.
    #[inline(always)]
    pub(super) unsafe fn pop(&mut self, num_entries: c_int, wc: *mut ibv_wc) -> c_int {
        let ready = (self.pushed - self.popped).min(num_entries.max(0) as u64);
        if ready == 0 {
            return if self.overrun { -libc::EOVERFLOW } else { 0 };
        }
        for at in 0..ready {
            let cqe = self.ring[self.index(self.popped + at)];
            // SAFETY: destroying a QP takes its completions out of the ring, so this one is live.
            let qp_num = unsafe {
                (*cqe.qp).retired = cqe.retires;
                (*cqe.qp).ibv.qp_num
            };
            // SAFETY: at < ready <= num_entries, for which the caller has room.
            unsafe { wc.add(at as usize).write(cqe.to_wc(qp_num)) };
        }
        self.popped += ready;
        ready as c_int
    }

    /// Takes a QP that is being destroyed off the queue, with its completions.
    pub(super) fn forget(&mut self, qp: *mut SoftQp) {
        self.qps.retain(|other| *other != qp);
        let mut kept = self.popped;
        for at in self.popped..self.pushed {
            let cqe = self.ring[self.index(at)];
            if cqe.qp != qp {
                let to = self.index(kept);
                self.ring[to] = cqe;
                kept += 1;
            }
        }
        self.pushed = kept;
    }
}

impl Cqe {
    #[inline(always)]
    fn to_wc(self, qp_num: u32) -> ibv_wc {
        ibv_wc {
            wr_id: self.wr_id,
            status: self.status,
            opcode: IBV_WC_RDMA_WRITE,
            vendor_err: 0,
            byte_len: self.byte_len,
            imm_data_invalidated_rkey_union: imm_data_invalidated_rkey_union_t { imm_data: 0 },
            qp_num,
            src_qp: 0,
            wc_flags: 0,
            pkey_index: 0,
            slid: 0,
            sl: 0,
            dlid_path_bits: 0,
        }
    }
}
