//! What link and host can carry at most. A run that claims more is wrong, however good it looks; one far below it is slow,
//! whatever its history says.

use schema::{BitsPerSec, Bytes, Fabric, Op, RunRecord, SideRecord, record::GidRecord};

/// Clocks, rounding and what was still in flight at the edges of the Measure phase.
const TOLERANCE: f64 = 1.02;
/// Bytes that Ethernet puts around each packet: preamble 8, header 14, checksum 4, gap 12.
const ETHERNET_BYTES: u64 = 38;
/// Bytes of the transport in each packet: BTH 12, ICRC 4.
const TRANSPORT_BYTES: u64 = 16;
/// Local route header and variant checksum of an InfiniBand packet.
const INFINIBAND_BYTES: u64 = 10;
/// What the first packet of a write carries beside: where it goes (RETH).
const WRITE_BYTES: u64 = 16;

/// Headers of a PCIe packet: of the transaction 16, sequence and checksum 6, framing 2.
const PCIE_BYTES: u64 = 24;

/// A rate of payload that cannot be passed in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Payload bits per second.
    pub bits_per_sec: f64,
    /// What it is, in words that complete `x Gb/s, `.
    pub basis: String,
}

/// Why the run is physically impossible; none for a run that may be true.
pub fn broken(record: &RunRecord) -> Option<String> {
    record.points.iter().find_map(|point| {
        let bound = payload_bound(record, point.msg_bytes)?.bits_per_sec;
        let claimed = point.bandwidth_bits_per_sec.filter(|claimed| *claimed > bound * TOLERANCE)?;
        Some(format!(
            "claims {:.1} Gb/s of payload at {}, but the link carries at most {:.1} Gb/s",
            claimed / 1e9,
            point.msg_bytes,
            bound / 1e9
        ))
    })
}

/// The rate of payload that a run's messages of one size can reach in one direction; none where that is not known.
///
/// A device without firmware is software on top of some network interface, and the rate it reports is not a wire's. What one
/// port sends to itself need not cross the wire.
pub fn payload_bound(record: &RunRecord, size: Bytes) -> Option<Bound> {
    match record.fabric {
        Fabric::Soft => {
            let rate = record.spec.soft_model.as_ref()?.rate_bits_per_sec?;
            let basis = format!("the rate of the software NIC's model ({rate})");
            Some(Bound { bits_per_sec: rate.get() as f64, basis })
        }
        Fabric::Verbs => {
            let (requester, responder) = (record.requester.as_ref()?, record.responder.as_ref()?);
            if is_one_port(requester, responder) {
                return None;
            }
            let slower = by_pcie(requester, size).into_iter().chain(by_pcie(responder, size));
            let rate = port_rate(requester)?.min(port_rate(responder)?);
            let mtu = u64::from(record.granted.as_ref()?.path_mtu).max(1);
            let payload = size.get().max(1);
            let (overhead, wire) = overhead(requester)?;
            let writes = matches!(record.spec.op, Op::Write | Op::WriteImm);
            let once = if writes { WRITE_BYTES } else { 0 };
            let on_wire = payload + payload.div_ceil(mtu) * overhead + once;
            let share = payload as f64 / on_wire as f64;
            let basis = format!("the payload of {size} messages on a {rate} {wire} link at path MTU {mtu}");
            let wire = Bound { bits_per_sec: rate.get() as f64 * share, basis };
            slower.chain([wire]).min_by(|one, other| one.bits_per_sec.total_cmp(&other.bits_per_sec))
        }
    }
}

/// What the PCIe links of a side carry, with packets as large as the device sends; where their size is not known, without what
/// their headers take.
fn by_pcie(side: &SideRecord, size: Bytes) -> Option<Bound> {
    let pcie = side.device.pcie.as_ref()?;
    let payload = size.get().max(1);
    let packets = pcie.max_payload_bytes.map_or(0, |most| payload.div_ceil(u64::from(most).max(1)));
    let share = payload as f64 / (payload + packets * PCIE_BYTES) as f64;
    let bits_per_sec = pcie.rate_bits_per_sec.get() as f64 * share;
    let basis = format!("the payload of {size} messages over the {}'s PCIe link ({})", side.side, pcie.link);
    Some(Bound { bits_per_sec, basis })
}

fn port_rate(side: &SideRecord) -> Option<BitsPerSec> {
    side.device.firmware.as_ref()?;
    side.device.rate_bits_per_sec
}

fn is_one_port(one: &SideRecord, other: &SideRecord) -> bool {
    one.host.boot_id == other.host.boot_id
        && (&one.device.name, one.device.port_num) == (&other.device.name, other.device.port_num)
}

/// Bytes on the wire beside each packet's payload, and what the packets are called.
fn overhead(side: &SideRecord) -> Option<(u64, &'static str)> {
    if side.device.link_layer == "InfiniBand" {
        return Some((INFINIBAND_BYTES + TRANSPORT_BYTES, "InfiniBand"));
    }
    let gid = side.gid.as_ref()?;
    let (network, name) = match gid.gid_type.as_str() {
        "RoCE v1" => (40, "RoCE v1"),
        _ if is_ipv4(gid) => (20 + 8, "RoCE v2"),
        _ => (40 + 8, "RoCE v2 (IPv6)"),
    };
    Some((ETHERNET_BYTES + network + TRANSPORT_BYTES, name))
}

/// Whether a GID stands for an IPv4 address.
fn is_ipv4(gid: &GidRecord) -> bool {
    gid.gid.parse::<std::net::Ipv6Addr>().is_ok_and(|address| address.to_ipv4_mapped().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{point_of_bandwidth, record_of, side};
    use schema::{
        Side,
        record::{Granted, PcieRecord},
        units::Bytes,
    };

    /// 64Ki writes between two ports.
    fn on_a_link(layer: &str, gid: &str, mtu: u32, firmware: Option<&str>) -> RunRecord {
        let mut record = record_of(vec![point_of_bandwidth(Bytes(65_536), 1e9)]);
        record.fabric = Fabric::Verbs;
        let end = |which: Side| {
            let mut end = side(which);
            end.host.boot_id = Some(which.to_string());
            end.device.link_layer = layer.into();
            end.device.firmware = firmware.map(Into::into);
            end.device.rate_bits_per_sec = Some(BitsPerSec(100_000_000_000));
            let (netdev, note) = (None, String::new());
            end.gid = Some(GidRecord { index: 3, gid: gid.into(), gid_type: "RoCE v2".into(), netdev, note });
            Some(end)
        };
        (record.requester, record.responder) = (end(Side::Requester), end(Side::Responder));
        record.granted = Some(Granted {
            max_recv_wr: 0,
            transport: None,
            post_api: None,
            outstanding_reads: None,
            thread_domains: false,
            path_mtu: mtu,
            max_send_wr: 128,
            max_inline_bytes: 0,
            cq_entries: 128,
            slots_per_qp: 1,
            working_set_bytes: Bytes(65_536),
        });
        record
    }

    const IPV4: &str = "::ffff:10.0.0.1";

    fn on_roce(mtu: u32, firmware: Option<&str>, gbps: f64) -> Option<String> {
        let mut record = on_a_link("Ethernet", IPV4, mtu, firmware);
        record.points = vec![point_of_bandwidth(Bytes(65_536), gbps * 1e9)];
        broken(&record)
    }

    #[test]
    fn roce_carries_the_payload_share_of_its_packets() {
        // 1024 / 1106 of 100 Gb/s is 92.6; with 2 % of tolerance 94.4.
        assert_eq!(on_roce(1024, Some("22.39.1002"), 94.0), None);
        let reason = on_roce(1024, Some("22.39.1002"), 95.0).unwrap();
        assert_eq!(reason, "claims 95.0 Gb/s of payload at 64Ki, but the link carries at most 92.6 Gb/s");
        assert_eq!(on_roce(4096, Some("22.39.1002"), 98.0), None);
    }

    #[test]
    fn each_kind_of_link_has_its_own_packets() {
        let share = |layer: &str, gid: &str, size: u64| {
            let record = on_a_link(layer, gid, 4096, Some("20.31"));
            payload_bound(&record, Bytes(size)).map(|bound| bound.bits_per_sec / 1e11)
        };
        let near = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-9;
        // 65,536 bytes are 16 packets; a write names its target once.
        assert!(near(share("Ethernet", IPV4, 65_536), 65_536.0 / (65_536.0 + 16.0 * 82.0 + 16.0)));
        assert!(near(share("Ethernet", "fe80::1", 65_536), 65_536.0 / (65_536.0 + 16.0 * 102.0 + 16.0)));
        assert!(near(share("InfiniBand", "fe80::1", 65_536), 65_536.0 / (65_536.0 + 16.0 * 26.0 + 16.0)));
        assert!(near(share("Ethernet", IPV4, 64), 64.0 / (64.0 + 82.0 + 16.0)));
        let basis =
            payload_bound(&on_a_link("Ethernet", IPV4, 4096, Some("20.31")), Bytes(65_536)).unwrap().basis;
        assert_eq!(basis, "the payload of 64Ki messages on a 100Gbps RoCE v2 link at path MTU 4096");
    }

    #[test]
    fn a_pcie_link_that_carries_less_than_the_wire_decides() {
        let mut record = on_a_link("Ethernet", IPV4, 4096, Some("20.31"));
        let pcie = |gbps: u64, most| PcieRecord {
            link: "8.0 GT/s x8".into(),
            possible: "8.0 GT/s x16".into(),
            rate_bits_per_sec: BitsPerSec(gbps * 1_000_000_000),
            max_payload_bytes: most,
        };
        record.responder.as_mut().unwrap().device.pcie = Some(pcie(63, Some(256)));
        let bound = payload_bound(&record, Bytes(65_536)).unwrap();
        assert!((bound.bits_per_sec - 63e9 * 256.0 / 280.0).abs() < 1.0, "{bound:?}");
        assert_eq!(bound.basis, "the payload of 64Ki messages over the responder's PCIe link (8.0 GT/s x8)");
        record.responder.as_mut().unwrap().device.pcie = Some(pcie(63, None));
        assert!((payload_bound(&record, Bytes(65_536)).unwrap().bits_per_sec - 63e9).abs() < 1.0);
        record.responder.as_mut().unwrap().device.pcie = Some(pcie(126, Some(256)));
        assert!(payload_bound(&record, Bytes(65_536)).unwrap().basis.contains("RoCE v2 link"));
    }

    #[test]
    fn the_slower_port_decides_and_a_port_to_itself_has_no_wire() {
        let mut record = on_a_link("Ethernet", IPV4, 1024, Some("20.31"));
        let responder = record.responder.as_mut().unwrap();
        responder.device.rate_bits_per_sec = Some(BitsPerSec(25_000_000_000));
        let slower = payload_bound(&record, Bytes(1024)).unwrap();
        assert!(slower.bits_per_sec < 25e9 && slower.basis.contains("25Gbps"), "{slower:?}");
        record.responder = record.requester.clone();
        assert_eq!(payload_bound(&record, Bytes(1024)), None);
    }

    #[test]
    fn a_software_device_has_no_wire() {
        assert_eq!(on_roce(1024, None, 200.0), None);
    }

    #[test]
    fn the_model_is_the_wire_of_the_software_nic() {
        let mut record = record_of(vec![point_of_bandwidth(Bytes(4096), 10.3e9)]);
        record.spec.soft_model = Some("rate=10Gbps".parse().unwrap());
        assert!(broken(&record).is_some());
        record.spec.soft_model = None;
        assert_eq!(broken(&record), None);
    }
}
