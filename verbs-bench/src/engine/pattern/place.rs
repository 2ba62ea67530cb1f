//! Messages that land where the sender says: writes and reads. Slot n of the target holds message n of the source.

use schema::{Transport, record::DataCheck};

use super::{Tally, WORD, nonzero_bytes, word_at, wrong_bytes};
use crate::engine::layout::Layout;

/// Compares the target half with what messages of this size must have left in it, when every slot was zeroed before and
/// sent once. Over uc bytes that are still zero were lost: they are neither wrong nor counted as checked.
pub fn check_in_place(
    target: &[u8],
    layout: &Layout,
    msg_bytes: u32,
    generation: u8,
    transport: Transport,
) -> DataCheck {
    let mut tally = Tally::default();
    let (stride, headroom) = (layout.stride as usize, layout.headroom as usize);
    for (qp, slots) in target.chunks_exact(layout.bytes_per_qp() as usize).enumerate() {
        let (mut checked, mut wrong) = (0, 0);
        for (number, slot) in slots.chunks_exact(stride).enumerate() {
            let (before, rest) = slot.split_at(headroom);
            let (message, after) = rest.split_at(msg_bytes as usize);
            let first_word = layout.source(qp as u64, number as u64) / WORD as u64;
            let (arrived, bad) = match transport {
                Transport::Rc => (u64::from(msg_bytes), wrong_bytes(message, first_word, generation)),
                _ => arrived_and_wrong(message, first_word, generation),
            };
            checked += arrived;
            wrong += bad + nonzero_bytes(before) + nonzero_bytes(after);
        }
        tally.add(checked, wrong, true);
    }
    tally.data_check()
}

/// Bytes that arrived, and those of them that are wrong.
fn arrived_and_wrong(message: &[u8], first_word: u64, generation: u8) -> (u64, u64) {
    message
        .chunks(WORD)
        .zip(first_word..)
        .map(|(found, index)| {
            let sent = word_at(index, generation);
            let arrived = found.iter().zip(&sent).filter(|(found, _)| **found != 0);
            arrived
                .fold((0, 0), |(count, wrong), (found, sent)| (count + 1, wrong + u64::from(found != sent)))
        })
        .fold((0, 0), |(count, wrong), (more, bad)| (count + more, wrong + bad))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schema::{Bytes, record::SequenceCheck};

    use super::{super::fill, *};

    const LAYOUT: Layout = Layout { slots: 3, stride: 128, qps: 2, headroom: 0 };

    /// A target that all messages of this size reached.
    fn arrived(msg_bytes: usize, generation: u8) -> Vec<u8> {
        let mut source = vec![0; LAYOUT.half_bytes() as usize];
        fill(&mut source, generation);
        let mut target = vec![0; source.len()];
        for slot in (0..source.len()).step_by(128) {
            target[slot..slot + msg_bytes].copy_from_slice(&source[slot..slot + msg_bytes]);
        }
        target
    }

    fn check(target: &[u8], transport: Transport) -> DataCheck {
        check_in_place(target, &LAYOUT, 100, 1, transport)
    }

    #[test]
    fn all_that_was_sent_is_right() {
        let found = check(&arrived(100, 1), Transport::Rc);
        assert_eq!((found.checked_bytes, found.wrong_bytes), (Bytes(600), Bytes(0)));
        assert_eq!(found.sequences, Some(SequenceCheck { checked_qps: 2, wrong_qps: 0 }));
    }

    #[test]
    fn a_missing_a_foreign_and_a_superfluous_byte_are_seen_and_belong_to_a_qp() {
        let mut target = arrived(100, 1);
        target[99] = 0;
        target[128] ^= 0x10;
        target[127] = 1;
        let found = check(&target, Transport::Rc);
        assert_eq!(found.wrong_bytes, Bytes(3));
        assert_eq!(found.sequences, Some(SequenceCheck { checked_qps: 2, wrong_qps: 1 }));
    }

    #[test]
    fn a_message_of_another_slot_and_one_of_an_older_generation_are_seen() {
        let mut target = arrived(100, 1);
        let first = target[..100].to_vec();
        target[128..228].copy_from_slice(&first);
        assert!(check(&target, Transport::Rc).wrong_bytes.get() > 50);
        let mut target = arrived(100, 1);
        target[128..228].copy_from_slice(&arrived(100, 0)[128..228]);
        assert_eq!(check(&target, Transport::Rc).wrong_bytes, Bytes(100));
        assert_eq!(check(&target, Transport::Uc).wrong_bytes, Bytes(100));
    }

    proptest! {
        #[test]
        fn what_is_lost_over_uc_is_not_wrong_but_over_rc_it_is(lost in prop::collection::vec((0usize..6, 0usize..100), 1..5)) {
            let mut target = arrived(100, 1);
            for (slot, from) in lost {
                // A packet in the middle was lost, and all after it dropped.
                target[slot * 128 + from..slot * 128 + 100].fill(0);
            }
            let missing = 600 - nonzero_bytes(&target);
            let found = check(&target, Transport::Uc);
            prop_assert_eq!((found.checked_bytes, found.wrong_bytes), (Bytes(600 - missing), Bytes(0)));
            prop_assert_eq!(check(&target, Transport::Rc).wrong_bytes, Bytes(missing));
        }
    }
}
