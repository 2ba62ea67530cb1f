//! A work request that was accepted, and how it is carried out on the peer's memory.

use std::{
    ptr,
    sync::atomic::{AtomicU8, AtomicU64, Ordering},
};

use rdma_sys::{ibv_wc_opcode::*, ibv_wc_status::IBV_WC_SUCCESS};

use super::reach::{Carried, Message, Reach};

/// Bytes of the counter an atomic works on.
pub(super) const ATOMIC_BYTES: u32 = 8;

/// What moves between which memory, and how it will complete.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    /// Our end: the source, or where what is fetched lands.
    pub(super) local: *mut u8,
    /// The peer's end, mapped here; nothing for a message that goes to a receive.
    pub(super) remote: *mut u8,
    pub(super) len: u32,
    /// `enum ibv_wc_status`; anything but success moves nothing.
    pub(super) status: u32,
}

/// What is to be done. Immediate data is in network byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Write,
    WriteImm { imm: u32 },
    Read,
    Send { imm: Option<u32>, to: Option<(u32, u32)> },
    FetchAdd { add: u64 },
    CompareSwap { compare: u64, swap: u64 },
}

/// An accepted work request.
#[derive(Clone, Copy)]
pub(super) struct Work {
    pub(super) transfer: Transfer,
    pub(super) verb: Verb,
}

impl Transfer {
    /// Nothing from nowhere.
    pub(super) const NONE: Transfer =
        Transfer { local: ptr::null_mut(), remote: ptr::null_mut(), len: 0, status: IBV_WC_SUCCESS };

    /// Stores the payload so that whoever sees its last byte sees all of it.
    ///
    /// # Safety
    /// It was accepted with success, and its source and target are still mapped.
    #[inline(always)]
    pub(super) unsafe fn store(&self) {
        let Some(before_last) = (self.len as usize).checked_sub(1) else { return };
        // SAFETY: both ranges lie inside registered, mapped memory; they are different mappings, so they never overlap as
        // addresses. The last byte is an aligned u8 that both processes only access as an atomic or after it changed.
        unsafe {
            ptr::copy_nonoverlapping(self.local, self.remote, before_last);
            let last = self.local.add(before_last).read();
            AtomicU8::from_ptr(self.remote.add(before_last)).store(last, Ordering::Release);
        }
    }
}

impl Work {
    /// `enum ibv_wc_opcode` of its completion.
    #[inline]
    pub(super) fn wc_opcode(&self) -> u32 {
        match self.verb {
            Verb::Write | Verb::WriteImm { .. } => IBV_WC_RDMA_WRITE,
            Verb::Read => IBV_WC_RDMA_READ,
            Verb::Send { .. } => IBV_WC_SEND,
            Verb::FetchAdd { .. } => IBV_WC_FETCH_ADD,
            Verb::CompareSwap { .. } => IBV_WC_COMP_SWAP,
        }
    }

    /// Does it; what arrives in a receive carries the time `at`.
    ///
    /// # Safety
    /// It was accepted with success, and its memory on both ends is still mapped.
    #[inline]
    pub(super) unsafe fn carry_out(&self, reach: &mut Reach, at: u64) -> Carried {
        let Transfer { local, remote, len, .. } = self.transfer;
        match self.verb {
            Verb::Write => {
                // SAFETY: as the caller's.
                unsafe { self.transfer.store() };
                Carried::Done
            }
            // SAFETY: as the caller's.
            Verb::WriteImm { imm } => reach.announce(at, len, imm, || unsafe { self.transfer.store() }),
            // SAFETY: as the caller's.
            Verb::Send { imm, to } => unsafe { reach.send(at, &Message { source: local, len, imm, to }) },
            Verb::Read => {
                // SAFETY: as for a store, in the other direction.
                unsafe { ptr::copy_nonoverlapping(remote, local, len as usize) };
                Carried::Done
            }
            Verb::FetchAdd { add } => {
                // SAFETY: as the caller's; accepting it checked the alignment.
                let counter = unsafe { AtomicU64::from_ptr(remote.cast()) };
                let found = counter.fetch_add(add, Ordering::AcqRel);
                // SAFETY: eight bytes of a registered region that nobody looks at before this completes.
                unsafe { local.cast::<u64>().write_unaligned(found) };
                Carried::Done
            }
            Verb::CompareSwap { compare, swap } => {
                // SAFETY: as above.
                let counter = unsafe { AtomicU64::from_ptr(remote.cast()) };
                let (Ok(found) | Err(found)) =
                    counter.compare_exchange(compare, swap, Ordering::AcqRel, Ordering::Acquire);
                // SAFETY: as above.
                unsafe { local.cast::<u64>().write_unaligned(found) };
                Carried::Done
            }
        }
    }
}
