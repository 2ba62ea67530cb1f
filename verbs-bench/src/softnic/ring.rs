//! The receive queue of a QP as it lies in shared memory, for both ends of it.
//!
//! Receives are consumed in order, one a message, so one ring serves both ways: the owner fills the first half of a slot and
//! publishes `posted`; the sender's NIC reads it, moves the message, fills the second half and publishes `arrived`. Each
//! count has one writer and a cache line of its own, so nothing is locked.

use std::{
    mem::size_of,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::*},
};

use memmap2::MmapRaw;

/// Aligned so that two processes do not write to one line.
#[repr(C, align(64))]
struct Line<T>(T);

#[repr(C)]
struct Head {
    /// Receives posted since the beginning. The owner writes it.
    posted: Line<AtomicU64>,
    /// Messages that consumed one. The sender writes it.
    arrived: Line<AtomicU64>,
    /// Queue key of the owner's QP; datagrams must carry it.
    qkey: Line<AtomicU32>,
}

/// A posted receive.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Receive {
    pub(super) wr_id: u64,
    /// Where the message goes, as the owner counts.
    pub(super) addr: u64,
    pub(super) len: u32,
    /// 1 if the range lies in the region of its key.
    pub(super) covered: u32,
}

/// What became of a receive.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Time of arrival on the clock of the model.
    pub(super) at: u64,
    /// `enum ibv_wc_status` and `enum ibv_wc_opcode`.
    pub(super) status: u32,
    pub(super) opcode: u32,
    pub(super) byte_len: u32,
    /// Immediate data in network byte order, if `wc_flags` says so.
    pub(super) imm: u32,
    pub(super) wc_flags: u32,
    pub(super) src_qp: u32,
}

#[repr(C, align(64))]
struct Slot {
    receive: Receive,
    arrival: Arrival,
}

/// One end's mapping of a receive queue.
pub(super) struct Ring {
    map: MmapRaw,
    slots: u64,
}

// SAFETY: the mapping is owned; what lies in it is shared by its protocol alone.
unsafe impl Send for Ring {}

impl Ring {
    /// Bytes of a ring for this many receives; `None` if there can't be so many.
    pub(super) fn bytes(entries: u32) -> Option<u64> {
        let slots = u64::from(entries.checked_next_power_of_two()?);
        Some(size_of::<Head>() as u64 + slots * size_of::<Slot>() as u64)
    }

    /// The ring for `entries` in `map`, which must be as long as `bytes` says; zeroed memory is an empty ring.
    pub(super) fn new(map: MmapRaw, entries: u32) -> Option<Ring> {
        let fits = Ring::bytes(entries)? <= map.len() as u64;
        fits.then(|| Ring { map, slots: entries.next_power_of_two().into() })
    }

    fn head(&self) -> &Head {
        // SAFETY: the mapping begins on a page, is longer than a Head (`new`), lives as long as self, and every byte pattern
        // is a valid Head, whose fields are atomics.
        unsafe { &*self.map.as_mut_ptr().cast::<Head>() }
    }

    #[inline(always)]
    fn slot(&self, count: u64) -> *mut Slot {
        let at = count & (self.slots - 1);
        // SAFETY: `slots` of them follow the head inside the mapping (`new`), and `at` is less.
        unsafe { self.map.as_mut_ptr().add(size_of::<Head>()).cast::<Slot>().add(at as usize) }
    }

    pub(super) fn qkey(&self) -> u32 {
        self.head().qkey.0.load(Relaxed)
    }

    pub(super) fn set_qkey(&self, qkey: u32) {
        self.head().qkey.0.store(qkey, Relaxed);
    }

    /// Receives the owner has posted.
    #[inline(always)]
    pub(super) fn posted(&self) -> u64 {
        self.head().posted.0.load(Acquire)
    }

    /// Receives the sender has consumed.
    #[inline(always)]
    pub(super) fn arrived(&self) -> u64 {
        self.head().arrived.0.load(Acquire)
    }

    /// Posts the receive of this count; all before it are posted. The owner calls it.
    #[inline(always)]
    pub(super) fn post(&self, count: u64, receive: Receive) {
        // SAFETY: inside the mapping; the owner writes only slots whose last use both ends are done with, so the sender, who
        // reads up to `posted` only, does not look at this one yet.
        unsafe { (&raw mut (*self.slot(count)).receive).write(receive) };
        self.head().posted.0.store(count + 1, Release);
    }

    /// The receive of this count, which is posted and not consumed.
    #[inline(always)]
    pub(super) fn receive(&self, count: u64) -> Receive {
        // SAFETY: inside the mapping, and written before `posted` passed it; any byte pattern is a valid Receive.
        unsafe { (&raw const (*self.slot(count)).receive).read() }
    }

    /// Consumes the receive of this count; all before it are consumed. The sender calls it.
    #[inline(always)]
    pub(super) fn arrive(&self, count: u64, arrival: Arrival) {
        // SAFETY: inside the mapping; the owner reads up to `arrived` only, so it does not look at this one yet.
        unsafe { (&raw mut (*self.slot(count)).arrival).write(arrival) };
        self.head().arrived.0.store(count + 1, Release);
    }

    /// What became of the receive of this count, which is consumed.
    #[inline(always)]
    pub(super) fn arrival(&self, count: u64) -> Arrival {
        // SAFETY: inside the mapping, and written before `arrived` passed it; any byte pattern is a valid Arrival.
        unsafe { (&raw const (*self.slot(count)).arrival).read() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::softnic::arena::Arena;

    proptest! {
        /// Whatever the sizes and however both ends interleave: every receive is seen once, in order, and nothing else is.
        #[test]
        fn each_receive_crosses_once_and_in_order(
            entries in 1u32..70, steps in proptest::collection::vec((0u8..3, 1u64..80), 1..120),
        ) {
            let (_lease, map) = Arena::new().unwrap().lease(Ring::bytes(entries).unwrap()).unwrap();
            let ring = Ring::new(map, entries).unwrap();
            let (mut posted, mut arrived, mut taken) = (0u64, 0u64, 0u64);
            for (end, times) in steps {
                for _ in 0..times {
                    match end {
                        0 if posted - taken < u64::from(entries) => {
                            let receive = Receive { wr_id: posted * 3, addr: posted, len: 7, covered: 1 };
                            ring.post(posted, receive);
                            posted += 1;
                        }
                        1 if arrived < ring.posted() => {
                            let Receive { wr_id, addr, len, covered } = ring.receive(arrived);
                            prop_assert_eq!((wr_id, addr, len, covered), (arrived * 3, arrived, 7, 1));
                            let arrival =
                                Arrival { at: arrived, status: 0, opcode: 1, byte_len: 2, imm: 3, wc_flags: 4, src_qp: 5 };
                            ring.arrive(arrived, arrival);
                            arrived += 1;
                        }
                        2 if taken < ring.arrived() => {
                            prop_assert_eq!((ring.arrival(taken).at, ring.receive(taken).wr_id), (taken, taken * 3));
                            taken += 1;
                        }
                        _ => {}
                    }
                    prop_assert_eq!((ring.posted(), ring.arrived()), (posted, arrived));
                }
            }
        }
    }

    #[test]
    fn a_ring_needs_the_memory_of_its_size() {
        let map = |bytes| Arena::new().unwrap().lease(bytes).unwrap().1;
        assert!(Ring::new(map(Ring::bytes(1000).unwrap()), 1024).is_some());
        assert!(Ring::new(map(4096), 1024).is_none());
        assert_eq!(Ring::bytes(u32::MAX), None);
    }
}
