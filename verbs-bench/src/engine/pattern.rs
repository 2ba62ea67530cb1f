//! The bytes that are sent, and the check that they arrived: every slot is written once before WarmUp and every byte compared.
//!
//! A byte of the source is a function of its offset and never zero; the target is zeroed first. So a byte that was not
//! written, or came from another slot, or lies beyond the message, is seen.

use schema::{Bytes, record::DataCheck};

use super::layout::Layout;

/// Bytes that are made and compared at once; slots start on multiples of it.
const WORD: usize = 8;

/// The source bytes of a word, counted from the start of the half.
fn word_at(index: u64) -> [u8; WORD] {
    let mixed = (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 32)) | 0x0101_0101_0101_0101).to_le_bytes()
}

/// Fills the source half.
pub fn fill(source: &mut [u8]) {
    for (index, word) in source.chunks_mut(WORD).enumerate() {
        word.copy_from_slice(&word_at(index as u64)[..word.len()]);
    }
}

/// Compares the target half with what messages of this size must have left in it.
pub fn check(target: &[u8], layout: &Layout, msg_bytes: u64) -> DataCheck {
    let slot_count = layout.slots * layout.qps;
    let wrong: u64 = target
        .chunks(layout.stride as usize)
        .zip(0..slot_count)
        .map(|(slot, number)| {
            let (message, rest) = slot.split_at(msg_bytes as usize);
            let beyond = rest.iter().filter(|byte| **byte != 0).count() as u64;
            wrong_in_message(message, number * layout.stride / WORD as u64) + beyond
        })
        .sum();
    DataCheck { checked_bytes: Bytes(slot_count * msg_bytes), wrong_bytes: Bytes(wrong), sequences: None }
}

/// Bytes of a message that are not those of the source from this word on.
fn wrong_in_message(message: &[u8], first_word: u64) -> u64 {
    message
        .chunks(WORD)
        .zip(first_word..)
        .map(|(found, index)| {
            let sent = word_at(index);
            found.iter().zip(&sent).filter(|(found, sent)| found != sent).count() as u64
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { slots: 3, stride: 128, qps: 2, headroom: 0 };

    fn arrived(msg_bytes: usize) -> Vec<u8> {
        let mut source = vec![0; LAYOUT.half_bytes() as usize];
        fill(&mut source);
        let mut target = vec![0; source.len()];
        for slot in 0..6 {
            target[slot * 128..slot * 128 + msg_bytes]
                .copy_from_slice(&source[slot * 128..slot * 128 + msg_bytes]);
        }
        target
    }

    #[test]
    fn all_that_was_sent_is_right() {
        let check = check(&arrived(100), &LAYOUT, 100);
        assert_eq!((check.checked_bytes, check.wrong_bytes), (Bytes(600), Bytes(0)));
    }

    #[test]
    fn a_missing_a_foreign_and_a_superfluous_byte_are_seen() {
        let mut target = arrived(100);
        target[99] = 0;
        target[128] ^= 0x10;
        target[127] = 1;
        assert_eq!(check(&target, &LAYOUT, 100).wrong_bytes, Bytes(3));
    }

    #[test]
    fn a_slot_written_to_the_place_of_another_is_seen() {
        let mut target = arrived(100);
        let first = target[..100].to_vec();
        target[128..228].copy_from_slice(&first);
        assert!(check(&target, &LAYOUT, 100).wrong_bytes.get() > 50);
    }
}
