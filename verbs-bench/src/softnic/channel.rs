//! Completion events.
//!
//! The NIC has no interrupt and no thread of its own: it moves when its owner posts or polls. So waiting for an event is
//! sleeping in small slices and making progress between them, and an event comes up to a slice, and the kernel's timer
//! slack, late.

use std::{
    ffi::c_int,
    io, thread,
    time::{Duration, Instant},
};

use rdma_sys::ibv_cq;

use super::{cq::SoftCq, poll::make_progress};

/// How long it sleeps between two looks.
const SLICE: Duration = Duration::from_micros(25);

/// `ibv_req_notify_cq`. The next completion that is queued raises one event.
///
/// # Safety
/// As in C: `cq` is one of ours; no other thread uses it.
pub(super) unsafe extern "C" fn req_notify_cq(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    if solicited_only != 0 {
        return libc::EOPNOTSUPP;
    }
    // SAFETY: one of ours, used by this thread alone (caller).
    unsafe { (*cq.cast::<SoftCq>()).arm() };
    0
}

/// Waits for the event of `cq` and takes it; false when `timeout` passed first.
///
/// # Safety
/// `cq` is one of ours; no other thread uses it or its QPs.
pub(super) unsafe fn wait_event(cq: *mut ibv_cq, timeout: Duration) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        // SAFETY: as the caller's.
        let raised = unsafe {
            make_progress(cq);
            (*cq.cast::<SoftCq>()).take_event()
        };
        if raised {
            return Ok(true);
        }
        match timeout.checked_sub(began.elapsed()) {
            Some(left) if !left.is_zero() => thread::sleep(left.min(SLICE)),
            _ => return Ok(false),
        }
    }
}
