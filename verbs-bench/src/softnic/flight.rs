//! What a QP has on the link: posted, not yet delivered; delivered, not yet completed.

use rdma_sys::ibv_wc_status::{IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR};

use super::{
    link::Passage,
    reach::{Carried, Reach},
    stall::LinkTime,
    work::{Transfer, Verb, Work},
};

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
    /// When the last one was delivered.
    delivered_at: u64,
    /// Added to the way of every message, since the sender is far from the NIC.
    pub(super) penalty: u64,
    /// A work request will fail: all after it are flushed.
    failed: bool,
}

#[derive(Clone, Copy)]
struct Slot {
    work: Work,
    wr_id: u64,
    deliver_at: u64,
    /// From its delivery to its completion.
    ack_latency: u64,
    signaled: bool,
    lost: bool,
    /// It was due and met no posted receive.
    waited: bool,
}

/// A completion that has become due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Completed {
    pub(super) wr_id: u64,
    pub(super) status: u32,
    pub(super) opcode: u32,
    pub(super) byte_len: u32,
    /// Work requests entered up to and including this one.
    pub(super) number: u64,
    /// When it became due.
    pub(super) at: u64,
}

impl Flight {
    pub(super) fn new(max_send_wr: u32, max_inline_bytes: u32) -> Flight {
        let empty = Slot {
            work: Work { transfer: Transfer::NONE, verb: Verb::Write },
            wr_id: 0,
            deliver_at: 0,
            ack_latency: 0,
            signaled: false,
            lost: false,
            waited: false,
        };
        let slots = vec![empty; (max_send_wr as usize).next_power_of_two()].into_boxed_slice();
        let inline_stride = max_inline_bytes as usize;
        Flight {
            inline: vec![0; slots.len() * inline_stride].into_boxed_slice(),
            inline_stride,
            slots,
            entered: 0,
            delivered: 0,
            completed: 0,
            delivered_at: 0,
            penalty: 0,
            failed: false,
        }
    }

    #[inline(always)]
    fn index(&self, count: u64) -> usize {
        count as usize & (self.slots.len() - 1)
    }

    /// Whether everything that entered has completed.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.completed == self.entered
    }

    /// How a work request that was accepted will go, given those before it.
    #[inline]
    pub(super) fn fate(&self, work: &Work) -> u32 {
        if self.failed { IBV_WC_WR_FLUSH_ERR } else { work.transfer.status }
    }

    /// Keeps an inline payload until it is delivered. Call it before `enter`.
    ///
    /// # Safety
    /// The transfer's local end is readable for its length, which is within the inline limit.
    #[inline]
    pub(super) unsafe fn keep_inline(&mut self, transfer: &mut Transfer) {
        let from = self.index(self.entered) * self.inline_stride;
        let kept = &mut self.inline[from..from + transfer.len as usize];
        // SAFETY: readable (caller), and a private copy can't overlap it.
        unsafe { std::ptr::copy_nonoverlapping(transfer.local, kept.as_mut_ptr(), kept.len()) };
        transfer.local = kept.as_mut_ptr();
    }

    /// Takes a work request into the ring; the caller has made sure that a slot is free.
    #[inline]
    pub(super) fn enter(&mut self, mut work: Work, wr_id: u64, signaled: bool, passage: Passage) {
        work.transfer.status = passage.status;
        self.failed |= passage.status != IBV_WC_SUCCESS;
        let at = self.index(self.entered);
        self.slots[at] = Slot {
            work,
            wr_id,
            deliver_at: passage.deliver_at + self.penalty,
            ack_latency: passage.ack_latency,
            signaled,
            lost: passage.lost,
            waited: false,
        };
        self.entered += 1;
    }

    /// Delivers every message that is due at `now`; on a reliable transport, one that meets no receive holds up the rest.
    ///
    /// # Safety
    /// Memory of the work requests in flight is still mapped, on both ends.
    #[inline]
    pub(super) unsafe fn deliver(&mut self, now: u64, reach: &mut Reach, time: &LinkTime) {
        while self.delivered < self.entered {
            let index = self.index(self.delivered);
            let slot = &mut self.slots[index];
            if slot.deliver_at > now {
                break;
            }
            // One that waited for a receive goes through now, all others when the model said.
            let due = if slot.waited { now } else { slot.deliver_at };
            slot.deliver_at = due.max(self.delivered_at);
            if slot.work.transfer.status == IBV_WC_SUCCESS {
                // SAFETY: accepted with success, and still mapped (caller).
                match unsafe { slot.work.carry_out(reach, time.clock_at(slot.deliver_at)) } {
                    Carried::Done => {}
                    Carried::Waits => {
                        slot.waited = true;
                        break;
                    }
                    Carried::Failed(status) => {
                        slot.work.transfer.status = status;
                        self.flush_from(self.delivered + 1);
                    }
                }
            }
            self.delivered_at = self.slots[index].deliver_at;
            self.delivered += 1;
        }
    }

    /// The next completion that is due at `now` and is to be seen: of a signaled work request, or of a failed one.
    #[inline]
    pub(super) fn next_completed(&mut self, now: u64) -> Option<Completed> {
        while self.completed < self.delivered {
            let slot = &self.slots[self.index(self.completed)];
            let at = slot.deliver_at + slot.ack_latency;
            if at > now {
                break;
            }
            self.completed += 1;
            let status = slot.work.transfer.status;
            if !slot.lost && (slot.signaled || status != IBV_WC_SUCCESS) {
                return Some(Completed {
                    wr_id: slot.wr_id,
                    status,
                    opcode: slot.work.wc_opcode(),
                    byte_len: slot.work.transfer.len,
                    number: self.completed,
                    at,
                });
            }
        }
        None
    }

    /// The QP went to error: whatever has not completed is flushed, now.
    pub(super) fn flush(&mut self) {
        self.flush_from(self.completed);
    }

    fn flush_from(&mut self, first: u64) {
        for at in first..self.entered {
            let index = self.index(at);
            let slot = &mut self.slots[index];
            if slot.work.transfer.status == IBV_WC_SUCCESS {
                slot.work.transfer.status = IBV_WC_WR_FLUSH_ERR;
            }
            (slot.deliver_at, slot.ack_latency) = (0, 0);
        }
        self.failed = true;
    }
}

#[cfg(test)]
mod tests {
    use schema::Transport;

    use super::*;

    #[test]
    fn a_message_that_is_early_waits_for_the_one_before_it() {
        let nothing = Work { transfer: Transfer::NONE, verb: Verb::Write };
        let mut reach = Reach::nothing(Transport::Rc, 1);
        let mut flight = Flight::new(4, 0);
        for (wr_id, deliver_at) in [(1, 900), (2, 500)] {
            let passage = Passage { deliver_at, ack_latency: 100, status: IBV_WC_SUCCESS, lost: false };
            flight.enter(nothing, wr_id, true, passage);
        }
        let mut completed_at = |now| {
            // SAFETY: writes of no bytes touch no memory.
            unsafe { flight.deliver(now, &mut reach, &LinkTime::EVEN) };
            std::iter::from_fn(|| flight.next_completed(now))
                .map(|done| (done.wr_id, done.at))
                .collect::<Vec<_>>()
        };
        assert!(completed_at(600).is_empty() && completed_at(999).is_empty());
        assert_eq!(completed_at(1_000), [(1, 1_000), (2, 1_000)]);
    }
}
