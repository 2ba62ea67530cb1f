//! The data path over a modelled link: posting stamps, and whoever posts or polls carries out what has become due.

use std::{ffi::c_int, marker::PhantomData, sync::PoisonError};

use rdma_sys::{
    ibv_qp, ibv_send_wr,
    ibv_wc_status::{IBV_WC_LOC_PROT_ERR, IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR},
};

use super::{
    accept::{self, is_inline, is_signaled},
    context::SoftContext,
    cq::SoftCq,
    link::Passage,
    path::DataPath,
    poll::{self, Pace},
    progress::progress,
    qp::SoftQp,
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

/// Progress in the time of the model.
struct Timed<C>(PhantomData<C>);

impl<C: Now> Pace for Timed<C> {
    #[inline]
    unsafe fn progress(cq: *mut SoftCq) {
        // SAFETY: as the caller's.
        unsafe {
            let now = (*cq).link_time.at(C::now());
            progress(cq, now);
        }
    }
}

/// The data path of a NIC whose model runs on this clock.
pub(super) const fn path<C: Now>() -> DataPath {
    DataPath {
        post_send: post_send::<C>,
        poll_cq: poll::poll_cq::<Timed<C>>,
        start_poll: poll::start_poll::<Timed<C>>,
    }
}

/// `ibv_post_send`.
///
/// # Safety
/// As in C: `qp` is one of ours, `wr` a list of work requests, `bad_wr` writable. No other thread uses the QP or its CQs.
unsafe extern "C" fn post_send<C: Now>(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad_wr: *mut *mut ibv_send_wr,
) -> c_int {
    let qp = qp.cast::<SoftQp>();
    // SAFETY: a QP of ours, whose CQ is live as long as it is; this thread alone uses them (caller).
    let now = unsafe {
        let cq = (*qp).ex.qp_base.send_cq.cast::<SoftCq>();
        let now = (*cq).link_time.at(C::now());
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

/// Puts one work request on the link, or refuses it with its errno. A NIC without a link has it there at once.
///
/// # Safety
/// As `post_send`.
#[inline]
pub(super) unsafe fn post_one(qp: &mut SoftQp, wr: &ibv_send_wr, now: u64) -> Result<(), c_int> {
    if qp.is_full() {
        return Err(libc::ENOMEM);
    }
    // SAFETY: as the caller's.
    let mut work = unsafe { accept::work(qp, wr) }?;
    // SAFETY: the context outlives its QPs.
    let context = unsafe { &*qp.ex.qp_base.context.cast::<SoftContext>() };
    let fate = qp.flight.fate(&work);
    let mut passage = Passage { deliver_at: now, ack_latency: 0, status: fate, lost: false };
    // What fails on this side never reaches the wire.
    if !matches!(fate, IBV_WC_LOC_PROT_ERR | IBV_WC_WR_FLUSH_ERR)
        && let Some(link) = &context.link
    {
        let sent = link.lock().unwrap_or_else(PoisonError::into_inner).send(now, work.transfer.len);
        passage = if fate == IBV_WC_SUCCESS { sent } else { Passage { status: fate, ..sent } };
        if !qp.reach.is_reliable() {
            passage.ack_latency = 0;
        }
    }
    if is_inline(wr) && work.transfer.len > 0 {
        // SAFETY: an inline source is readable while it is posted (caller), and its length was checked.
        unsafe { qp.flight.keep_inline(&mut work.transfer) };
    }
    qp.flight.enter(work, wr.wr_id, is_signaled(wr), passage);
    qp.posted += 1;
    Ok(())
}
