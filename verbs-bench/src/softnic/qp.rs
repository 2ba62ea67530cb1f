//! The queue pair: its state machine, its send queue's slots, and the peer memory it reaches.

use std::{io, sync::Arc};

use memmap2::MmapRaw;
use rdma_sys::{ibv_qp, ibv_qp_state::*};

use super::{cq::SoftCq, flight::Flight, region::SoftPd, write::Remote};
use crate::verbs::QpCaps;

/// Most work requests of a send queue, as current devices have it.
pub(super) const MAX_QP_WR: u32 = 1 << 16;
/// Largest inline limit; a work queue entry of a device is no longer either.
const MAX_INLINE_BYTES: u32 = 4096;

/// A queue pair. Its first field is what verbs sees; `ibv.state` is its state.
#[repr(C)]
pub(super) struct SoftQp {
    pub(super) ibv: ibv_qp,
    pub(super) pd: *mut SoftPd,
    pub(super) cq: *mut SoftCq,
    /// Work requests posted since the beginning, and those whose slots are free again: as on a device, a slot is free
    /// when the completion of it or of a later one was polled.
    pub(super) posted: u64,
    pub(super) retired: u64,
    max_send_wr: u64,
    pub(super) max_inline_bytes: u32,
    pub(super) remote: Remote,
    /// What `remote` points into.
    mapping: Option<Arc<MmapRaw>>,
    /// What is on the link; none on a raw NIC.
    pub(super) flight: Option<Flight>,
}

impl SoftQp {
    pub(super) fn new(ibv: ibv_qp, caps: QpCaps, modelled: bool) -> io::Result<SoftQp> {
        let QpCaps { max_send_wr, max_inline_bytes, .. } = caps;
        if max_send_wr == 0 || max_send_wr > MAX_QP_WR || max_inline_bytes > MAX_INLINE_BYTES {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(SoftQp {
            pd: ibv.pd.cast(),
            cq: ibv.send_cq.cast(),
            ibv,
            posted: 0,
            retired: 0,
            max_send_wr: max_send_wr.into(),
            max_inline_bytes,
            remote: Remote::NONE,
            mapping: None,
            flight: modelled.then(|| Flight::new(max_send_wr, max_inline_bytes)),
        })
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.posted - self.retired >= self.max_send_wr
    }

    /// Makes a peer's mapped memory reachable.
    pub(super) fn attach(&mut self, mapping: Arc<MmapRaw>, base_addr: u64, rkey: u32) {
        self.remote = Remote::new(mapping.as_mut_ptr(), base_addr, mapping.len() as u64, rkey);
        self.mapping = Some(mapping);
    }

    /// Goes to `state` if the state machine of an RC QP allows it.
    pub(super) fn enter_state(&mut self, state: u32) -> io::Result<()> {
        match (self.ibv.state, state) {
            (_, IBV_QPS_ERR) => {
                if let Some(flight) = &mut self.flight {
                    flight.flush();
                }
            }
            (IBV_QPS_RESET | IBV_QPS_INIT, IBV_QPS_INIT)
            | (IBV_QPS_INIT, IBV_QPS_RTR)
            | (IBV_QPS_RTR | IBV_QPS_RTS, IBV_QPS_RTS) => {}
            _ => return Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
        self.ibv.state = state;
        Ok(())
    }
}
