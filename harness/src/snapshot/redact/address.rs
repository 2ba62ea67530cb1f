//! Addresses made into others of the same kind: the same one always into the same one, addresses of one network into
//! addresses of one network, and an address made from a MAC into one made from what the MAC became.

use std::net::Ipv6Addr;

use super::key::Key;

/// Locally administered unicast, the first byte of a MAC that no vendor gave out.
const LOCAL: u8 = 0x02;
/// Private networks: 10.0.0.0/8 and fd00::/8 take all addresses that are not special.
const PRIVATE_V4: u32 = 10 << 24;
const PRIVATE_V6: u128 = 0xfd << 120;
const LINK_LOCAL_V6: u128 = 0xfe80 << 112;

/// Nobody's address: all zeroes, all ones, or of a group.
pub(super) fn mac(key: &Key, mac: [u8; 6]) -> [u8; 6] {
    if mac == [0; 6] || mac[0] & 1 == 1 {
        return mac;
    }
    let made = key.digest("mac", &mac);
    [LOCAL, made[0], made[1], made[2], made[3], made[4]]
}

/// An EUI-64: of a MAC (`ff:fe` in its middle) or of its own.
pub(super) fn guid(key: &Key, guid: [u8; 8]) -> [u8; 8] {
    if guid == [0; 8] || guid == [0xff; 8] {
        return guid;
    }
    if let [a, b, c, 0xff, 0xfe, d, e, f] = guid {
        let [a, b, c, d, e, f] = mac(key, [a ^ LOCAL, b, c, d, e, f]);
        return [a ^ LOCAL, b, c, 0xff, 0xfe, d, e, f];
    }
    let made = key.digest("guid", &guid);
    [LOCAL, made[0], made[1], made[2], made[3], made[4], made[5], made[6]]
}

/// An IPv4 address, not a mask. The bits of its first byte choose how the others are changed, so they are not lost.
pub(super) fn v4(key: &Key, address: u32) -> u32 {
    let first = address >> 24;
    if first == 0 || first == 127 || first >= 224 || address >> 16 == 0xa9fe {
        return address;
    }
    let kept = u128::from(address) << 96;
    PRIVATE_V4 | ((scrambled(key, "v4", kept, 8, 32) >> 96) as u32 & 0x00ff_ffff)
}

/// An IPv6 address or a GID.
pub(super) fn v6(key: &Key, address: u128) -> u128 {
    let ip = Ipv6Addr::from(address);
    if ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() {
        return address;
    }
    if let Some(mapped) = ip.to_ipv4_mapped() {
        return u128::from(v4(key, mapped.into())) | 0xffff << 32;
    }
    let network = match address >> 118 == LINK_LOCAL_V6 >> 118 {
        true => address >> 64 << 64,
        false => PRIVATE_V6 | (scrambled(key, "v6", address, 8, 64) << 8 >> 72 << 64),
    };
    let interface = address as u64;
    let interface = match interface.to_be_bytes() {
        [0, 0, 0, 0, 0, 0, 0, 0] => 0,
        bytes @ [_, _, _, 0xff, 0xfe, _, _, _] => u64::from_be_bytes(guid(key, bytes)),
        _ => scrambled(key, "v6", address, 64, 128) as u64,
    };
    network | u128::from(interface)
}

/// Flips each of the bits `from..to`, counted from the highest, or not, by what stands before it: two addresses that share
/// their first n bits share them afterwards too.
fn scrambled(key: &Key, domain: &str, bits: u128, from: u32, to: u32) -> u128 {
    (from..to).fold(bits, |made, at| {
        let before = if at == 0 { 0 } else { bits >> (128 - at) };
        let mut prefix = before.to_be_bytes().to_vec();
        prefix.push(at as u8);
        made ^ u128::from(key.digest(domain, &prefix)[0] & 1) << (127 - at)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> Key {
        Key::from([7; 32])
    }

    #[test]
    fn special_addresses_stay() {
        for address in [0, 0x7f00_0001, 0xa9fe_0102, 0xe000_0001, u32::MAX] {
            assert_eq!(v4(&key(), address), address);
        }
        for address in [0, 1, u128::from(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1))] {
            assert_eq!(v6(&key(), address), address);
        }
        assert_eq!(mac(&key(), [0xff; 6]), [0xff; 6]);
        assert_eq!(guid(&key(), [0; 8]), [0; 8]);
    }

    #[test]
    fn a_gid_of_a_mac_follows_the_mac() {
        let (old, new) = ([0xac, 0x1f, 0x6b, 0, 0xc1, 1], mac(&key(), [0xac, 0x1f, 0x6b, 0, 0xc1, 1]));
        let gid = |mac: [u8; 6]| {
            let [a, b, c, d, e, f] = mac;
            LINK_LOCAL_V6 | u128::from(u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]))
        };
        assert_ne!(old, new);
        assert_eq!(v6(&key(), gid(old)), gid(new));
    }

    #[test]
    fn a_mapped_gid_follows_the_ipv4_address() {
        let (ip, mapped) = (0xc000_0201_u32, 0xffff_c000_0201_u128);
        assert_eq!(v6(&key(), mapped), 0xffff_0000_0000 | u128::from(v4(&key(), ip)));
    }

    proptest! {
        #[test]
        fn neighbours_stay_neighbours(first in 1_u32..=126, a in 0_u32..1 << 24, b in 0_u32..1 << 24, length in 8_u32..=32) {
            let (a, b) = (first << 24 | a, first << 24 | b);
            let shared = |x: u32, y: u32| x >> (32 - length) == y >> (32 - length);
            prop_assert_eq!(shared(a, b), shared(v4(&key(), a), v4(&key(), b)));
        }

        #[test]
        fn the_same_gives_the_same_and_different_ones_differ(first in 0x20_u128..=0x3f, a: u128, b: u128) {
            let (a, b) = (first << 120 | a >> 8, first << 120 | b >> 8);
            prop_assert_eq!(v6(&key(), a), v6(&key(), a));
            prop_assert_eq!(a == b, v6(&key(), a) == v6(&key(), b));
        }
    }
}
