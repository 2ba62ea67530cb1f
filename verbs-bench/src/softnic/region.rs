//! The protection domain and its registered regions, looked up by key on the data path without a lock.

use std::{
    io,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering::*},
    },
};

use rdma_sys::ibv_pd;

/// Most regions of a PD; a power of two, so that a key's index is masked and never out of range.
const SLOTS: usize = 4096;
/// The low bits of a key tell a region from the one that had the slot before.
const GENERATION_BITS: u32 = 8;

/// A protection domain. Its first field is what verbs sees.
#[repr(C)]
pub(super) struct SoftPd {
    pub(super) ibv: ibv_pd,
    pub(super) regions: Regions,
    /// QPs and address handles that stand on it.
    pub(super) children: AtomicU32,
}

/// The registered address ranges of a PD.
pub(super) struct Regions {
    slots: Box<[Slot]>,
    /// Serialises registration; its value is the number of live regions.
    live: Mutex<usize>,
}

/// Key 0 is a free slot; a live key's generation is never 0.
#[derive(Default)]
struct Slot {
    key: AtomicU32,
    generation: AtomicU32,
    start: AtomicU64,
    end: AtomicU64,
}

impl Regions {
    pub(super) fn new() -> Regions {
        Regions { slots: (0..SLOTS).map(|_| Slot::default()).collect(), live: Mutex::new(0) }
    }

    /// Registers a range and returns its key.
    pub(super) fn insert(&self, start: u64, len: u64) -> io::Result<u32> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.slots.iter().enumerate().find(|(_, slot)| slot.key.load(Relaxed) == 0);
        let (index, slot) = free.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        let generation = slot.generation.load(Relaxed) % 255 + 1;
        let key = (index as u32) << GENERATION_BITS | generation;
        slot.generation.store(generation, Relaxed);
        slot.start.store(start, Relaxed);
        slot.end.store(start + len, Relaxed);
        slot.key.store(key, Release);
        *live += 1;
        Ok(key)
    }

    /// Forgets a key; work requests that still use it fail.
    pub(super) fn remove(&self, key: u32) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if self.slot(key).key.compare_exchange(key, 0, Release, Relaxed).is_ok() {
            *live -= 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) == 0
    }

    #[inline(always)]
    fn slot(&self, key: u32) -> &Slot {
        &self.slots[(key >> GENERATION_BITS) as usize & (SLOTS - 1)]
    }

    /// Whether all of the range lies in the region of this key.
    #[inline(always)]
    pub(super) fn covers(&self, key: u32, addr: u64, len: u32) -> bool {
        let slot = self.slot(key);
        slot.key.load(Acquire) == key
            && key != 0
            && within(addr, len, slot.start.load(Relaxed), slot.end.load(Relaxed))
    }
}

/// Whether `len` bytes at `addr` lie between `start` and `end`.
#[inline(always)]
pub(super) fn within(addr: u64, len: u32, start: u64, end: u64) -> bool {
    addr >= start && addr <= end && u64::from(len) <= end - addr
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_covers_its_range_and_nothing_beside() {
        let regions = Regions::new();
        let key = regions.insert(1_000, 100).unwrap();
        let other = regions.insert(5_000, 100).unwrap();
        assert!(
            regions.covers(key, 1_000, 100) && regions.covers(key, 1_099, 1) && regions.covers(key, 1_100, 0)
        );
        assert!(
            !regions.covers(key, 999, 2)
                && !regions.covers(key, 1_099, 2)
                && !regions.covers(key, u64::MAX, 2)
        );
        assert!(
            !regions.covers(other, 1_000, 1) && !regions.covers(0, 1_000, 1) && !regions.covers(!0, 1_000, 1)
        );
    }

    #[test]
    fn a_stale_key_stays_dead_when_its_slot_lives_again() {
        let regions = Regions::new();
        let old = regions.insert(1_000, 100).unwrap();
        regions.remove(old);
        assert!(regions.is_empty());
        let new = regions.insert(1_000, 100).unwrap();
        assert_ne!(old, new);
        regions.remove(old);
        assert!(!regions.is_empty() && regions.covers(new, 1_000, 1) && !regions.covers(old, 1_000, 1));
    }

    #[test]
    fn a_full_domain_says_so() {
        let regions = Regions::new();
        for _ in 0..SLOTS {
            regions.insert(0, 1).unwrap();
        }
        assert_eq!(regions.insert(0, 1).unwrap_err().raw_os_error(), Some(libc::ENOMEM));
    }

    proptest! {
        #[test]
        fn within_agrees_with_wide_arithmetic(addr: u64, len: u32, start: u64, size in 0u64..1 << 40) {
            let end = start.saturating_add(size);
            let wide = u128::from(addr) >= u128::from(start) && u128::from(addr) + u128::from(len) <= u128::from(end);
            prop_assert_eq!(within(addr, len, start, end), wide);
        }
    }
}
