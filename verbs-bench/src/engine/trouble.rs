//! What a loop says when a verb fails: cold code, and the only place where the loops' errors get their words.

use std::io;

use rdma_sys::ibv_wc;

use super::{Halt, watch::Watch};
use crate::{fault::Fault, verbs::WcStatus};

/// A work request could not be posted.
#[cold]
#[inline(never)]
pub(super) fn post(errno: i32, watch: &Watch<'_>) -> Halt {
    let (stage, side) = watch.place();
    Fault::new(stage, side, format!("ibv_post_send: {}", io::Error::from_raw_os_error(errno)))
        .advise("lower --tx-depth or --post-list if the send queue is full, --inline if the message is larger than the granted limit")
        .into()
}

/// A thread could not sleep on its completion channel.
#[cold]
#[inline(never)]
pub(super) fn wait(error: &io::Error, watch: &Watch<'_>) -> Halt {
    let (stage, side) = watch.place();
    Fault::new(stage, side, format!("waiting for a completion event: {error}"))
        .advise("use --wait poll if the device or its driver has no working completion events")
        .into()
}

/// The completion queue could not be polled.
#[cold]
#[inline(never)]
pub(super) fn poll(returned: i32, watch: &Watch<'_>) -> Halt {
    let (stage, side) = watch.place();
    Fault::new(stage, side, format!("ibv_poll_cq returned {returned}"))
        .advise("the completion queue is in error (overrun, or the device was reset): see the kernel log of the driver")
        .into()
}

/// A work request completed with an error, or a completion nobody owes arrived.
#[cold]
#[inline(never)]
pub(super) fn completion(wc: &ibv_wc, watch: &Watch<'_>) -> Halt {
    let (stage, side) = watch.place();
    if wc.status == 0 {
        return Fault::new(
            stage,
            side,
            format!("a completion for work request {} came that was not posted", wc.wr_id),
        )
        .advise("this is a fault of the device or its driver: report it with the firmware and kernel version")
        .into();
    }
    let status = WcStatus::from(wc.status);
    let cause = format!(
        "a work request on QP {:#x} completed with {} ({}), vendor error {:#x}",
        wc.qp_num,
        status.name(),
        status.meaning(),
        wc.vendor_err
    );
    let causes = status.causes(wc.vendor_err);
    let advice = if causes.is_empty() {
        String::new()
    } else {
        format!("likely causes, in order: {}", causes.join("; "))
    };
    Fault::new(stage, side, cause).advise(advice).into()
}
