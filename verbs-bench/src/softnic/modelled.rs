//! The data path over a modelled link: posting stamps, and whoever posts or polls carries out what has become due.

use std::{ffi::c_int, sync::PoisonError};

use rdma_sys::{
    ibv_cq, ibv_qp,
    ibv_qp_state::IBV_QPS_ERR,
    ibv_send_wr, ibv_wc,
    ibv_wc_status::{IBV_WC_LOC_PROT_ERR, IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR},
};

use super::{
    context::SoftContext,
    cq::SoftCq,
    link::Passage,
    qp::SoftQp,
    write::{Write, is_inline, is_signaled},
};
use crate::clock::{MonotonicRaw, Ticks, Tsc};

/// A clock the data path is compiled for, so that reading it is a direct call.
pub(super) trait Now: 'static {
    /// Its ticks.
    fn now() -> u64;
}

impl Now for Tsc {
    #[inline(always)]
    fn now() -> u64 {
        Ticks::now(&Tsc)
    }
}

impl Now for MonotonicRaw {
    #[inline(always)]
    fn now() -> u64 {
        Ticks::now(&MonotonicRaw)
    }
}

/// `ibv_post_send`.
///
/// # Safety
/// As in C: `qp` is one of ours, `wr` a list of work requests, `bad_wr` writable. No other thread uses the QP or its CQ.
pub(super) unsafe extern "C" fn post_send<C: Now>(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad_wr: *mut *mut ibv_send_wr,
) -> c_int {
    let qp = qp.cast::<SoftQp>();
    // SAFETY: a QP of ours, whose CQ is live as long as it is; this thread alone uses them (caller).
    let now = unsafe {
        let cq = &mut *(*qp).cq;
        let now = cq.link_time.at(C::now());
        progress(cq, now);
        now
    };
    let mut next = wr;
    // SAFETY: the list ends in NULL and is not changed while it is posted (caller).
    while let Some(wr) = unsafe { next.as_ref() } {
        // SAFETY: as above, and no reference to the QP is alive.
        if let Err(errno) = unsafe { post_one(&mut *qp, wr, now) } {
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
#[inline]
unsafe fn post_one(qp: &mut SoftQp, wr: &ibv_send_wr, now: u64) -> Result<(), c_int> {
    // SAFETY: as the caller's.
    let mut write = unsafe { Write::accept(qp, wr) }?;
    // SAFETY: the context outlives its QPs.
    let context = unsafe { &*qp.ibv.context.cast::<SoftContext>() };
    let (Some(flight), Some(link)) = (&mut qp.flight, &context.link) else { return Err(libc::EINVAL) };
    let fate = flight.fate(&write);
    let passage = match fate {
        // These never reach the wire.
        IBV_WC_LOC_PROT_ERR | IBV_WC_WR_FLUSH_ERR => {
            Passage { deliver_at: now, ack_latency: 0, status: fate, lost: false }
        }
        _ => {
            let sent = link.lock().unwrap_or_else(PoisonError::into_inner).send(now, write.len);
            if fate == IBV_WC_SUCCESS { sent } else { Passage { status: fate, ..sent } }
        }
    };
    if is_inline(wr) && write.len > 0 {
        // SAFETY: an inline source is readable while it is posted (caller), and its length was checked.
        unsafe { flight.keep_inline(&mut write) };
    }
    flight.enter(write, wr.wr_id, is_signaled(wr), passage);
    qp.posted += 1;
    Ok(())
}

/// `ibv_poll_cq`.
///
/// # Safety
/// As in C: `cq` is one of ours, `wc` has room for `num_entries`. No other thread uses the CQ or its QPs.
pub(super) unsafe extern "C" fn poll_cq<C: Now>(
    cq: *mut ibv_cq,
    num_entries: c_int,
    wc: *mut ibv_wc,
) -> c_int {
    // SAFETY: one of ours, used by this thread alone (caller).
    let cq = unsafe { &mut *cq.cast::<SoftCq>() };
    let now = cq.link_time.at(C::now());
    // SAFETY: as above; room in `wc` (caller).
    unsafe {
        progress(cq, now);
        cq.pop(num_entries, wc)
    }
}

/// Carries out what is due at `now` on every QP of the queue.
///
/// # Safety
/// No other thread uses the CQ or its QPs; memory of writes in flight is mapped.
#[inline]
unsafe fn progress(cq: &mut SoftCq, now: u64) {
    for at in 0..cq.qps.len() {
        let qp = cq.qps[at];
        // SAFETY: a destroyed QP takes itself off the list, so this one is live, and no other reference to it is.
        let (state, flight) = unsafe { (&mut (*qp).ibv.state, &mut (*qp).flight) };
        let Some(flight) = flight else { continue };
        // SAFETY: mapped (caller).
        unsafe { flight.deliver(now) };
        while let Some(done) = flight.next_completed(now) {
            if done.status != IBV_WC_SUCCESS {
                *state = IBV_QPS_ERR;
            }
            cq.push(qp, done.wr_id, done.number, done.status, done.byte_len);
        }
    }
}
