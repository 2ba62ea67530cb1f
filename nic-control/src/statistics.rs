//! The statistics a driver counts for itself: names of 32 bytes, which need not end in a 0, beside as many numbers.

use serde::{Deserialize, Serialize};

/// Bytes of a name (ETH_GSTRING_LEN).
pub(crate) const NAME_BYTES: usize = 32;

/// One counter or gauge of a driver: its name as the driver writes it, and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistic(
    /// May hold blanks, colons and brackets.
    pub String,
    /// As the driver counts it; units are the driver's.
    pub u64,
);

/// The names of `bytes`, each up to its first 0. Bytes that are not UTF-8 become replacement characters; a rest that is
/// shorter than a name is none.
pub(crate) fn names(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes.chunks_exact(NAME_BYTES).map(|name| text(name).trim().to_owned())
}

/// What stands before the first 0.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The numbers of `bytes`.
pub(crate) fn values(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|eight| u64::from_ne_bytes(eight.try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_of_all_its_bytes_needs_no_end() {
        let mut bytes = b"tx_vport_rdma_multicast_packets_".to_vec();
        bytes.extend(b"[0]: rx pkts\0left over from before");
        assert_eq!(names(&bytes).collect::<Vec<_>>(), ["tx_vport_rdma_multicast_packets_", "[0]: rx pkts"]);
    }

    proptest! {
        #[test]
        fn any_bytes_give_one_name_a_slot(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(names(&bytes).count(), bytes.len() / NAME_BYTES);
            prop_assert_eq!(values(&bytes).count(), bytes.len() / 8);
            prop_assert!(names(&bytes).all(|name| !name.contains('\0')));
        }
    }
}
