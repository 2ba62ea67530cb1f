//! The queue pair: its state machine, its send queue's slots, its receive queue, and what it reaches.

use std::io;

use rdma_sys::{ibv_qp, ibv_qp_attr_mask, ibv_qp_ex, ibv_qp_state::IBV_QPS_ERR};
use schema::Transport;

use super::{batch::Batch, flight::Flight, reach::Reach, receive::ReceiveQueue, region::SoftPd, transition};
use crate::verbs::QpCaps;

/// Most work requests of a queue, as current devices have it.
pub(super) const MAX_QP_WR: u32 = 1 << 16;
/// Largest inline limit; a work queue entry of a device is no longer either.
const MAX_INLINE_BYTES: u32 = 4096;

/// A queue pair. Its first field is what verbs sees.
#[repr(C)]
pub(super) struct SoftQp {
    pub(super) ex: ibv_qp_ex,
    pub(super) pd: *mut SoftPd,
    /// Work requests posted since the beginning, and those whose slots are free again: as on a device, a slot is free
    /// when the completion of it or of a later one was polled.
    pub(super) posted: u64,
    pub(super) retired: u64,
    max_send_wr: u64,
    /// As many writes may be outstanding that are done as they are posted: none where a model delays them, where the
    /// transport carries none, and while something in flight waits.
    at_once: u64,
    pub(super) max_inline_bytes: u32,
    modelled: bool,
    pub(super) reach: Reach,
    /// What is on the link; on a raw NIC, all but most writes pass through it too, and what waits for a receive stays.
    pub(super) flight: Flight,
    pub(super) receives: Option<ReceiveQueue>,
    /// What `ibv_wr_*` collect; none on a classic QP.
    pub(super) batch: Option<Box<Batch>>,
}

impl SoftQp {
    pub(super) fn new(
        qp_base: ibv_qp,
        transport: Transport,
        caps: QpCaps,
        receives: Option<ReceiveQueue>,
        modelled: bool,
    ) -> SoftQp {
        let QpCaps { max_send_wr, max_inline_bytes, .. } = caps;
        // SAFETY: ibv_qp_ex is integers, pointers, optional functions and an ibv_qp; all zero is a valid value.
        let ex = ibv_qp_ex { qp_base, ..unsafe { std::mem::zeroed() } };
        let mut qp = SoftQp {
            pd: qp_base.pd.cast(),
            ex,
            posted: 0,
            retired: 0,
            max_send_wr: max_send_wr.into(),
            at_once: 0,
            max_inline_bytes,
            modelled,
            reach: Reach::nothing(transport, qp_base.qp_num),
            flight: Flight::new(max_send_wr, max_inline_bytes),
            receives,
            batch: None,
        };
        qp.settle();
        qp
    }

    /// Makes room for what `ibv_wr_*` collect.
    pub(super) fn collect_batches(&mut self) {
        self.batch = Some(Box::new(Batch::new(self.max_send_wr as u32, self.max_inline_bytes)));
    }

    /// Refuses sizes that no device has.
    pub(super) fn check(caps: QpCaps) -> io::Result<()> {
        let fits = (1..=MAX_QP_WR).contains(&caps.max_send_wr)
            && caps.max_recv_wr <= MAX_QP_WR
            && caps.max_inline_bytes <= MAX_INLINE_BYTES;
        if fits { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
    }

    /// Its state, as `enum ibv_qp_state`.
    #[inline(always)]
    pub(super) fn state(&self) -> u32 {
        self.ex.qp_base.state
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.posted - self.retired >= self.max_send_wr
    }

    /// Work requests that can be posted now.
    pub(super) fn room(&self) -> u64 {
        self.max_send_wr - (self.posted - self.retired)
    }

    /// Whether a write that is posted now is done at once. If not, nothing is said about why.
    #[inline(always)]
    pub(super) fn writes_at_once(&self) -> bool {
        self.posted - self.retired < self.at_once
    }

    /// Settles whether writes are done at once, after something entered or left the flight.
    #[inline]
    pub(super) fn settle(&mut self) {
        let passes = !self.modelled && self.reach.transport != Transport::Ud && self.flight.is_empty();
        self.at_once = if passes { self.max_send_wr } else { 0 };
    }

    /// Whether polling one of its queues must look at it.
    #[inline]
    pub(super) fn wants_attention(&self) -> bool {
        self.receives.is_some() || !self.flight.is_empty()
    }

    /// Goes to error: both queues are flushed.
    #[cold]
    pub(super) fn fail(&mut self) {
        self.ex.qp_base.state = IBV_QPS_ERR;
        self.flight.flush();
        if let Some(receives) = &mut self.receives {
            receives.flush();
        }
    }

    /// Goes to `state` if the state machine allows it with these attributes.
    pub(super) fn enter_state(&mut self, state: u32, mask: ibv_qp_attr_mask) -> io::Result<()> {
        transition::check(self.reach.transport, self.state(), state, mask)?;
        match state {
            IBV_QPS_ERR => self.fail(),
            _ => self.ex.qp_base.state = state,
        }
        Ok(())
    }
}
