//! The PCIe links between the NIC and the root port, and how the NIC uses them.

use host::{
    Value, aer,
    pcie::{self, DeviceControl, Function, Link, LinkState},
};
use schema::{Finding, Matters};

use super::{
    ceiling,
    check::{Check, HOST},
    view::{Device, View},
};

const LINK: Check = Check {
    name: "pcie-link",
    expected: "every link on the way to the root port at its best speed and width, and carrying more than the port",
    authority: "kernel documentation (ABI/testing/sysfs-bus-pci: current_link_speed); the kernel prints the same arithmetic at load",
    matters: &[Matters::DataPath, Matters::EventMode, Matters::ControlPath],
};

const READ_REQUEST: Check = Check {
    name: "pcie-max-read-request",
    expected: "4096 bytes from 200 Gb/s on; of no account up to 100 Gb/s",
    authority: "NVIDIA's nic-configuration-operator and OCI's HPC images set 4096",
    matters: &[Matters::DataPath],
};

const PAYLOAD: Check = Check {
    name: "pcie-max-payload",
    expected: "the same as the root port's, as the firmware set it; never changed by hand",
    authority: "PCI Express base specification: the smallest of the path holds for all",
    matters: &[Matters::DataPath],
};

const ORDERING: Check = Check {
    name: "pcie-relaxed-ordering",
    expected: "enabled, so that regions registered with relaxed ordering have it",
    authority: "rdma-core (IBV_ACCESS_RELAXED_ORDERING); perftest uses it except where it polls memory",
    matters: &[Matters::DataPath],
};

const ASPM: Check = Check {
    name: "pcie-aspm",
    expected: "no link state that sleeps; most adapters do not support ASPM, and then the policy is of no account",
    authority: "kernel documentation (ABI/testing/sysfs-bus-pci: link/l1_aspm)",
    matters: &[Matters::EventMode, Matters::DataPath],
};

const AER: Check = Check {
    name: "pcie-aer",
    expected: "no errors",
    authority: "kernel documentation (PCI/pcieaer-howto.rst): corrected errors are repeats that cost time, the others cost data",
    matters: &[Matters::DataPath],
};

const POLICY: &str = "/sys/module/pcie_aspm/parameters/policy";

/// States a link can be switched to for saving power, as sysfs calls them.
const ASPM_STATES: [&str; 5] = ["l0s_aspm", "l1_aspm", "l1_1_aspm", "l1_2_aspm", "clkpm"];

/// Six findings a device, or one that says why there are none.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    view.devices.iter().flat_map(|device| of_device(view, device)).chain([policy(view)]).collect()
}

fn of_device(view: &View, device: &Device) -> Vec<Finding> {
    let checks = [&LINK, &READ_REQUEST, &PAYLOAD, &ORDERING, &ASPM, &AER];
    let Some(own) = device.function() else {
        let why = device.why_software().unwrap_or("its bus device is not on PCI");
        return checks.map(|check| check.about(&device.name).not_applicable(why)).into();
    };
    let control = control_of(view, own);
    vec![
        link(view, device),
        read_request(device, own, &control),
        payload(view, device, own, &control),
        ordering(device, own, &control),
        aspm(view, device),
        errors(view, device),
    ]
}

fn link(view: &View, device: &Device) -> Finding {
    let links: Vec<(&Function, Link)> =
        device.way.iter().map(|function| (function, pcie::link(view.sysroot, &function.folder))).collect();
    let draft = links.iter().fold(LINK.about(&device.name), |draft, (function, link)| {
        draft
            .read(format!("{}/current_link_speed, _width", function.folder), &link.current)
            .read(format!("{}/max_link_speed, _width", function.folder), &link.best)
    });
    let slowest = links
        .iter()
        .filter_map(|(function, link)| Some((link.current.as_ref().known().copied()?, *function)))
        .min_by_key(|(state, _)| state.megabits_per_sec());
    let Some((state, at)) = slowest else {
        let own = &links[0].1.current;
        return match own {
            Value::Absent => draft.not_applicable("the kernel shows no link of this device"),
            _ if view.is_guest() => {
                draft.not_applicable("a virtual function: its link is the hypervisor's to see")
            }
            other => draft.without("its link", other),
        };
    };
    let best = links[0].1.best.as_ref().known().copied();
    let carries = gigabits(state);
    let port = device.gigabits();
    let falls_short = port.is_some_and(|port| carries < port);
    let place = if at.address == device.address() { String::new() } else { format!(" at {}", at.address) };
    let remedy = format!(
        "look at the slot (its wiring, the riser, bifurcation in the firmware) and at seating; then\nlspci -vv -s {} | grep -E 'LnkCap|LnkSta'",
        at.address
    );
    match (best.filter(|best| best.megabits_per_sec() > state.megabits_per_sec()), port) {
        (Some(best), Some(port)) if falls_short => draft.remedy(remedy).warning(format!(
            "{state}{place} carries {carries:.1} Gb/s, less than the port's {port:.0}; the adapter can {best} ({:.1})",
            gigabits(best)
        )),
        (Some(best), _) => draft.remedy(remedy).note(format!(
            "{state}{place} carries {carries:.1} Gb/s, enough for the port as it runs; the adapter can {best}"
        )),
        (None, Some(port)) if falls_short => draft.note(format!(
            "{state}{place} is the adapter's best, and carries {carries:.1} Gb/s of the port's {port:.0}"
        )),
        (None, _) => draft.fine(format!("{state}, {carries:.1} Gb/s, the best the adapter can")),
    }
}

fn gigabits(state: LinkState) -> f64 {
    state.megabits_per_sec() as f64 / 1000.0
}

fn read_request(device: &Device, own: &Function, control: &Value<DeviceControl>) -> Finding {
    let bytes = control.as_ref().map(|control| control.max_read_request_bytes());
    let draft = READ_REQUEST
        .about(&device.name)
        .read(register(own), &bytes.as_ref().map(|bytes| format!("{bytes} bytes")));
    let fast = device.gigabits().is_some_and(|gigabits| gigabits >= 200.0);
    match (bytes, control) {
        (Value::Known(bytes), _) if bytes >= 4096 => draft.fine(format!("{bytes} bytes")),
        (Value::Known(bytes), Value::Known(control)) if fast => {
            let asked = control.with_max_read_request(4096).map_or(control.bits, |control| control.bits);
            draft
                .remedy(format!(
                    "for one run, the knob max_read_request (disruptive);\nby hand: setpci -s {} CAP_EXP+8.w={:04x}:7000, and \
                     read it back: lockdown lets the write vanish",
                    own.address, asked & 0x7000
                ))
                .warning(format!("{bytes} bytes: at 200 Gb/s and more, reading host memory in small pieces costs bandwidth"))
        }
        (Value::Known(bytes), _) => draft.fine(format!("{bytes} bytes, of no account at this rate")),
        (other, _) => draft.without("the register", &other),
    }
}

fn payload(view: &View, device: &Device, own: &Function, control: &Value<DeviceControl>) -> Finding {
    let bytes = control.as_ref().map(|control| control.max_payload_bytes());
    let draft = PAYLOAD
        .about(&device.name)
        .read(register(own), &bytes.as_ref().map(|bytes| format!("{bytes} bytes")));
    let root = device.way.last().filter(|root| root.address != own.address);
    let above = root.map_or(Value::Absent, |root| control_of(view, root));
    let above = above.map(|control| control.max_payload_bytes());
    let draft = match root {
        Some(root) => draft.read(register(root), &above.as_ref().map(|bytes| format!("{bytes} bytes"))),
        None => draft,
    };
    match (&bytes, &above) {
        (Value::Known(own), Value::Known(root)) if own != root => draft.wrong(format!(
            "{own} bytes, and {root} at the root port: packets above the smaller are refused"
        )),
        (Value::Known(own), _) => {
            let link = pcie::link(view.sysroot, &device.folder).current;
            match link {
                Value::Known(state) => draft.fine(format!(
                    "{own} bytes, which leave {:.1} Gb/s for payload",
                    ceiling::pcie_gigabits(state, *own)
                )),
                _ => draft.fine(format!("{own} bytes")),
            }
        }
        (other, _) => draft.without("the register", other),
    }
}

fn ordering(device: &Device, own: &Function, control: &Value<DeviceControl>) -> Finding {
    let enabled = control.as_ref().map(|control| control.relaxed_ordering());
    let words = enabled.as_ref().map(|on| if *on { "RlxdOrd+" } else { "RlxdOrd-" });
    let draft = ORDERING.about(&device.name).read(register(own), &words);
    match enabled {
        Value::Known(true) => draft.fine("enabled; the harness sets it per region, and says so in the record"),
        Value::Known(false) => draft
            .remedy("a setting of the firmware of host or adapter (PCI_WR_ORDERING): `rdma-harness explain pcie-relaxed-ordering`")
            .warning("disabled: asking for it when registering memory has no effect, which on some CPUs halves bandwidth"),
        other => draft.without("the register", &other),
    }
}

fn control_of(view: &View, function: &Function) -> Value<DeviceControl> {
    pcie::device_control(view.sysroot, &format!("{}/config", function.folder))
}

fn register(function: &Function) -> String {
    format!("{}/config, PCIe device control", function.folder)
}

fn aspm(view: &View, device: &Device) -> Finding {
    let mut draft = ASPM.about(&device.name);
    let (mut on, mut seen) = (Vec::new(), false);
    for function in &device.way {
        for state in ASPM_STATES {
            let path = format!("{}/link/{state}", function.folder);
            let value = view.sysroot.read(&path);
            if value == Value::Absent {
                continue;
            }
            seen = true;
            if value == Value::Known("1".into()) {
                on.push((function.address.as_str(), state, path.clone()));
            }
            draft = draft.read(path, &value);
        }
    }
    match on.as_slice() {
        [] if seen => draft.fine("no link of its way may sleep"),
        [] => draft.fine("its links have no ASPM that the kernel controls"),
        on => {
            let states: Vec<String> =
                on.iter().map(|(address, state, _)| format!("{state} of {address}")).collect();
            let commands: Vec<String> = on.iter().map(|(_, _, path)| format!("echo 0 > {path}")).collect();
            draft
                .remedy(format!(
                    "for one run, the knob aspm of a tuning profile (policy performance);\nby hand:\n{}",
                    commands.join("\n")
                ))
                .warning(format!("{}: a link that slept takes microseconds to wake", states.join(", ")))
        }
    }
}

fn policy(view: &View) -> Finding {
    let text = view.sysroot.read(POLICY);
    let draft = ASPM.about(HOST).read(POLICY, &text);
    let chosen = text.as_ref().parse(|text| {
        host::memory::bracketed(text)
            .map(str::to_owned)
            .ok_or_else(|| format!("{POLICY}: no word in brackets"))
    });
    match &chosen {
        Value::Known(policy) if policy.starts_with("power") => draft
            .remedy(format!(
                "for one run, the knob aspm of a tuning profile;\nby hand: echo performance > {POLICY}"
            ))
            .warning(format!("policy {policy}: every link that can sleeps")),
        Value::Known(policy) => draft.fine(format!("policy {policy}")),
        Value::Absent => draft.not_applicable("this kernel does not control ASPM"),
        other => draft.without("policy", other),
    }
}

fn errors(view: &View, device: &Device) -> Finding {
    let mut draft = AER.about(&device.name);
    let (mut corrected, mut others, mut seen) = (Vec::new(), Vec::new(), false);
    for function in &device.way {
        for class in aer::CLASSES {
            let errors = aer::errors(view.sysroot, &function.folder, class);
            if errors == Value::Absent {
                continue;
            }
            let in_words = |errors: &Vec<(String, u64)>| match errors.as_slice() {
                [] => "none".to_owned(),
                errors => errors
                    .iter()
                    .map(|(name, count)| format!("{name} {count}"))
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            draft = draft.read(aer::path(&function.folder, class), &errors.as_ref().map(in_words));
            let Value::Known(errors) = errors else { continue };
            seen = true;
            let found = errors.iter().map(|(name, count)| format!("{count} {name} at {}", function.address));
            if class == aer::CLASSES[0] { corrected.extend(found) } else { others.extend(found) }
        }
    }
    match (others.as_slice(), corrected.as_slice()) {
        ([], []) if seen => draft.fine("no errors since boot"),
        ([], []) => draft.not_applicable("the kernel counts no errors of this device"),
        ([], corrected) => draft
            .remedy("reseat the adapter and its riser; if the count grows in a run, its numbers are of a link that repeats")
            .warning(format!("corrected since boot: {}", corrected.join(", "))),
        (others, _) => draft
            .remedy("reseat the adapter and its riser, and look into the kernel's log for AER")
            .wrong(format!("not corrected since boot: {}", others.join(", "))),
    }
}
