//! The bytes that are sent, and the check that they arrived: every slot is written once before WarmUp and every byte compared.
//!
//! A byte of the source is a function of its offset and never zero; the target is zeroed first. So a byte that was not
//! written, or came from another slot, or lies beyond the message, is seen.

use schema::{Bytes, record::DataCheck};

use super::layout::Layout;

/// The source byte at an offset of the source half.
fn byte_at(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8 | 1
}

/// Fills the source half.
pub fn fill(source: &mut [u8]) {
    for (offset, byte) in source.iter_mut().enumerate() {
        *byte = byte_at(offset as u64);
    }
}

/// Compares the target half with what messages of this size must have left in it.
pub fn check(target: &[u8], layout: &Layout, msg_bytes: u64) -> DataCheck {
    let slot_count = layout.slots * layout.qps;
    let wrong = (0..slot_count)
        .flat_map(|slot| slot * layout.stride..(slot + 1) * layout.stride)
        .filter(|&offset| {
            let expected = if offset % layout.stride < msg_bytes { byte_at(offset) } else { 0 };
            target[offset as usize] != expected
        })
        .count();
    DataCheck { checked_bytes: Bytes(slot_count * msg_bytes), wrong_bytes: Bytes(wrong as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { slots: 3, stride: 128, qps: 2 };

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
