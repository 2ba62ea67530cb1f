//! The data path without a model: as fast as memory, nothing else.
//!
//! A write is done by the time `ibv_post_send` returns, and its completion is queued. Everything else passes through the
//! flight with no time on the way, so that a message that meets no receive waits there and nothing overtakes it.

use std::ffi::c_int;

use rdma_sys::{
    ibv_qp, ibv_send_wr, ibv_wc_opcode::IBV_WC_RDMA_WRITE, ibv_wc_status::IBV_WC_SUCCESS,
    ibv_wr_opcode::IBV_WR_RDMA_WRITE,
};

use super::{
    accept::{self, is_signaled},
    cq::{Cqe, SoftCq},
    flight::Completed,
    modelled,
    path::DataPath,
    poll::{self, Pace},
    progress::{advance, progress},
    qp::SoftQp,
    stall::LinkTime,
};

/// The data path of a raw NIC.
pub(super) const PATH: DataPath =
    DataPath { post_send, poll_cq: poll::poll_cq::<AtOnce>, start_poll: poll::start_poll::<AtOnce> };

/// All that happens on this NIC happens at this time.
const NOW: u64 = 0;

/// `ibv_post_send`.
///
/// # Safety
/// As in C: `qp` is one of ours, `wr` a list of work requests, `bad_wr` writable. No other thread uses the QP or its CQs.
unsafe extern "C" fn post_send(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad_wr: *mut *mut ibv_send_wr,
) -> c_int {
    let qp = qp.cast::<SoftQp>();
    let mut next = wr;
    // SAFETY: the list ends in NULL and is not changed while it is posted (caller).
    while let Some(wr) = unsafe { next.as_ref() } {
        // SAFETY: a QP of ours, whose PD and CQs are live as long as it is; this thread alone uses them (caller).
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
    if wr.opcode != IBV_WR_RDMA_WRITE || !qp.writes_at_once() {
        // SAFETY: as the caller's.
        return unsafe { post_through_flight(qp_ptr, wr) };
    }
    // SAFETY: as the caller's; for an RDMA write this is the union's live member.
    let transfer = unsafe { accept::transfer(qp, wr, Some(wr.wr.rdma)) }?;
    qp.posted += 1;
    if transfer.status == IBV_WC_SUCCESS {
        // SAFETY: accepted just now, and nothing was unmapped since.
        unsafe { transfer.store() };
        if !is_signaled(wr) {
            return Ok(());
        }
    } else {
        // SAFETY: as the caller's.
        unsafe { fail(qp) };
    }
    let done = Completed {
        wr_id: wr.wr_id,
        status: transfer.status,
        opcode: IBV_WC_RDMA_WRITE,
        byte_len: transfer.len,
        number: qp.posted,
        at: NOW,
    };
    // SAFETY: the CQ outlives its QPs, and this thread alone uses it.
    unsafe { (*qp.ex.qp_base.send_cq.cast::<SoftCq>()).push(Cqe::sent(qp_ptr, done)) };
    Ok(())
}

/// Anything but a write that nothing is in the way of.
///
/// # Safety
/// As `post_send`.
#[inline(never)]
unsafe fn post_through_flight(qp_ptr: *mut SoftQp, wr: &ibv_send_wr) -> Result<(), c_int> {
    // SAFETY: as the caller's; each reference ends before the next call.
    unsafe {
        modelled::post_one(&mut *qp_ptr, wr, NOW)?;
        advance(qp_ptr, NOW, &LinkTime::EVEN);
        if !(*qp_ptr).flight.is_empty() {
            call_attention(&*qp_ptr);
        }
    }
    Ok(())
}

/// # Safety
/// As `post_send`.
#[cold]
unsafe fn fail(qp: &mut SoftQp) {
    qp.fail();
    // SAFETY: as the caller's.
    unsafe { call_attention(qp) };
}

/// Makes whoever polls a queue of this QP look at it.
///
/// # Safety
/// This thread alone uses the queues, and no reference to them is alive.
unsafe fn call_attention(qp: &SoftQp) {
    for cq in [qp.ex.qp_base.send_cq, qp.ex.qp_base.recv_cq] {
        // SAFETY: the CQs outlive their QPs; the rest is the caller's.
        unsafe { (*cq.cast::<SoftCq>()).attention = true };
    }
}

/// Progress on the queues that need it: a queue of writes alone only hands out what is there.
struct AtOnce;

impl Pace for AtOnce {
    #[inline(always)]
    unsafe fn progress(cq: *mut SoftCq) {
        // SAFETY: as the caller's.
        unsafe {
            if (*cq).attention {
                progress(cq, NOW);
            }
        }
    }
}
