//! The data path without a link: a write is done, and its completion there, when `ibv_post_send` returns.
//!
//! The yardstick of the hot loop above it: no clock, lock, allocation or division.

use std::ffi::c_int;

use rdma_sys::{
    ibv_cq, ibv_qp, ibv_qp_state::IBV_QPS_ERR, ibv_send_wr, ibv_wc, ibv_wc_status::IBV_WC_SUCCESS,
};

use super::{
    cq::SoftCq,
    qp::SoftQp,
    write::{Write, is_signaled},
};

/// `ibv_post_send`.
///
/// # Safety
/// As in C: `qp` is one of ours, `wr` a list of work requests, `bad_wr` writable. No other thread uses the QP or its CQ.
pub(super) unsafe extern "C" fn post_send(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad_wr: *mut *mut ibv_send_wr,
) -> c_int {
    let qp = qp.cast::<SoftQp>();
    let mut next = wr;
    // SAFETY: the list ends in NULL and is not changed while it is posted (caller).
    while let Some(wr) = unsafe { next.as_ref() } {
        // SAFETY: a QP of ours, whose PD and CQ are live as long as it is; this thread alone uses them (caller).
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
/// As `post_send`.
#[inline(always)]
unsafe fn post_one(qp_ptr: *mut SoftQp, wr: &ibv_send_wr) -> Result<(), c_int> {
    // SAFETY: ours, live and used by this thread alone (caller). The CQ keeps `qp_ptr`, not this reference.
    let qp = unsafe { &mut *qp_ptr };
    // SAFETY: as the caller's.
    let write = unsafe { Write::accept(qp, wr) }?;
    qp.posted += 1;
    if write.status == IBV_WC_SUCCESS {
        // SAFETY: accepted just now, and nothing was unmapped since.
        unsafe { write.store() };
        if !is_signaled(wr) {
            return Ok(());
        }
    } else {
        qp.ibv.state = IBV_QPS_ERR;
    }
    // SAFETY: the CQ outlives its QPs, and this thread alone uses it.
    let cq = unsafe { &mut *qp.cq };
    cq.push(qp_ptr, wr.wr_id, qp.posted, write.status, write.len);
    Ok(())
}

/// `ibv_poll_cq`.
///
/// # Safety
/// As in C: `cq` is one of ours, `wc` has room for `num_entries`. No other thread uses the CQ or its QPs.
pub(super) unsafe extern "C" fn poll_cq(cq: *mut ibv_cq, num_entries: c_int, wc: *mut ibv_wc) -> c_int {
    // SAFETY: one of ours, used by this thread alone, and room in `wc` (caller).
    unsafe { (*cq.cast::<SoftCq>()).pop(num_entries, wc) }
}
