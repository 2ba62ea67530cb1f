//! Where messages lie in memory: pure arithmetic, the same on both sides.
//!
//! One registered region holds the source half and the target half. Each QP has its own slots in both; its n-th message
//! uses slot `n % slots`. A slot starts on its own cache line (page, from a page on) unless the spec gives a stride.
//! Reads fetch from the peer's source half into the own target half. An atomic works on the first eight bytes of the QP's
//! slot in the peer's target half and leaves what it found in the own source half.

use schema::{RunSpec, Transport};

const CACHE_LINE: u64 = 64;
const PAGE: u64 = 4_096;
/// A QP walks through at most this many bytes of distinct target memory, and through one message at least, unless the
/// spec gives a working set.
const FOOTPRINT_PER_QP: u64 = 4 << 20;
/// A datagram's receive begins with room for its GRH.
const GRH_BYTES: u64 = 40;

/// Where messages lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Distinct slots of a QP.
    pub slots: u64,
    /// Bytes from one slot to the next.
    pub stride: u64,
    /// QPs, all threads.
    pub qps: u64,
    /// Bytes of a slot before its message: the GRH of a datagram, else nothing.
    pub headroom: u64,
}

impl Layout {
    /// The layout of a spec; holds its largest message.
    pub fn of(spec: &RunSpec) -> Self {
        let headroom = if spec.transport == Transport::Ud { GRH_BYTES } else { 0 };
        let largest = spec.msg_bytes.iter().map(|size| size.get()).max().unwrap_or(1) + headroom;
        let natural = largest.next_multiple_of(if largest >= PAGE { PAGE } else { CACHE_LINE });
        // A given stride is the message's; the headroom comes on top, kept on eight bytes.
        let stride = spec.stride_bytes.map_or(natural, |stride| stride.get() + headroom);
        let slots = match spec.working_set_bytes {
            Some(set) => (set.get() / stride).max(1),
            None => (FOOTPRINT_PER_QP / stride).clamp(1, u64::from(spec.post_list)),
        };
        Layout { slots, stride, qps: u64::from(spec.total_qps()), headroom }
    }

    /// Bytes of one half: all slots of all QPs.
    pub fn half_bytes(&self) -> u64 {
        self.slots * self.stride * self.qps
    }

    /// Bytes of the whole region.
    pub fn region_bytes(&self) -> u64 {
        2 * self.half_bytes()
    }

    fn slot(&self, qp: u64, message: u64) -> u64 {
        (qp * self.slots + message % self.slots) * self.stride
    }

    /// Offset in the region of the n-th message a QP sends.
    pub fn source(&self, qp: u64, message: u64) -> u64 {
        self.slot(qp, message) + self.headroom
    }

    /// Offset in the region of the n-th message a QP is sent.
    pub fn target(&self, qp: u64, message: u64) -> u64 {
        self.half_bytes() + self.slot(qp, message) + self.headroom
    }

    /// Offset in the region of the buffer of a QP's n-th receive; its headroom comes first.
    pub fn receive(&self, qp: u64, message: u64) -> u64 {
        self.half_bytes() + self.slot(qp, message)
    }

    /// Bytes from the first slot of a QP to the first of the next.
    pub fn bytes_per_qp(&self) -> u64 {
        self.slots * self.stride
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
                    let start = layout.source(qp, position);
                    prop_assert!(start >= ends);
                    prop_assert_eq!(start % 64, 0);
                    prop_assert_eq!(layout.target(qp, position), layout.half_bytes() + start);
                    ends = start + size;
                }
            }
            prop_assert!(ends <= layout.half_bytes());
            prop_assert_eq!(layout.source(0, u64::from(list) * layout.slots), layout.source(0, 0));
        }
    }

    #[test]
    fn the_largest_size_of_a_sweep_decides() {
        let mut spec = RunSpec::new(Test::Bandwidth);
        spec.msg_bytes = vec![Bytes(8), Bytes(65_536), Bytes(64)];
        assert_eq!(Layout::of(&spec), Layout { slots: 1, stride: 65_536, qps: 1, headroom: 0 });
    }

    #[test]
    fn a_working_set_is_walked_in_strides_and_a_datagram_has_room_for_its_grh() {
        let mut spec = RunSpec::new(Test::Bandwidth);
        (spec.msg_bytes, spec.threads) = (vec![Bytes(64)], 2);
        (spec.working_set_bytes, spec.stride_bytes) = (Some(Bytes(1 << 20)), Some(Bytes(4096)));
        assert_eq!(Layout::of(&spec), Layout { slots: 256, stride: 4096, qps: 2, headroom: 0 });
        let mut spec = RunSpec::new(Test::Bandwidth);
        (spec.msg_bytes, spec.transport) = (vec![Bytes(64)], Transport::Ud);
        let layout = Layout::of(&spec);
        assert_eq!((layout.stride, layout.source(0, 0)), (128, 40));
        assert_eq!(layout.target(0, 0) - layout.receive(0, 0), 40);
    }
}
