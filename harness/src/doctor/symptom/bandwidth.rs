//! Two answers that no finding gives: whether the kernel carries the traffic, and what the link can carry at most.

use host::{netdev::Netdev, pcie};
use schema::{Reading, Step};

use crate::doctor::{
    ceiling,
    view::{Device, Kind, View},
};

/// Whether the kernel carries the traffic instead of an adapter.
pub(super) fn software(device: &Device) -> Step {
    let (verdict, explains) = match device.kind {
        Kind::Hardware => {
            ("an adapter carries the traffic, and verbs passes the kernel by".to_owned(), false)
        }
        Kind::SoftRoce | Kind::SoftIwarp => (device.why_software().unwrap_or_default().to_owned(), true),
    };
    Step {
        asked: "is it a software device?".into(),
        readings: vec![Reading {
            at: format!("/sys/class/infiniband/{}/parent", device.name),
            value: (device.kind != Kind::Hardware).then(|| device.netdevs().join(" ")),
            unknown: (device.kind == Kind::Hardware).then(|| "not present on this host".into()),
        }],
        verdict,
        explains: Some(explains),
        next: if explains {
            "measure on an adapter; a software device measures the CPU".into()
        } else {
            String::new()
        },
    }
}

/// What the link can carry at most: headers on the wire, and the PCIe link behind the port.
pub(super) fn ceiling(view: &View, device: &Device) -> Step {
    let mut readings = Vec::new();
    let mut seen =
        |at: String, value: String| readings.push(Reading { at, value: Some(value), unknown: None });
    let mtu = device.netdevs().first().and_then(|netdev| Netdev::new(view.sysroot, netdev).mtu().known());
    let path_mtu = mtu.and_then(ceiling::path_mtu);
    let on_wire = device.gigabits().zip(path_mtu).map(|(rate, path_mtu)| {
        let payload = ceiling::wire_gigabits(rate, path_mtu);
        seen(
            format!("{rate:.0} Gb/s with packets of {path_mtu} bytes"),
            format!("{payload:.1} Gb/s of payload"),
        );
        payload
    });
    let links =
        device.way.iter().filter_map(|function| pcie::link(view.sysroot, &function.folder).current.known());
    let slowest = links.min_by_key(|link| link.megabits_per_sec());
    let max_payload = device
        .function()
        .and_then(|own| pcie::device_control(view.sysroot, &format!("{}/config", own.folder)).known());
    // What firmware commonly sets where the register cannot be read.
    let max_payload = max_payload.map_or(256, |control| control.max_payload_bytes());
    let over_pcie = slowest.map(|link| {
        let payload = ceiling::pcie_gigabits(link, max_payload);
        seen(format!("{link} with packets of {max_payload} bytes"), format!("{payload:.1} Gb/s of payload"));
        payload
    });
    let least = match (on_wire, over_pcie) {
        (Some(wire), Some(pcie)) => Some(wire.min(pcie)),
        (one, other) => one.or(other),
    };
    let verdict = match least {
        Some(gigabits) => {
            format!("at most about {gigabits:.1} Gb/s of payload; hold what was measured against that")
        }
        None => "it cannot be computed: neither rate and MTU nor a PCIe link are known".to_owned(),
    };
    Step {
        asked: "what can the link carry at most?".into(),
        readings,
        verdict,
        explains: least.map(|_| false),
        next: String::new(),
    }
}
