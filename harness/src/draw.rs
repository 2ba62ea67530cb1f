//! What is drawn from a recorded seed. Our own, because a seed must mean the same in every release that reads it.

use rand_chacha::{ChaCha8Rng, rand_core::RngCore};

/// Fisher-Yates.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(rng, last as u64 + 1) as usize);
    }
}

/// A number below `bound`, which is not 0, every one as likely: draws above the last whole multiple are drawn again.
pub(crate) fn below(rng: &mut ChaCha8Rng, bound: u64) -> u64 {
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let draw = rng.next_u64();
        if draw < limit {
            return draw % bound;
        }
    }
}
