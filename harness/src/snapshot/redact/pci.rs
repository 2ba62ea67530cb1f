//! PCI configuration space: its one identity is the device serial number, an extended capability of twelve bytes.

use super::{address, key::Key};

/// Where extended capabilities begin.
const EXTENDED: usize = 0x100;
/// PCI_EXT_CAP_ID_DSN
const SERIAL_NUMBER: u32 = 0x0003;
/// No chain is longer: a capability takes four bytes of 4,096.
const MOST: usize = 960;

/// The space with another serial number.
pub(super) fn redacted(key: &Key, space: &[u8]) -> Vec<u8> {
    let mut made = space.to_vec();
    let mut at = EXTENDED;
    for _ in 0..MOST {
        let Some(header) = space.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()) else {
            break;
        };
        let header = u32::from_le_bytes(header);
        if header & 0xffff == SERIAL_NUMBER
            && let Some(serial) = space.get(at + 4..at + 12).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok())
        {
            // The number stands with its lowest byte first.
            let new = u64::from_be_bytes(address::guid(key, u64::from_le_bytes(serial).to_be_bytes()));
            made[at + 4..at + 12].copy_from_slice(&new.to_le_bytes());
        }
        at = (header >> 20) as usize;
        if at < EXTENDED {
            break;
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_serial_number_is_replaced_and_nothing_else() {
        let mut space = vec![0; 4096];
        space[0x100..0x104].copy_from_slice(&(0x0001_u32 | 0x148 << 20).to_le_bytes());
        space[0x148..0x14c].copy_from_slice(&SERIAL_NUMBER.to_le_bytes());
        space[0x14c..0x154].copy_from_slice(&0xb859_9f03_0012_3456_u64.to_le_bytes());
        let made = redacted(&Key::from([1; 32]), &space);
        assert_ne!(made[0x14c..0x154], space[0x14c..0x154]);
        assert_eq!((&made[..0x14c], &made[0x154..]), (&space[..0x14c], &space[0x154..]));
    }

    proptest! {
        #[test]
        fn no_space_panics(space in proptest::collection::vec(any::<u8>(), 0..600)) {
            prop_assert_eq!(redacted(&Key::from([1; 32]), &space).len(), space.len());
        }
    }
}
