//! The data check: what a message's bytes are, and whether they arrived. Pure; the session calls it while nothing is in flight.
//!
//! Both sides can compute every byte: it depends on where its word lies in the source half, so a message in a wrong slot is
//! seen, and on a generation, so an old one is. No byte is zero, so in a target that was zeroed a missing one is seen too;
//! and the same byte of two generations always differs. One check goes like this:
//!
//! 1. the sender [`fill`]s its source half (for reads: the responder does); the target half is zeroed, on both ends;
//! 2. every slot of every QP is sent once, in the order of the slots, from whichever slot the sender stands at;
//! 3. whoever holds the target compares: [`check_in_place`] for write, write_imm and read (there the requester holds it),
//!    [`check_received`] for send, whose messages lie where the receives were posted.
//!
//! Done before WarmUp with generation 0 and after Drain with generation 1, the two are one [`DataCheck`] by [`both`].
//! Atomics have no pattern: their counters are exact, see [`check_counters`] for the responder and [`check_found`] for the
//! requester. Over uc and ud a message may be missing, which is no fault of the data; what did arrive must be right.

mod counter;
mod place;
mod receive;

use schema::{
    Bytes,
    record::{DataCheck, SequenceCheck},
};

pub use counter::{check_counters, check_found};
pub use place::check_in_place;
pub use receive::{Arrived, check_received};

/// Bytes that are made and compared at once; messages start on multiples of it.
const WORD: usize = 8;
/// Generations that differ in every byte.
const GENERATIONS: u8 = 128;

/// The source bytes of a word, counted from the start of the half.
#[inline(always)]
fn word_at(index: u64, generation: u8) -> [u8; WORD] {
    let mixed = (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mark = u64::from(generation % GENERATIONS) * 0x0202_0202_0202_0202;
    (((mixed ^ (mixed >> 32)) | 0x0101_0101_0101_0101) ^ mark).to_le_bytes()
}

/// Fills the source half.
pub fn fill(source: &mut [u8], generation: u8) {
    for (index, word) in source.chunks_mut(WORD).enumerate() {
        word.copy_from_slice(&word_at(index as u64, generation)[..word.len()]);
    }
}

/// What a check before the measurement and one after it found together: the bytes of both, and of both the QPs that were
/// wrong.
pub fn both(before: DataCheck, after: DataCheck) -> DataCheck {
    let sequences = match (before.sequences, after.sequences) {
        (Some(first), Some(last)) => Some(SequenceCheck {
            checked_qps: last.checked_qps.max(first.checked_qps),
            wrong_qps: last.wrong_qps.max(first.wrong_qps),
        }),
        (first, last) => last.or(first),
    };
    DataCheck {
        checked_bytes: Bytes(before.checked_bytes.get() + after.checked_bytes.get()),
        wrong_bytes: Bytes(before.wrong_bytes.get() + after.wrong_bytes.get()),
        sequences,
    }
}

/// Whether a message is the one whose source begins at this word.
fn is_message(found: &[u8], first_word: u64, generation: u8) -> bool {
    found
        .chunks(WORD)
        .zip(first_word..)
        .all(|(found, index)| found == &word_at(index, generation)[..found.len()])
}

/// Bytes of a message that are not those of the source from this word on.
fn wrong_bytes(found: &[u8], first_word: u64, generation: u8) -> u64 {
    found
        .chunks(WORD)
        .zip(first_word..)
        .map(|(found, index)| {
            let sent = word_at(index, generation);
            if found == &sent[..found.len()] {
                return 0;
            }
            found.iter().zip(&sent).filter(|(found, sent)| found != sent).count() as u64
        })
        .sum()
}

/// Bytes that are not zero.
fn nonzero_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte != 0).count() as u64
}

/// Adds the QPs up.
#[derive(Default)]
struct Tally {
    checked_bytes: u64,
    wrong_bytes: u64,
    checked_qps: u32,
    wrong_qps: u32,
}

impl Tally {
    fn add(&mut self, checked_bytes: u64, wrong_bytes: u64, in_order: bool) {
        self.checked_bytes += checked_bytes;
        self.wrong_bytes += wrong_bytes;
        self.checked_qps += 1;
        self.wrong_qps += u32::from(wrong_bytes > 0 || !in_order);
    }

    fn data_check(self) -> DataCheck {
        DataCheck {
            checked_bytes: Bytes(self.checked_bytes),
            wrong_bytes: Bytes(self.wrong_bytes),
            sequences: Some(SequenceCheck { checked_qps: self.checked_qps, wrong_qps: self.wrong_qps }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_byte_is_zero_and_no_byte_is_that_of_another_generation(
            index in any::<u64>(), one in 0u8..128, other in 0u8..128,
        ) {
            prop_assume!(one != other && index < u64::MAX);
            let (one, other) = (word_at(index, one), word_at(index, other));
            prop_assert!(one.iter().chain(&other).all(|byte| *byte != 0));
            prop_assert!(one.iter().zip(&other).all(|(one, other)| one != other));
        }
    }

    #[test]
    fn words_differ_by_their_place() {
        let words: std::collections::HashSet<_> = (0..100_000).map(|index| word_at(index, 1)).collect();
        assert!(words.len() > 99_990);
    }

    #[test]
    fn two_checks_are_one_and_a_wrong_qp_of_either_shows() {
        let check = |checked, wrong, qps| {
            let mut tally = Tally::default();
            tally.add(checked, wrong, qps == 0);
            tally.data_check()
        };
        let together = both(check(100, 0, 1), check(100, 3, 0));
        assert_eq!((together.checked_bytes, together.wrong_bytes), (Bytes(200), Bytes(3)));
        assert_eq!(together.sequences, Some(SequenceCheck { checked_qps: 1, wrong_qps: 1 }));
    }
}
