//! What refuses a work request as it is posted, and what will fail it.

use std::{ffi::c_int, ptr};

use rdma_sys::{ibv_qp_state, ibv_send_flags, ibv_send_wr, ibv_wc_status::*, ibv_wr_opcode::*, rdma_t};
use schema::Transport;

use super::{
    qp::SoftQp,
    work::{ATOMIC_BYTES, Transfer, Verb, Work},
};

pub(super) const INLINE: u32 = ibv_send_flags::IBV_SEND_INLINE.0;
const SIGNALED: u32 = ibv_send_flags::IBV_SEND_SIGNALED.0;

#[inline(always)]
pub(super) fn is_inline(wr: &ibv_send_wr) -> bool {
    wr.send_flags & INLINE != 0
}

#[inline(always)]
pub(super) fn is_signaled(wr: &ibv_send_wr) -> bool {
    wr.send_flags & SIGNALED != 0
}

/// Accepts what a work request moves, to or from the peer's memory if it names some, or refuses it with the errno
/// `ibv_post_send` returns.
///
/// # Safety
/// `wr.sg_list` points to `wr.num_sge` SGEs; the QP's PD is live.
#[inline(always)]
pub(super) unsafe fn transfer(
    qp: &SoftQp,
    wr: &ibv_send_wr,
    peer: Option<rdma_t>,
) -> Result<Transfer, c_int> {
    let (addr, len, lkey) = match wr.num_sge {
        1 => {
            // SAFETY: one SGE is there (caller).
            let sge = unsafe { &*wr.sg_list };
            (sge.addr, sge.length, sge.lkey)
        }
        0 => (0, 0, 0),
        _ => return Err(libc::EINVAL),
    };
    let inline = is_inline(wr);
    if inline && len > qp.max_inline_bytes {
        return Err(libc::EINVAL);
    }
    let reached = |peer: rdma_t| qp.reach.memory.covers(peer.rkey, peer.remote_addr, len);
    let status = match qp.state() {
        ibv_qp_state::IBV_QPS_RTS if len == 0 => IBV_WC_SUCCESS,
        // SAFETY: the PD is live (caller).
        ibv_qp_state::IBV_QPS_RTS if !inline && !unsafe { &(*qp.pd).regions }.covers(lkey, addr, len) => {
            IBV_WC_LOC_PROT_ERR
        }
        ibv_qp_state::IBV_QPS_RTS if !peer.is_none_or(reached) => IBV_WC_REM_ACCESS_ERR,
        ibv_qp_state::IBV_QPS_RTS => IBV_WC_SUCCESS,
        ibv_qp_state::IBV_QPS_ERR => IBV_WC_WR_FLUSH_ERR,
        _ => return Err(libc::EINVAL),
    };
    let remote = peer.map_or(ptr::null_mut(), |peer| qp.reach.memory.here(peer.remote_addr));
    Ok(Transfer { local: addr as *mut u8, remote, len, status })
}

/// Accepts a work request of any kind, or refuses it with the errno `ibv_post_send` returns.
///
/// # Safety
/// As `transfer`, and the union's member is that of the opcode.
#[inline]
pub(super) unsafe fn work(qp: &SoftQp, wr: &ibv_send_wr) -> Result<Work, c_int> {
    // SAFETY: immediate data and a key to invalidate are both 32 plain bits.
    let imm = unsafe { wr.imm_data_invalidated_rkey_union.imm_data };
    let (verb, peer) = match wr.opcode {
        // SAFETY: the member of a write and of a read.
        IBV_WR_RDMA_WRITE => (Verb::Write, Some(unsafe { wr.wr.rdma })),
        // SAFETY: as above.
        IBV_WR_RDMA_WRITE_WITH_IMM => (Verb::WriteImm { imm }, Some(unsafe { wr.wr.rdma })),
        // SAFETY: as above.
        IBV_WR_RDMA_READ => (Verb::Read, Some(unsafe { wr.wr.rdma })),
        IBV_WR_SEND | IBV_WR_SEND_WITH_IMM => {
            let imm = (wr.opcode == IBV_WR_SEND_WITH_IMM).then_some(imm);
            let to = match qp.reach.transport {
                // SAFETY: the member of a send on a datagram QP.
                Transport::Ud => Some(unsafe { wr.wr.ud }).map(|ud| (ud.ah, ud.remote_qpn, ud.remote_qkey)),
                Transport::Rc | Transport::Uc => None,
            };
            if to.is_some_and(|(ah, ..)| ah.is_null()) {
                return Err(libc::EINVAL);
            }
            (Verb::Send { imm, to: to.map(|(_, qp_num, qkey)| (qp_num, qkey)) }, None)
        }
        IBV_WR_ATOMIC_FETCH_AND_ADD | IBV_WR_ATOMIC_CMP_AND_SWP => {
            // SAFETY: the member of an atomic.
            let atomic = unsafe { wr.wr.atomic };
            let verb = match wr.opcode {
                IBV_WR_ATOMIC_FETCH_AND_ADD => Verb::FetchAdd { add: atomic.compare_add },
                _ => Verb::CompareSwap { compare: atomic.compare_add, swap: atomic.swap },
            };
            (verb, Some(rdma_t { remote_addr: atomic.remote_addr, rkey: atomic.rkey }))
        }
        _ => return Err(libc::EINVAL),
    };
    let carried = match qp.reach.transport {
        Transport::Rc => true,
        Transport::Uc => matches!(verb, Verb::Write | Verb::WriteImm { .. } | Verb::Send { .. }),
        Transport::Ud => matches!(verb, Verb::Send { .. }),
    };
    let is_atomic = matches!(verb, Verb::FetchAdd { .. } | Verb::CompareSwap { .. });
    if !carried || is_inline(wr) && (is_atomic || verb == Verb::Read) {
        return Err(libc::EINVAL);
    }
    // SAFETY: as the caller's.
    let mut transfer = unsafe { transfer(qp, wr, peer) }?;
    if is_atomic {
        if transfer.len != ATOMIC_BYTES {
            return Err(libc::EINVAL);
        }
        if transfer.status == IBV_WC_SUCCESS && !transfer.remote.cast::<u64>().is_aligned() {
            transfer.status = IBV_WC_REM_INV_REQ_ERR;
        }
    }
    Ok(Work { transfer, verb })
}
