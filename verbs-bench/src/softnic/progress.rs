//! What has become due on the QPs of a queue, carried out by whoever posts or polls.

use rdma_sys::{ibv_qp_state::IBV_QPS_ERR, ibv_wc_status::IBV_WC_SUCCESS};

use super::{
    cq::{Cqe, SoftCq},
    flight::Completed,
    qp::SoftQp,
    stall::LinkTime,
};

/// Carries out what is due at `now`, in time on the link, on every QP of the queue: of its sends and of its receives, on
/// whichever queues those complete.
///
/// # Safety
/// `cq` is live, no other thread uses it, its QPs or their other queues, and no reference to any of them is alive; memory
/// of work requests in flight is mapped.
pub(super) unsafe fn progress(cq: *mut SoftCq, now: u64) {
    // SAFETY: live (caller). No reference is held over `advance`, which pushes to this very queue.
    unsafe {
        let time = (*cq).link_time;
        let mut attention = false;
        let mut count = 0;
        while let Some(qp) = nth(cq, count) {
            count += 1;
            advance(qp, now, &time);
            attention |= (*qp).wants_attention();
        }
        (*cq).attention = attention;
    }
}

/// The queue's QP of this position.
///
/// # Safety
/// `cq` is live, and no mutable reference to it is alive.
#[inline]
unsafe fn nth(cq: *mut SoftCq, at: usize) -> Option<*mut SoftQp> {
    // SAFETY: as the caller's.
    let cq = unsafe { &*cq };
    cq.qps.get(at).copied()
}

/// Carries out what is due on one QP.
///
/// # Safety
/// As `progress`, for the queues of this QP.
#[inline]
pub(super) unsafe fn advance(qp_ptr: *mut SoftQp, now: u64, time: &LinkTime) {
    // SAFETY: live, and the only references to the QP and to its queues (caller). Queues keep the pointer, not this
    // reference. The two queues may be one, so only one of them is borrowed at a time.
    unsafe {
        let qp = &mut *qp_ptr;
        if !qp.flight.is_empty() {
            qp.flight.deliver(now, &mut qp.reach, time);
            let cq = &mut *qp.ex.qp_base.send_cq.cast::<SoftCq>();
            while let Some(done) = qp.flight.next_completed(now) {
                if done.status != IBV_WC_SUCCESS {
                    qp.fail();
                }
                cq.push(Cqe::sent(qp_ptr, Completed { at: time.clock_at(done.at), ..done }));
            }
            qp.settle();
        }
        if qp.receives.is_some() {
            take_receives(qp, qp_ptr);
        }
    }
}

/// # Safety
/// As `advance`.
unsafe fn take_receives(qp: &mut SoftQp, qp_ptr: *mut SoftQp) {
    // SAFETY: as in `advance`.
    let cq = unsafe { &mut *qp.ex.qp_base.recv_cq.cast::<SoftCq>() };
    while let Some((wr_id, arrival)) = qp.receives.as_mut().and_then(|receives| receives.next()) {
        if arrival.status != IBV_WC_SUCCESS && qp.state() != IBV_QPS_ERR {
            qp.fail();
        }
        cq.push(Cqe::received(qp_ptr, wr_id, arrival));
    }
}
