//! What a link can carry at most: RoCE's headers on the wire, and the PCIe link behind it. Arithmetic alone.

use host::pcie::LinkState;

/// Bytes around a RoCE v2 packet over IPv4: Ethernet 14, IP 20, UDP 8, BTH 12, ICRC 4, FCS 4, preamble and gap 20.
const WIRE_OVERHEAD_BYTES: u32 = 14 + 20 + 8 + 12 + 4 + 4 + 20;

/// Headers of a PCIe packet: TLP header 16, sequence and LCRC 6, framing 2.
const TLP_OVERHEAD_BYTES: u32 = 24;

/// The RoCE MTUs, smallest first.
const PATH_MTUS: [u32; 5] = [256, 512, 1024, 2048, 4096];

/// What the kernel takes off a netdev's MTU for RoCE: GRH 40, UDP 8, BTH 12, XRC 4, AtomicETH 28, ICRC 4.
pub(super) const ROCE_HEADERS_BYTES: u32 = 40 + 8 + 12 + 4 + 28 + 4;

/// The RoCE MTU of a netdev with this MTU; none if it is too small for any.
pub(super) fn path_mtu(netdev_mtu: u32) -> Option<u32> {
    let room = netdev_mtu.checked_sub(ROCE_HEADERS_BYTES)?;
    PATH_MTUS.into_iter().rev().find(|mtu| *mtu <= room)
}

/// Payload of RC writes of many packets at a path MTU, in Gb/s, on a link of this rate.
pub(super) fn wire_gigabits(link_gigabits: f64, path_mtu: u32) -> f64 {
    link_gigabits * f64::from(path_mtu) / f64::from(path_mtu + WIRE_OVERHEAD_BYTES)
}

/// Payload over a PCIe link, in Gb/s, with packets of this size.
pub(super) fn pcie_gigabits(link: LinkState, max_payload_bytes: u32) -> f64 {
    let share = f64::from(max_payload_bytes) / f64::from(max_payload_bytes + TLP_OVERHEAD_BYTES);
    link.megabits_per_sec() as f64 / 1000.0 * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mtu_of_roce_is_the_largest_that_fits_with_its_headers() {
        for (netdev, roce) in [
            (1500, Some(1024)),
            (2144, Some(2048)),
            (4096, Some(2048)),
            (4191, Some(2048)),
            (4192, Some(4096)),
            (9000, Some(4096)),
            (352, Some(256)),
            (351, None),
            (60, None),
        ] {
            assert_eq!(path_mtu(netdev), roce, "netdev MTU {netdev}");
        }
    }

    #[test]
    fn headers_leave_98_percent_at_4096_and_93_at_1024() {
        assert_eq!(format!("{:.1}", wire_gigabits(100.0, 4096)), "98.0");
        assert_eq!(format!("{:.1}", wire_gigabits(100.0, 1024)), "92.6");
    }

    #[test]
    fn a_gen3_x8_link_carries_less_than_100_gigabits() {
        let link = LinkState { mega_transfers: 8_000, lanes: 8 };
        assert_eq!(format!("{:.1}", pcie_gigabits(link, 256)), "57.6");
    }
}
