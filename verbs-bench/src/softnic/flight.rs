//! What a QP has on the link: posted, not yet delivered; delivered, not yet completed.

use rdma_sys::ibv_wc_status::{IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR};

use super::{link::Passage, write::Write};

/// The in-flight ring of a QP, one slot per work request its send queue holds. It is emptied in order only, so a message
/// is never seen, or completed, before one that was posted earlier, whatever their own times.
pub(super) struct Flight {
    slots: Box<[Slot]>,
    /// Inline payloads, `inline_stride` bytes a slot: their source may change as soon as the post returns.
    inline: Box<[u8]>,
    inline_stride: usize,
    /// Work requests entered, delivered, and completed, since the beginning.
    entered: u64,
    delivered: u64,
    completed: u64,
    /// Added to the way of every message, since the sender is far from the NIC.
    pub(super) penalty: u64,
    /// A work request will fail: all after it are flushed.
    failed: bool,
}

#[derive(Clone, Copy)]
struct Slot {
    write: Write,
    wr_id: u64,
    deliver_at: u64,
    complete_at: u64,
    signaled: bool,
    lost: bool,
}

/// A completion that has become due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Completed {
    pub(super) wr_id: u64,
    pub(super) status: u32,
    pub(super) byte_len: u32,
    /// Work requests entered up to and including this one.
    pub(super) number: u64,
}

impl Flight {
    pub(super) fn new(max_send_wr: u32, max_inline_bytes: u32) -> Flight {
        let nothing =
            Write { source: std::ptr::null(), target: std::ptr::null_mut(), len: 0, status: IBV_WC_SUCCESS };
        let empty =
            Slot { write: nothing, wr_id: 0, deliver_at: 0, complete_at: 0, signaled: false, lost: false };
        let slots = vec![empty; (max_send_wr as usize).next_power_of_two()].into_boxed_slice();
        let inline_stride = max_inline_bytes as usize;
        Flight {
            inline: vec![0; slots.len() * inline_stride].into_boxed_slice(),
            inline_stride,
            slots,
            entered: 0,
            delivered: 0,
            completed: 0,
            penalty: 0,
            failed: false,
        }
    }

    #[inline(always)]
    fn index(&self, count: u64) -> usize {
        count as usize & (self.slots.len() - 1)
    }

    /// How a write that was accepted will go, given those before it.
    #[inline]
    pub(super) fn fate(&self, write: &Write) -> u32 {
        if self.failed { IBV_WC_WR_FLUSH_ERR } else { write.status }
    }

    /// Keeps an inline payload until it is delivered. Call it before `enter`.
    ///
    /// # Safety
    /// `write.source` is readable for `write.len` bytes, which are within the inline limit.
    #[inline]
    pub(super) unsafe fn keep_inline(&mut self, write: &mut Write) {
        let from = self.index(self.entered) * self.inline_stride;
        let kept = &mut self.inline[from..from + write.len as usize];
        // SAFETY: readable (caller), and a private copy can't overlap it.
        unsafe { std::ptr::copy_nonoverlapping(write.source, kept.as_mut_ptr(), kept.len()) };
        write.source = kept.as_ptr();
    }

    /// Takes a work request into the ring; the caller has made sure that a slot is free.
    #[inline]
    pub(super) fn enter(&mut self, mut write: Write, wr_id: u64, signaled: bool, passage: Passage) {
        let deliver_at = passage.deliver_at + self.penalty;
        let complete_at = deliver_at + passage.ack_latency;
        write.status = passage.status;
        self.failed |= passage.status != IBV_WC_SUCCESS;
        let at = self.index(self.entered);
        self.slots[at] = Slot { write, wr_id, deliver_at, complete_at, signaled, lost: passage.lost };
        self.entered += 1;
    }

    /// Delivers every message that is due at `now`.
    ///
    /// # Safety
    /// Sources and targets of the writes in flight are still mapped.
    #[inline]
    pub(super) unsafe fn deliver(&mut self, now: u64) {
        while self.delivered < self.entered {
            let slot = &self.slots[self.index(self.delivered)];
            if slot.deliver_at > now {
                break;
            }
            if slot.write.status == IBV_WC_SUCCESS {
                // SAFETY: accepted with success, and still mapped (caller).
                unsafe { slot.write.store() };
            }
            self.delivered += 1;
        }
    }

    /// The next completion that is due at `now` and is to be seen: of a signaled work request, or of a failed one.
    #[inline]
    pub(super) fn next_completed(&mut self, now: u64) -> Option<Completed> {
        while self.completed < self.delivered {
            let slot = &self.slots[self.index(self.completed)];
            if slot.complete_at > now {
                break;
            }
            self.completed += 1;
            if !slot.lost && (slot.signaled || slot.write.status != IBV_WC_SUCCESS) {
                let Slot { write, wr_id, .. } = *slot;
                return Some(Completed {
                    wr_id,
                    status: write.status,
                    byte_len: write.len,
                    number: self.completed,
                });
            }
        }
        None
    }

    /// The QP went to error: whatever has not completed is flushed, now.
    pub(super) fn flush(&mut self) {
        for at in self.completed..self.entered {
            let index = self.index(at);
            let slot = &mut self.slots[index];
            if slot.write.status == IBV_WC_SUCCESS {
                slot.write.status = IBV_WC_WR_FLUSH_ERR;
            }
            (slot.deliver_at, slot.complete_at) = (0, 0);
        }
        self.failed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_early_waits_for_the_one_before_it() {
        let nothing =
            Write { source: std::ptr::null(), target: std::ptr::null_mut(), len: 0, status: IBV_WC_SUCCESS };
        let mut flight = Flight::new(4, 0);
        for (wr_id, deliver_at) in [(1, 900), (2, 500)] {
            let passage = Passage { deliver_at, ack_latency: 100, status: IBV_WC_SUCCESS, lost: false };
            flight.enter(nothing, wr_id, true, passage);
        }
        let mut completed_at = |now| {
            // SAFETY: writes of no bytes touch no memory.
            unsafe { flight.deliver(now) };
            std::iter::from_fn(|| flight.next_completed(now)).map(|done| done.wr_id).collect::<Vec<_>>()
        };
        assert!(completed_at(600).is_empty() && completed_at(999).is_empty());
        assert_eq!(completed_at(1_000), [1, 2]);
    }
}
