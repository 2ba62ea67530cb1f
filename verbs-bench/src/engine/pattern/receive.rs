//! Messages that land where a receive was posted: sends. Receive n of a QP lies in slot n, counted over the receiver's life,
//! whatever slot its message came from; which one that is shows in the bytes.
//!
//! Over rc each message must be the next one of the sender. Over uc it must be a later one. Datagrams may overtake each
//! other. In all cases it must be whole.

use schema::{Transport, record::DataCheck};

use super::{Tally, WORD, is_message, nonzero_bytes, wrong_bytes};
use crate::engine::layout::Layout;

/// What came on one QP during the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Messages the receiver had taken on this QP before.
    pub before: u64,
    /// Messages it took since.
    pub messages: u64,
}

/// Compares what came with what was sent, when the target half was zeroed before and every slot of the source sent once.
/// `arrived` has one entry for each QP of the layout. Over rc what did not come is wrong; over uc and ud it is not checked.
pub fn check_received(
    target: &[u8],
    layout: &Layout,
    msg_bytes: u32,
    generation: u8,
    transport: Transport,
    arrived: &[Arrived],
) -> DataCheck {
    let mut tally = Tally::default();
    for ((qp, slots), arrived) in target.chunks_exact(layout.bytes_per_qp() as usize).enumerate().zip(arrived)
    {
        let received = Received { slots, layout, qp: qp as u64, msg_bytes, generation, arrived: *arrived };
        let size = u64::from(msg_bytes);
        let mut checked = received.count() * size;
        let (mut wrong, in_order) = received.compare(transport);
        if transport == Transport::Rc {
            let missing = layout.slots.saturating_sub(arrived.messages) * size;
            (checked, wrong) = (checked + missing, wrong + missing);
        }
        tally.add(checked, wrong + received.bytes_beyond(), in_order);
    }
    tally.data_check()
}

/// The receive buffers of one QP.
struct Received<'a> {
    slots: &'a [u8],
    layout: &'a Layout,
    qp: u64,
    msg_bytes: u32,
    generation: u8,
    arrived: Arrived,
}

impl Received<'_> {
    /// Messages that still lie in the buffers.
    fn count(&self) -> u64 {
        self.arrived.messages.min(self.layout.slots)
    }

    /// The buffer of the n-th of them: headroom, message, rest.
    fn slot(&self, n: u64) -> &[u8] {
        let first = self.arrived.before + self.arrived.messages - self.count();
        let at = ((first + n) % self.layout.slots * self.layout.stride) as usize;
        &self.slots[at..at + self.layout.stride as usize]
    }

    fn message(&self, n: u64) -> &[u8] {
        let from = self.layout.headroom as usize;
        &self.slot(n)[from..from + self.msg_bytes as usize]
    }

    /// Where the source of a slot begins.
    fn source_word(&self, slot: u64) -> u64 {
        self.layout.source(self.qp, slot) / WORD as u64
    }

    fn is_from(&self, n: u64, slot: u64) -> bool {
        is_message(self.message(n), self.source_word(slot), self.generation)
    }

    /// Bytes behind the messages that nothing should have written.
    fn bytes_beyond(&self) -> u64 {
        let end = self.layout.headroom as usize + self.msg_bytes as usize;
        (0..self.count()).map(|n| nonzero_bytes(&self.slot(n)[end..])).sum()
    }

    /// Wrong bytes, and whether the messages came in an order the transport allows.
    fn compare(&self, transport: Transport) -> (u64, bool) {
        let slots = self.layout.slots;
        if self.count() == 0 {
            return (0, true);
        }
        // Small messages may be alike, so each slot that could be the first one's is tried.
        let starts = || (0..slots).filter(|start| self.is_from(0, *start));
        let fits = match transport {
            Transport::Rc => starts().any(|start| (1..self.count()).all(|n| self.is_from(n, start + n))),
            Transport::Uc => starts().any(|start| self.goes_forward(start)),
            Transport::Ud => (0..self.count()).all(|n| self.comes_from(n, n).is_some()),
        };
        if fits {
            return (0, true);
        }
        let start = starts().next().unwrap_or(0);
        let wrong = (0..self.count()).map(|n| {
            let whole = transport != Transport::Rc && self.comes_from(n, start + n).is_some();
            match whole {
                true => 0,
                false => wrong_bytes(self.message(n), self.source_word(start + n), self.generation),
            }
        });
        (wrong.sum(), false)
    }

    /// Whether the messages are those of ever later slots, at most once around.
    fn goes_forward(&self, start: u64) -> bool {
        let end = start + self.layout.slots;
        let mut next = start + 1;
        (1..self.count()).all(|n| match (next..end).find(|slot| self.is_from(n, *slot)) {
            Some(slot) => {
                next = slot + 1;
                true
            }
            None => false,
        })
    }

    /// The slot a message came from, the likely ones first.
    fn comes_from(&self, n: u64, likely: u64) -> Option<u64> {
        (likely..likely + self.layout.slots).find(|slot| self.is_from(n, *slot))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schema::{Bytes, record::SequenceCheck};

    use super::{super::fill, *};

    const SLOTS: u64 = 12;

    fn layout(headroom: u64) -> Layout {
        Layout { slots: SLOTS, stride: 128, qps: 2, headroom }
    }

    /// A target in which QP 1 received these source slots, in this order, after `before` others; QP 0 received all.
    fn received(layout: &Layout, msg_bytes: usize, before: u64, sources: &[u64]) -> (Vec<u8>, Vec<Arrived>) {
        let mut source = vec![0; layout.half_bytes() as usize];
        fill(&mut source, 1);
        let mut target = vec![0; source.len()];
        let mut put = |qp: u64, receive: u64, slot: u64| {
            let from = layout.source(qp, slot) as usize;
            let to = (layout.target(qp, receive) - layout.half_bytes()) as usize;
            target[to..to + msg_bytes].copy_from_slice(&source[from..from + msg_bytes]);
        };
        (0..SLOTS).for_each(|slot| put(0, slot, slot));
        sources.iter().zip(before..).for_each(|(slot, receive)| put(1, receive, *slot));
        let arrived = [(0, SLOTS), (before, sources.len() as u64)];
        (target, arrived.map(|(before, messages)| Arrived { before, messages }).to_vec())
    }

    fn check(
        layout: &Layout,
        size: u32,
        transport: Transport,
        (target, arrived): &(Vec<u8>, Vec<Arrived>),
    ) -> DataCheck {
        check_received(target, layout, size, 1, transport, arrived)
    }

    fn wrong_qps(check: DataCheck) -> u32 {
        check.sequences.map_or(0, |SequenceCheck { wrong_qps, .. }| wrong_qps)
    }

    proptest! {
        #[test]
        fn rc_takes_every_slot_once_from_wherever_the_sender_and_the_receiver_stand(
            size in 1u32..80, before in 0u64..1_000, start in 0u64..SLOTS, ud in any::<bool>(),
        ) {
            let layout = layout(if ud { 40 } else { 0 });
            let sources: Vec<_> = (start..start + SLOTS).collect();
            let found = check(&layout, size, Transport::Rc, &received(&layout, size as usize, before, &sources));
            prop_assert_eq!((found.checked_bytes, found.wrong_bytes), (Bytes(2 * SLOTS * u64::from(size)), Bytes(0)));
            prop_assert_eq!(wrong_qps(found), 0);
        }

        #[test]
        fn uc_takes_any_later_ones_and_ud_any_order(
            size in 1u32..80, before in 0u64..1_000, start in 0u64..SLOTS,
            kept in prop::collection::vec(any::<bool>(), SLOTS as usize),
        ) {
            let layout = layout(0);
            let mut sources: Vec<_> =
                (start..start + SLOTS).zip(kept).filter_map(|(slot, kept)| kept.then_some(slot)).collect();
            let arrived = Bytes((SLOTS + sources.len() as u64) * u64::from(size));
            let found = check(&layout, size, Transport::Uc, &received(&layout, size as usize, before, &sources));
            prop_assert_eq!((found.checked_bytes, found.wrong_bytes, wrong_qps(found)), (arrived, Bytes(0), 0));
            sources.reverse();
            let found = check(&layout, size, Transport::Ud, &received(&layout, size as usize, before, &sources));
            prop_assert_eq!((found.checked_bytes, found.wrong_bytes, wrong_qps(found)), (arrived, Bytes(0), 0));
        }

        #[test]
        fn one_flipped_bit_is_seen_over_every_transport(before in 0u64..50, n in 0u64..SLOTS, byte in 0usize..64, bit in 0u8..8) {
            let layout = layout(0);
            let sources: Vec<_> = (0..SLOTS).collect();
            let mut case = received(&layout, 64, before, &sources);
            let at = (layout.target(1, n) - layout.half_bytes()) as usize + byte;
            case.0[at] ^= 1 << bit;
            for transport in [Transport::Rc, Transport::Uc, Transport::Ud] {
                let found = check(&layout, 64, transport, &case);
                prop_assert!(found.wrong_bytes.get() > 0, "{transport}");
                prop_assert_eq!(wrong_qps(found), 1);
            }
        }

        #[test]
        fn two_that_changed_places_are_out_of_order_but_for_datagrams(one in 0usize..12, other in 0usize..12) {
            prop_assume!(one != other);
            let layout = layout(0);
            let mut sources: Vec<_> = (0..SLOTS).collect();
            sources.swap(one, other);
            let case = received(&layout, 64, 5, &sources);
            prop_assert_eq!(wrong_qps(check(&layout, 64, Transport::Rc, &case)), 1);
            prop_assert_eq!(wrong_qps(check(&layout, 64, Transport::Uc, &case)), 1);
            prop_assert_eq!(wrong_qps(check(&layout, 64, Transport::Ud, &case)), 0);
        }
    }

    #[test]
    fn what_never_came_is_wrong_over_rc_only() {
        let layout = layout(0);
        let case = received(&layout, 64, 3, &[0, 1, 2, 3]);
        let found = check(&layout, 64, Transport::Rc, &case);
        assert_eq!((found.wrong_bytes, wrong_qps(found)), (Bytes(8 * 64), 1));
        assert_eq!(check(&layout, 64, Transport::Uc, &case).wrong_bytes, Bytes(0));
        assert_eq!(wrong_qps(check(&layout, 64, Transport::Uc, &received(&layout, 64, 3, &[]))), 0);
    }

    #[test]
    fn a_repeated_message_and_one_of_another_generation_are_seen() {
        let layout = layout(0);
        let repeated = received(&layout, 64, 0, &[0, 1, 1, 2]);
        assert_eq!(wrong_qps(check(&layout, 64, Transport::Uc, &repeated)), 1);
        let (target, arrived) = received(&layout, 64, 0, &[0, 1]);
        let stale = check_received(&target, &layout, 64, 0, Transport::Uc, &arrived);
        assert_eq!(wrong_qps(stale), 2);
    }
}
