//! What a suite says of its nodes and their agents: the device, whether hosts are audited, how long agents are waited for. Where they
//! run is the launcher's, so that scenarios must not say it.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use schema::{Nanos, Side};

use crate::{
    scenario::{At, Fault, Place, Section},
    suite::Named,
};

/// How long agents are waited for where a suite does not say.
const WAIT: Duration = Duration::from_secs(60);
/// The device that nobody named.
const ANY: &str = "auto";

/// What is said of the nodes.
pub(super) struct Agents {
    pub(super) device: String,
    pub(super) audit: bool,
    pub(super) wait: Duration,
}

/// Reads `[agents]`, and has scenarios and suite agree on the device.
pub(super) fn read(root: &Section<'_>, named: &[Named]) -> Option<Agents> {
    let section = root.section("agents");
    let section = section.as_ref();
    let device = section.and_then(|agents| agents.text("device"));
    let audit = section.and_then(|agents| agents.flag("audit")).is_none_or(|flag| flag.value);
    let wait = section.and_then(|agents| agents.parsed::<Nanos>("wait"));
    if let (Some(section), Some(zero)) = (section, wait.as_ref().filter(|wait| wait.value.get() == 0)) {
        section.fault("wait", zero.span.clone(), "is no time to wait");
    }
    if let (Some(section), Some(empty)) = (section, device.as_ref().filter(|device| device.value.is_empty()))
    {
        section.fault(
            "device",
            empty.span.clone(),
            "is empty; write \"auto\", \"soft\" or the name of a device",
        );
    }
    if let Some(section) = section {
        section.finish();
    }
    let wait = wait.map_or(WAIT, |wait| Duration::from_nanos(wait.value.get()));
    Some(Agents { device: one_device(root, named, device)?, audit, wait })
}

/// The device of a node: every node is on both sides, so that all must name the same one, or none.
fn one_device(root: &Section<'_>, named: &[Named], asked: Option<At<String>>) -> Option<String> {
    let mut settled = asked.filter(|device| device.value != ANY);
    for (n, entry) in named.iter().enumerate() {
        let sides = entry.specs().flat_map(|(_, spec)| [&spec.requester.device, &spec.responder.device]);
        for device in sides.filter(|device| *device != ANY) {
            let Some(first) = &settled else {
                settled = Some(At { value: device.clone(), span: entry.file.span.clone() });
                continue;
            };
            if first.value != *device {
                let what = format!(
                    "scenario `{}` is for device `{device}`, and `{}` is said already; every node is measured on both sides, with one device",
                    entry.scenario.name, first.value
                );
                let fault = Fault::new(format!("scenarios[{n}].file"), entry.file.span.clone(), what);
                let advice = "leave the device of scenarios at \"auto\"; [agents] device = \"NAME\" or the host file says which it is";
                root.push(fault.beside(first.span.clone(), "said here").advice(advice));
                return None;
            }
        }
    }
    Some(settled.map_or(ANY.to_owned(), |device| device.value))
}

/// Refuses scenarios that say where their sides run: it would not be so.
pub(super) fn refuse_hosts(root: &Section<'_>, named: &[Named]) {
    for (n, entry) in named.iter().enumerate() {
        let (scenario, hosts) = (&entry.scenario.name, &entry.scenario.hosts);
        for side in [Side::Requester, Side::Responder] {
            let host = hosts.of(side);
            let said = if host.at != Place::Local {
                format!("at = \"{}\"", host.at)
            } else if let Some(agent) = &host.agent {
                format!("agent = \"{agent}\"")
            } else if side == Side::Responder && hosts.address != IpAddr::V4(Ipv4Addr::LOCALHOST) {
                format!("address = \"{}\"", hosts.address)
            } else {
                continue;
            };
            let what = format!(
                "scenario `{scenario}` says {said} of the {side}; where the nodes of a cluster run is the launcher's to say"
            );
            let advice = "use a scenario without it, and name the nodes with --nodes or --hostfile";
            let fault = Fault::new(format!("scenarios[{n}].file"), entry.file.span.clone(), what);
            root.push(fault.advice(advice));
        }
    }
}
