//! Atomics: each QP counts on the first word of its slots in the responder's target half, so what is there in the end is
//! how many operations were done; and what the last one found is in the requester's source half, one less.

use schema::record::DataCheck;

use super::{Tally, WORD, nonzero_bytes};
use crate::engine::layout::Layout;

/// The responder's check: `operations` has, for each QP of the layout, how many were completed since its counter was zero.
/// Nothing but the counters may have been written.
pub fn check_counters(target: &[u8], layout: &Layout, operations: &[u64]) -> DataCheck {
    let mut tally = Tally::default();
    for (slots, operations) in target.chunks_exact(layout.bytes_per_qp() as usize).zip(operations) {
        let (counter, rest) = slots.split_at(WORD);
        tally.add(WORD as u64, unlike(counter, *operations) + nonzero_bytes(rest), true);
    }
    tally.data_check()
}

/// The requester's check: what the last operation of each QP found. A QP that did none is not checked.
pub fn check_found(source: &[u8], layout: &Layout, operations: &[u64]) -> DataCheck {
    let mut tally = Tally::default();
    for (slots, operations) in source.chunks_exact(layout.bytes_per_qp() as usize).zip(operations) {
        if let Some(found) = operations.checked_sub(1) {
            tally.add(WORD as u64, unlike(&slots[..WORD], found), true);
        }
    }
    tally.data_check()
}

/// Bytes of a counter that are not those of this value.
fn unlike(counter: &[u8], value: u64) -> u64 {
    counter.iter().zip(value.to_ne_bytes()).filter(|(found, right)| **found != *right).count() as u64
}

#[cfg(test)]
mod tests {
    use schema::{Bytes, record::SequenceCheck};

    use super::*;

    const LAYOUT: Layout = Layout { slots: 2, stride: 64, qps: 3, headroom: 0 };

    fn half(values: [u64; 3]) -> Vec<u8> {
        let mut half = vec![0; LAYOUT.half_bytes() as usize];
        for (slots, value) in half.chunks_exact_mut(128).zip(values) {
            slots[..8].copy_from_slice(&value.to_ne_bytes());
        }
        half
    }

    #[test]
    fn a_counter_is_exact_or_wrong() {
        let check = check_counters(&half([5, 0, 1 << 40]), &LAYOUT, &[5, 0, 1 << 40]);
        assert_eq!((check.checked_bytes, check.wrong_bytes), (Bytes(24), Bytes(0)));
        let check = check_counters(&half([5, 0, 1 << 40]), &LAYOUT, &[5, 1, (1 << 40) - 1]);
        assert_eq!(check.wrong_bytes, Bytes(1 + 6));
        assert_eq!(check.sequences, Some(SequenceCheck { checked_qps: 3, wrong_qps: 2 }));
    }

    #[test]
    fn a_write_beside_the_counter_is_seen() {
        let mut target = half([1, 1, 1]);
        target[64] = 1;
        assert_eq!(check_counters(&target, &LAYOUT, &[1, 1, 1]).wrong_bytes, Bytes(1));
    }

    #[test]
    fn the_last_operation_found_one_less() {
        let check = check_found(&half([4, 77, 0]), &LAYOUT, &[5, 0, 1]);
        assert_eq!((check.checked_bytes, check.wrong_bytes), (Bytes(16), Bytes(0)));
        assert_eq!(check_found(&half([5, 0, 0]), &LAYOUT, &[5, 0, 1]).wrong_bytes, Bytes(1));
    }
}
