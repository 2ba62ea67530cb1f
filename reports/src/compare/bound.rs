//! What the wire can carry at most. A run that claims more is wrong, however good it looks.

use schema::{BitsPerSec, Fabric, Point, RunRecord};

/// Clocks, rounding and what was still in flight at the edges of the Measure phase.
const TOLERANCE: f64 = 1.02;
/// Bytes on the wire beside each packet's payload with RoCE v2: Ethernet with preamble, gap and checksum 38, IPv4 20, UDP 8,
/// BTH 12, ICRC 4.
const ROCE_OVERHEAD_BYTES: f64 = 82.0;

/// Why the run is physically impossible; none for a run that may be true.
pub(super) fn broken(record: &RunRecord) -> Option<String> {
    let bound = payload_bound(record)?;
    record.points.iter().find_map(|point| above(point, bound))
}

fn above(point: &Point, bound: f64) -> Option<String> {
    let claimed = point.bandwidth_bits_per_sec.filter(|claimed| *claimed > bound * TOLERANCE)?;
    Some(format!(
        "claims {:.1} Gb/s of payload at {}, but the link carries at most {:.1} Gb/s",
        claimed / 1e9,
        point.msg_bytes,
        bound / 1e9
    ))
}

/// Payload bits per second the link can carry; none where that is not known.
///
/// A device without firmware is software on top of some network interface, and the rate it reports is not a wire's.
fn payload_bound(record: &RunRecord) -> Option<f64> {
    match record.fabric {
        Fabric::Soft => record.spec.soft_model.as_ref()?.rate_bits_per_sec.map(rate),
        Fabric::Verbs => {
            let device = &record.requester.as_ref()?.device;
            device.firmware.as_ref()?;
            let port = rate(device.rate_bits_per_sec?);
            let mtu = f64::from(record.granted.as_ref()?.path_mtu);
            let ethernet = device.link_layer == "Ethernet";
            Some(if ethernet { port * mtu / (mtu + ROCE_OVERHEAD_BYTES) } else { port })
        }
    }
}

fn rate(rate: BitsPerSec) -> f64 {
    rate.get() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{point_of_bandwidth, record_of, side};
    use schema::{Side, record::Granted, units::Bytes};

    fn on_roce(mtu: u32, firmware: Option<&str>, gbps: f64) -> Option<String> {
        let mut record = record_of(vec![point_of_bandwidth(Bytes(65_536), gbps * 1e9)]);
        record.fabric = Fabric::Verbs;
        let mut requester = side(Side::Requester);
        requester.device.link_layer = "Ethernet".into();
        requester.device.firmware = firmware.map(Into::into);
        requester.device.rate_bits_per_sec = Some(BitsPerSec(100_000_000_000));
        record.requester = Some(requester);
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
