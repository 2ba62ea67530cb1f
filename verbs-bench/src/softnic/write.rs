//! One RDMA write of a work request: what may refuse it, what may fail it, and the store itself.

use std::{
    ffi::c_int,
    ptr,
    sync::atomic::{AtomicU8, Ordering},
};

use rdma_sys::{
    ibv_qp_state, ibv_send_flags, ibv_send_wr, ibv_wc_status::*, ibv_wr_opcode::IBV_WR_RDMA_WRITE,
};

use super::{qp::SoftQp, region::within};

const INLINE: u32 = ibv_send_flags::IBV_SEND_INLINE.0;
const SIGNALED: u32 = ibv_send_flags::IBV_SEND_SIGNALED.0;

/// A work request that was accepted: where from, where to, and how it will complete.
#[derive(Clone, Copy)]
pub(super) struct Write {
    pub(super) source: *const u8,
    pub(super) target: *mut u8,
    pub(super) len: u32,
    /// `enum ibv_wc_status`; anything but success moves nothing.
    pub(super) status: u32,
}

#[inline(always)]
pub(super) fn is_inline(wr: &ibv_send_wr) -> bool {
    wr.send_flags & INLINE != 0
}

#[inline(always)]
pub(super) fn is_signaled(wr: &ibv_send_wr) -> bool {
    wr.send_flags & SIGNALED != 0
}

impl Write {
    /// Accepts a work request, or refuses it with the errno `ibv_post_send` returns.
    ///
    /// # Safety
    /// `wr.sg_list` points to `wr.num_sge` SGEs; the QP's PD is live.
    #[inline(always)]
    pub(super) unsafe fn accept(qp: &SoftQp, wr: &ibv_send_wr) -> Result<Write, c_int> {
        if qp.is_full() {
            return Err(libc::ENOMEM);
        }
        if wr.opcode != IBV_WR_RDMA_WRITE {
            return Err(libc::EINVAL);
        }
        let (addr, len, lkey) = match wr.num_sge {
            1 => {
                // SAFETY: one SGE is there (caller).
                let sge = unsafe { &*wr.sg_list };
                (sge.addr, sge.length, sge.lkey)
            }
            0 => (0, 0, 0),
            _ => return Err(libc::EINVAL),
        };
        let inline = is_inline(wr);
        if inline && len > qp.max_inline_bytes {
            return Err(libc::EINVAL);
        }
        // SAFETY: for an RDMA write this is the union's live member.
        let rdma = unsafe { wr.wr.rdma };
        let status = match qp.ibv.state {
            ibv_qp_state::IBV_QPS_RTS if len == 0 => IBV_WC_SUCCESS,
            // SAFETY: the PD is live (caller).
            ibv_qp_state::IBV_QPS_RTS if !inline && !unsafe { &(*qp.pd).regions }.covers(lkey, addr, len) => {
                IBV_WC_LOC_PROT_ERR
            }
            ibv_qp_state::IBV_QPS_RTS if !qp.remote.covers(rdma.rkey, rdma.remote_addr, len) => {
                IBV_WC_REM_ACCESS_ERR
            }
            ibv_qp_state::IBV_QPS_RTS => IBV_WC_SUCCESS,
            ibv_qp_state::IBV_QPS_ERR => IBV_WC_WR_FLUSH_ERR,
            _ => return Err(libc::EINVAL),
        };
        let target = qp.remote.map.wrapping_add(rdma.remote_addr.wrapping_sub(qp.remote.start) as usize);
        Ok(Write { source: addr as *const u8, target, len, status })
    }

    /// Stores the payload so that whoever sees its last byte sees all of it.
    ///
    /// # Safety
    /// The write was accepted with success, and its source and target are still mapped.
    #[inline(always)]
    pub(super) unsafe fn store(&self) {
        let Some(before_last) = (self.len as usize).checked_sub(1) else { return };
        // SAFETY: both ranges lie inside registered, mapped memory; they are different mappings, so they never overlap as
        // addresses. The last byte is an aligned u8 that both processes only access as an atomic or after it changed.
        unsafe {
            ptr::copy_nonoverlapping(self.source, self.target, before_last);
            let last = self.source.add(before_last).read();
            AtomicU8::from_ptr(self.target.add(before_last)).store(last, Ordering::Release);
        }
    }
}

/// The peer's memory as a QP reaches it.
pub(super) struct Remote {
    /// Where it is mapped here.
    pub(super) map: *mut u8,
    /// Its first address as work requests count.
    pub(super) start: u64,
    end: u64,
    rkey: u32,
}

impl Remote {
    /// Nothing is reachable.
    pub(super) const NONE: Remote = Remote { map: ptr::null_mut(), start: 0, end: 0, rkey: 0 };

    pub(super) fn new(map: *mut u8, start: u64, len: u64, rkey: u32) -> Remote {
        Remote { map, start, end: start.saturating_add(len), rkey }
    }

    #[inline(always)]
    fn covers(&self, rkey: u32, addr: u64, len: u32) -> bool {
        rkey == self.rkey && within(addr, len, self.start, self.end)
    }
}
