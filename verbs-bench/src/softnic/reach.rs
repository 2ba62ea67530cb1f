//! What a QP reaches of its peer: the registered memory, and the receive queue that messages consume.

use std::{ptr, sync::Arc};

use memmap2::MmapRaw;
use rdma_sys::{ibv_wc_flags, ibv_wc_opcode::*, ibv_wc_status::*};
use schema::Transport;

use super::{
    region::within,
    ring::{Arrival, Receive, Ring},
};

/// Bytes before a datagram in its receive, where hardware puts the GRH.
const GRH_BYTES: u32 = 40;
const WITH_GRH: u32 = ibv_wc_flags::IBV_WC_GRH.0;
const WITH_IMM: u32 = ibv_wc_flags::IBV_WC_WITH_IMM.0;
/// A queue key with this bit set means the sender's own.
const CONTROLLED_QKEY: u32 = 1 << 31;

/// The far end of a QP.
pub(super) struct Reach {
    pub(super) memory: Remote,
    receives: Option<PeerReceives>,
    pub(super) transport: Transport,
    qp_num: u32,
    pub(super) qkey: u32,
}

/// The peer's registered memory.
pub(super) struct Remote {
    /// Where it is mapped here.
    map: *mut u8,
    /// Its first address as work requests count.
    start: u64,
    end: u64,
    rkey: u32,
    /// What `map` points into.
    _mapping: Option<Arc<MmapRaw>>,
}

/// The peer's receive queue; this end consumes.
pub(super) struct PeerReceives {
    ring: Ring,
    qp_num: u32,
    arrived: u64,
    /// `posted` as last seen, so that its cache line is asked for only when that is used up.
    posted: u64,
}

/// A message that consumes a receive.
#[derive(Clone, Copy)]
pub(super) struct Message {
    pub(super) source: *const u8,
    pub(super) len: u32,
    /// Immediate data in network byte order.
    pub(super) imm: Option<u32>,
    /// QP number and queue key of a datagram's receiver.
    pub(super) to: Option<(u32, u32)>,
}

/// How carrying out a work request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    /// Done; also a message that an unreliable transport lost, since its sender never learns.
    Done,
    /// No receive is posted, and the transport waits for one.
    Waits,
    /// Failed with this `enum ibv_wc_status`.
    Failed(u32),
}

impl Remote {
    /// `len` bytes from `start` on, which `mapping` begins with.
    pub(super) fn new(mapping: Arc<MmapRaw>, start: u64, len: u64, rkey: u32) -> Remote {
        let (map, len) = (mapping.as_mut_ptr(), len.min(mapping.len() as u64));
        Remote { map, start, end: start.saturating_add(len), rkey, _mapping: Some(mapping) }
    }

    #[inline(always)]
    pub(super) fn covers(&self, rkey: u32, addr: u64, len: u32) -> bool {
        rkey == self.rkey && within(addr, len, self.start, self.end)
    }

    /// Where this address of the peer is mapped here; meaningful if it is covered.
    #[inline(always)]
    pub(super) fn here(&self, addr: u64) -> *mut u8 {
        self.map.wrapping_add(addr.wrapping_sub(self.start) as usize)
    }
}

impl PeerReceives {
    pub(super) fn new(ring: Ring, qp_num: u32) -> PeerReceives {
        let arrived = ring.arrived();
        PeerReceives { ring, qp_num, arrived, posted: arrived }
    }

    #[inline]
    fn next(&mut self) -> Option<Receive> {
        if self.arrived == self.posted {
            self.posted = self.ring.posted();
            if self.arrived == self.posted {
                return None;
            }
        }
        Some(self.ring.receive(self.arrived))
    }

    #[inline]
    fn consume(&mut self, arrival: Arrival) {
        self.ring.arrive(self.arrived, arrival);
        self.arrived += 1;
    }
}

impl Reach {
    /// Nothing is reachable.
    pub(super) fn nothing(transport: Transport, qp_num: u32) -> Reach {
        let memory = Remote { map: ptr::null_mut(), start: 0, end: 0, rkey: 0, _mapping: None };
        Reach { memory, receives: None, transport, qp_num, qkey: 0 }
    }

    pub(super) fn attach(&mut self, memory: Remote, receives: Option<PeerReceives>) {
        (self.memory, self.receives) = (memory, receives);
    }

    /// Whether messages are acknowledged, so that they are never lost in silence.
    #[inline(always)]
    pub(super) fn is_reliable(&self) -> bool {
        self.transport == Transport::Rc
    }

    /// What the sender of a message learns that its receiver could not take.
    fn refused(&self, status: u32) -> Carried {
        if self.is_reliable() { Carried::Failed(status) } else { Carried::Done }
    }

    /// The receive that the next message consumes; or what becomes of a message that finds none.
    #[inline]
    fn next_receive(&mut self) -> Result<Receive, Carried> {
        // A QP that has no receive queue at all would let its peer wait for ever.
        let Some(receives) = &mut self.receives else { return Err(self.refused(IBV_WC_REM_INV_REQ_ERR)) };
        let none = if self.transport == Transport::Rc { Carried::Waits } else { Carried::Done };
        receives.next().ok_or(none)
    }

    #[inline]
    fn consume(&mut self, arrival: Arrival) {
        if let Some(receives) = &mut self.receives {
            receives.consume(arrival);
        }
    }

    /// A write with immediate data: stores it with `store` and consumes a receive, whose own memory stays as it is.
    #[inline]
    pub(super) fn announce(&mut self, at: u64, byte_len: u32, imm: u32, store: impl FnOnce()) -> Carried {
        if let Err(carried) = self.next_receive() {
            return carried;
        }
        store();
        self.consume(Arrival {
            at,
            status: IBV_WC_SUCCESS,
            opcode: IBV_WC_RECV_RDMA_WITH_IMM,
            byte_len,
            imm,
            wc_flags: WITH_IMM,
            src_qp: self.qp_num,
        });
        Carried::Done
    }

    /// Moves a message into the memory of the next receive.
    ///
    /// # Safety
    /// The source is readable for the message's length.
    #[inline]
    pub(super) unsafe fn send(&mut self, at: u64, message: &Message) -> Carried {
        if message.to.is_some_and(|to| !self.is_addressed(to)) {
            return Carried::Done;
        }
        let receive = match self.next_receive() {
            Ok(receive) => receive,
            Err(carried) => return carried,
        };
        let headroom = if message.to.is_some() { GRH_BYTES } else { 0 };
        let byte_len = message.len.saturating_add(headroom);
        let (status, refusal) = if byte_len > receive.len {
            (IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR)
        } else if byte_len > 0
            && (receive.covered != 1 || !within(receive.addr, byte_len, self.memory.start, self.memory.end))
        {
            (IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR)
        } else {
            let target = self.memory.here(receive.addr);
            // SAFETY: both ranges are inside registered, mapped memory, as checked just now and by the caller; they are
            // different mappings, so they never overlap as addresses. The owner looks at it after `arrived` passed it.
            unsafe {
                ptr::write_bytes(target, 0, headroom as usize);
                ptr::copy_nonoverlapping(
                    message.source,
                    target.wrapping_add(headroom as usize),
                    message.len as usize,
                );
            }
            (IBV_WC_SUCCESS, IBV_WC_SUCCESS)
        };
        let grh = if message.to.is_some() { WITH_GRH } else { 0 };
        self.consume(Arrival {
            at,
            status,
            opcode: IBV_WC_RECV,
            byte_len,
            imm: message.imm.unwrap_or(0),
            wc_flags: grh | if message.imm.is_some() { WITH_IMM } else { 0 },
            src_qp: self.qp_num,
        });
        if status == IBV_WC_SUCCESS { Carried::Done } else { self.refused(refusal) }
    }

    /// Whether a datagram to this QP number and queue key is for the peer.
    fn is_addressed(&self, (qp_num, qkey): (u32, u32)) -> bool {
        let qkey = if qkey & CONTROLLED_QKEY == 0 { qkey } else { self.qkey };
        self.receives.as_ref().is_some_and(|peer| peer.qp_num == qp_num && peer.ring.qkey() == qkey)
    }
}
