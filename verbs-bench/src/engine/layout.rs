//! Where messages lie in memory: pure arithmetic, the same on both sides.
//!
//! One registered region holds the source half and the target half. Each QP has its own slots in both; the i-th work
//! request of a post list uses slot `i % slots`. A slot starts on its own cache line (page, from a page on).

use schema::RunSpec;

const CACHE_LINE: u64 = 64;
const PAGE: u64 = 4_096;
/// A QP walks through at most this many bytes of distinct target memory, and through one message at least.
const FOOTPRINT_PER_QP: u64 = 4 << 20;

/// Where messages lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Distinct slots of a QP.
    pub slots: u64,
    /// Bytes from one slot to the next.
    pub stride: u64,
    /// QPs.
    pub qps: u64,
}

impl Layout {
    /// The layout of a spec; holds its largest message.
    pub fn of(spec: &RunSpec) -> Self {
        let largest = spec.msg_bytes.iter().map(|size| size.get()).max().unwrap_or(1);
        let stride = largest.next_multiple_of(if largest >= PAGE { PAGE } else { CACHE_LINE });
        let slots = (FOOTPRINT_PER_QP / stride).clamp(1, u64::from(spec.post_list));
        Layout { slots, stride, qps: u64::from(spec.qp_count) }
    }

    /// Bytes of one half: all slots of all QPs.
    pub fn half_bytes(&self) -> u64 {
        self.slots * self.stride * self.qps
    }

    /// Bytes of the whole region.
    pub fn region_bytes(&self) -> u64 {
        2 * self.half_bytes()
    }

    /// Offset of a slot within its half.
    pub fn slot(&self, qp: u64, position: u64) -> u64 {
        (qp * self.slots + position % self.slots) * self.stride
    }

    /// Offset of the target half within the region.
    pub fn target(&self) -> u64 {
        self.half_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schema::{Bytes, RunSpec, Test};

    use super::*;

    proptest! {
        #[test]
        fn slots_stay_in_their_half_and_never_overlap(size in 1u64..10_000_000, list in 1u32..300, qps in 1u32..40) {
            let mut spec = RunSpec::new(Test::Bandwidth);
            (spec.msg_bytes, spec.post_list, spec.qp_count) = (vec![Bytes(size)], list, qps);
            let layout = Layout::of(&spec);
            let mut ends = 0;
            for qp in 0..layout.qps {
                for position in 0..layout.slots {
                    let start = layout.slot(qp, position);
                    prop_assert!(start >= ends);
                    prop_assert_eq!(start % 64, 0);
                    ends = start + size;
                }
            }
            prop_assert!(ends <= layout.half_bytes());
            prop_assert_eq!(layout.slot(0, u64::from(list) * layout.slots), layout.slot(0, 0));
        }
    }

    #[test]
    fn the_largest_size_of_a_sweep_decides() {
        let mut spec = RunSpec::new(Test::Bandwidth);
        spec.msg_bytes = vec![Bytes(8), Bytes(65_536), Bytes(64)];
        assert_eq!(Layout::of(&spec), Layout { slots: 1, stride: 65_536, qps: 1 });
    }
}
