//! Whether packets were lost, repeated or held back since the counters began, and whether enough of them to matter.

use host::{Value, counters, ethtool};
use schema::{Reading, Step};

use crate::doctor::view::{Device, View};

/// Counters that rise when a packet was lost, repeated or held back, by the drivers' names; plain writes on an idle fabric
/// raise none of them.
const OF_LOSS: [&str; 12] = [
    "out_of_sequence",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "duplicate_request",
    "roce_adp_retrans",
    "np_cnp_sent",
    "rp_cnp_handled",
    "out_of_seq_request",
    "retry_exceeded_err",
    "to_retransmits",
    "seq_err_naks_rcvd",
];

/// The same on the wire, as ethtool has them.
const ON_THE_WIRE: [&str; 3] = ["rx_discards_phy", "rx_crc_errors_phy", "rx_oversize_pkts_phy"];

/// The most of them, as a share of the packets, that does not show in bandwidth: one in a million. It is ours.
const HARMLESS_SHARE: f64 = 1e-6;

/// The answer of the counters.
pub(super) fn step(view: &View, device: &Device) -> Step {
    let (counted, why) = counted(view, device);
    let packets = packets(view, device);
    let mut readings: Vec<Reading> =
        counted.iter().map(|(name, value)| reading(device, name, *value)).collect();
    readings.extend(packets.map(|packets| reading(device, "packets of RDMA, both ways", packets)));
    let risen: Vec<String> = counted
        .iter()
        .filter(|(_, value)| *value > 0)
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let most = counted.iter().map(|(_, value)| *value).max().unwrap_or(0);
    let (verdict, explains) = match (risen.is_empty(), counted.is_empty(), packets) {
        (true, true, _) => {
            (format!("no counter of it: {}", why.unwrap_or_else(|| "the driver has none".into())), None)
        }
        (true, false, _) => ("none of the counters has risen".to_owned(), Some(false)),
        (false, _, Some(packets)) if (most as f64) <= HARMLESS_SHARE * packets as f64 => {
            (format!("less than one in a million packets: {}", risen.join(", ")), Some(false))
        }
        (false, ..) => (format!("risen since boot: {}", risen.join(", ")), Some(true)),
    };
    let next = match explains {
        Some(true) => {
            "see whether they rise in a run: its evidence has the difference; then look at cable, switch buffers and the \
             peer's pause frames"
        }
        _ => "",
    };
    Step {
        asked: "were packets lost, repeated or held back since the counters began?".into(),
        readings,
        verdict,
        explains,
        next: next.into(),
    }
}

fn reading(device: &Device, name: &str, value: u64) -> Reading {
    Reading { at: format!("{} {name}", device.name), value: Some(value.to_string()), unknown: None }
}

/// The counters of loss, and why there are none.
fn counted(view: &View, device: &Device) -> (Vec<(String, u64)>, Option<String>) {
    let (mut counted, mut why) = (Vec::new(), None);
    for port in &device.ports {
        match counters::of_driver(view.sysroot, &device.name, port.number) {
            Value::Known(counters) => {
                let wanted = counters.into_iter().filter(|counter| OF_LOSS.contains(&counter.name.as_str()));
                counted.extend(wanted.filter_map(|counter| Some((counter.name, counter.value.known()?))));
            }
            other => why = other.why_unknown().map(str::to_owned),
        }
    }
    for netdev in device.netdevs() {
        let statistics = ethtool::statistics(view.sysroot, netdev).known().unwrap_or_default();
        let wanted = statistics.into_iter().filter(|statistic| ON_THE_WIRE.contains(&statistic.0.as_str()));
        counted.extend(wanted.map(|statistic| (statistic.0, statistic.1)));
    }
    (counted, why)
}

/// Packets of RDMA that the ports carried, both ways.
fn packets(view: &View, device: &Device) -> Option<u64> {
    let of_port = |number| {
        let counters = counters::standard(view.sysroot, &device.name, number).known()?;
        let packets =
            |name: &str| counters.iter().find(|counter| counter.name == name)?.value.clone().known();
        packets("port_xmit_packets")?.checked_add(packets("port_rcv_packets")?)
    };
    device
        .ports
        .iter()
        .map(|port| of_port(port.number))
        .try_fold(0_u64, |sum, packets| sum.checked_add(packets?))
}
