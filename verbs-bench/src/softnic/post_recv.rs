//! `ibv_post_recv`: what refuses a receive, and its way into the queue.

use std::ffi::c_int;

use rdma_sys::{ibv_qp, ibv_qp_state::IBV_QPS_RESET, ibv_recv_wr};

use super::{qp::SoftQp, ring::Receive};

/// `ibv_post_recv`.
///
/// # Safety
/// As in C: `qp` is one of ours, `wr` a list of work requests, `bad_wr` writable. No other thread uses the QP or its CQs.
pub(super) unsafe extern "C" fn post_recv(
    qp: *mut ibv_qp,
    wr: *mut ibv_recv_wr,
    bad_wr: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: a QP of ours that this thread alone uses (caller).
    let qp = unsafe { &mut *qp.cast::<SoftQp>() };
    let mut next = wr;
    // SAFETY: the list ends in NULL and is not changed while it is posted (caller).
    while let Some(wr) = unsafe { next.as_ref() } {
        // SAFETY: as the caller's.
        if let Err(errno) = unsafe { post_one(qp, wr) } {
            // SAFETY: writable (caller).
            unsafe { *bad_wr = next };
            return errno;
        }
        next = wr.next;
    }
    0
}

/// # Safety
/// `wr.sg_list` points to `wr.num_sge` SGEs; the QP's PD is live.
#[inline]
unsafe fn post_one(qp: &mut SoftQp, wr: &ibv_recv_wr) -> Result<(), c_int> {
    if qp.state() == IBV_QPS_RESET {
        return Err(libc::EINVAL);
    }
    let Some(receives) = &mut qp.receives else { return Err(libc::EINVAL) };
    let (addr, len, lkey) = match wr.num_sge {
        1 => {
            // SAFETY: one SGE is there (caller).
            let sge = unsafe { &*wr.sg_list };
            (sge.addr, sge.length, sge.lkey)
        }
        0 => (0, 0, 0),
        _ => return Err(libc::EINVAL),
    };
    // SAFETY: the PD is live (caller).
    let covered = len == 0 || unsafe { &(*qp.pd).regions }.covers(lkey, addr, len);
    receives.post(Receive { wr_id: wr.wr_id, addr, len, covered: covered.into() })
}
