//! Why a receiver could not go on: noted in the loop as a small value, put into words here.

use std::io;

use rdma_sys::ibv_wc;

use super::Expected;
use crate::{
    engine::{Halt, trouble, watch::Watch},
    fault::Fault,
};

/// What went wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Failure {
    /// Nothing yet.
    None,
    /// `ibv_poll_cq` returned this.
    Poll(i32),
    /// `ibv_post_recv` returned this.
    Post(i32),
    /// The completion at this place of the last poll is not what was awaited.
    Completion(usize),
    /// The immediate of the completion at this place is not the number that was awaited.
    Number { at: usize, awaited: u32 },
}

impl Failure {
    /// In words.
    pub(super) fn halt(self, wcs: &[ibv_wc], expected: &Expected, watch: &Watch<'_>) -> Halt {
        let (stage, side) = watch.place();
        match self {
            Failure::None => {
                Fault::new(stage, side, "the receiver was asked about a failure it does not have").into()
            }
            Failure::Poll(returned) => trouble::poll(returned, watch),
            Failure::Post(errno) => Fault::new(
                stage,
                side,
                format!("ibv_post_recv: {}", io::Error::from_raw_os_error(errno.abs())),
            )
            .advise("lower --rx-depth if the receive queue is full")
            .into(),
            Failure::Completion(at) => unlike(&wcs[at], expected, watch),
            Failure::Number { at, awaited } => {
                let wc = &wcs[at];
                // SAFETY: both members of the union are four bytes of integer.
                let number = u32::from_be(unsafe { wc.imm_data_invalidated_rkey_union.imm_data });
                let cause = format!("QP {:#x} received message {number} where {awaited} was next", wc.qp_num);
                Fault::new(stage, side, cause)
                    .advise("the device or its driver lost, repeated or reordered messages: report it with the firmware and kernel version")
                    .into()
            }
        }
    }
}

/// A completion with an error, of a receive nobody posted, or of another message than those of the point.
fn unlike(wc: &ibv_wc, expected: &Expected, watch: &Watch<'_>) -> Halt {
    if wc.status != 0 || (wc.opcode == expected.opcode && wc.byte_len == expected.byte_len) {
        return trouble::completion(wc, watch);
    }
    let (stage, side) = watch.place();
    let cause = format!(
        "a receive on QP {:#x} completed with opcode {} and {} bytes where opcode {} and {} bytes were due",
        wc.qp_num, wc.opcode, wc.byte_len, expected.opcode, expected.byte_len
    );
    Fault::new(stage, side, cause)
        .advise("use the same release on both sides; if it is, the device or its driver mixes messages up")
        .into()
}
