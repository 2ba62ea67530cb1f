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
        (Value::Known(own), Value::Known(root)) if own != root => draft.note(format!(
            "{own} bytes, and {root} at the root port: someone has set them apart, and the smaller holds"
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
    let words = control.as_ref().map(|control| {
        let sign = |on| if on { '+' } else { '-' };
        format!("RlxdOrd{} ExtTag{}", sign(control.relaxed_ordering()), sign(control.extended_tag()))
    });
    let draft = ORDERING.about(&device.name).read(register(own), &words);
    match enabled {
        Value::Known(true) => draft.fine("enabled; the harness sets it per region, and says so in the record"),
        Value::Known(false) => draft
            .remedy("a setting of the firmware of host or adapter (PCI_WR_ORDERING): `rdma-harness explain pcie-relaxed-ordering`")
            .warning("disabled: asking for it when registering memory has no effect, which on some CPUs halves bandwidth"),
        other => draft.without("the register", &other),
    }
}

pub(super) fn control_of(view: &View, function: &Function) -> Value<DeviceControl> {
    pcie::device_control(view.sysroot, &format!("{}/config", function.folder))
}

fn register(function: &Function) -> String {
    format!("{}/config, PCIe device control", function.folder)
}

/// A state that a link of a device's way can be switched to, and the switch.
struct Sleep<'d> {
    address: &'d str,
    state: &'static str,
    path: String,
    switch: Value<String>,
}

fn sleeps<'d>(view: &View, device: &'d Device) -> Vec<Sleep<'d>> {
    let states = device.way.iter().flat_map(|function| ASPM_STATES.map(|state| (function, state)));
    states
        .map(|(function, state)| {
            let path = format!("{}/link/{state}", function.folder);
            Sleep { address: &function.address, state, switch: view.sysroot.read(&path), path }
        })
        .filter(|sleep| sleep.switch != Value::Absent)
        .collect()
}

impl Sleep<'_> {
    fn is_on(&self) -> bool {
        self.switch == Value::Known("1".into())
    }
}

/// The states that links of a device's way may sleep in, each once; none where it has no switches.
pub(super) fn sleeping_states(view: &View, device: &Device) -> Option<String> {
    let sleeps = sleeps(view, device);
    let on: std::collections::BTreeSet<&str> =
        sleeps.iter().filter(|sleep| sleep.is_on()).map(|sleep| sleep.state).collect();
    let on: Vec<&str> = on.into_iter().collect();
    (!sleeps.is_empty()).then(|| if on.is_empty() { "off".to_owned() } else { on.join(", ") })
}

fn aspm(view: &View, device: &Device) -> Finding {
    let sleeps = sleeps(view, device);
    let draft = ASPM.about(&device.name);
    let draft = sleeps.iter().fold(draft, |draft, sleep| draft.read(sleep.path.as_str(), &sleep.switch));
    let on: Vec<_> = sleeps
        .iter()
        .filter(|sleep| sleep.is_on())
        .map(|sleep| (sleep.address, sleep.state, &sleep.path))
        .collect();
    let seen = !sleeps.is_empty();
    match on.as_slice() {
        [] if seen => draft.fine("no link of its way may sleep"),
        [] => {
            let none: Value<String> = Value::Absent;
            draft
                .read(format!("{}/link/*_aspm", device.folder), &none)
                .fine("its links have no ASPM that the kernel controls")
        }
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

/// The policy of all links that may sleep.
pub(super) fn chosen_policy(view: &View) -> Value<String> {
    view.sysroot.read(POLICY).parse(|text| {
        host::memory::bracketed(&text)
            .map(str::to_owned)
            .ok_or_else(|| format!("{POLICY}: no word in brackets"))
    })
}

fn policy(view: &View) -> Finding {
    let draft = ASPM.about(HOST).read(POLICY, &view.sysroot.read(POLICY));
    let chosen = chosen_policy(view);
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

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, NotApplicable, Note, Unknown, Warning, Wrong};

    use crate::doctor::planted::Planted;

    const OWN: &str = "/sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0";
    const ROOT: &str = "/sys/devices/pci0000:c0/0000:c0:01.1";

    #[test]
    fn eight_lanes_of_sixteen_carry_less_than_the_port() {
        let host = Planted::on("two-socket-mlx5");
        let finding = host.finding("pcie-link", "mlx5_1");
        assert_eq!(
            (finding.severity, finding.summary.as_str()),
            (
                Warning,
                "8.0 GT/s x8 carries 63.0 Gb/s, less than the port's 100; the adapter can 16.0 GT/s x16 (252.0)"
            )
        );
        assert!(finding.remedy.contains("lspci -vv -s 0000:41:00.0"), "{}", finding.remedy);
        assert_eq!(host.says("pcie-link", "mlx5_0").0, Fine);
    }

    #[test]
    fn the_narrowest_link_on_the_way_counts_wherever_it_is() {
        let host = Planted::on("two-socket-mlx5")
            .with(&format!("{ROOT}/current_link_width"), "4\n")
            .with(&format!("{ROOT}/current_link_speed"), "8.0 GT/s PCIe\n");
        let (severity, summary) = host.says("pcie-link", "mlx5_0");
        assert_eq!(severity, Warning);
        assert!(summary.starts_with("8.0 GT/s x4 at 0000:c0:01.1 carries 31.5 Gb/s"), "{summary}");
    }

    #[test]
    fn a_link_below_its_best_that_is_enough_for_the_port_is_a_note() {
        let host = Planted::on("two-socket-mlx5")
            .with("/sys/class/infiniband/mlx5_0/ports/1/rate", "25 Gb/sec (1X EDR)\n")
            .with(&format!("{OWN}/current_link_width"), "8\n");
        assert_eq!(host.says("pcie-link", "mlx5_0").0, Note);
        assert_eq!(Planted::on("azure-hyperv").says("pcie-link", "mlx5_0").0, NotApplicable);
        assert_eq!(Planted::on("guest-rxe").says("pcie-link", "rxe0").0, NotApplicable);
    }

    /// The list of capabilities holds PCI Express alone, at 0x60, with this device control.
    fn config(control: u16) -> String {
        let mut bytes = vec![0_u8; 256];
        (bytes[6], bytes[0x34], bytes[0x60]) = (0x10, 0x60, 0x10);
        bytes[0x68..0x6a].copy_from_slice(&control.to_le_bytes());
        String::from_utf8(bytes).expect("bytes below 0x80")
    }

    #[test]
    fn small_reads_cost_a_fast_port_and_nothing_at_a_slow_one() {
        // MaxReadReq 512, MaxPayload 256, RlxdOrd+.
        let path = format!("{OWN}/config");
        let small = Planted::on("two-socket-mlx5").with(&path, &config(0x2030));
        let finding = small.finding("pcie-max-read-request", "mlx5_0");
        assert_eq!(finding.severity, Warning, "200 Gb/s");
        assert!(
            finding.remedy.contains("setpci -s 0000:c1:00.0 CAP_EXP+8.w=5000:7000"),
            "{}",
            finding.remedy
        );
        let slow = small.with("/sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
        assert_eq!(slow.says("pcie-max-read-request", "mlx5_0").0, Fine);
        let large = slow.with(&path, &config(0x5020));
        assert_eq!(large.says("pcie-max-read-request", "mlx5_0"), (Fine, "4096 bytes".into()));
        assert_eq!(large.says("pcie-relaxed-ordering", "mlx5_0").0, Warning, "bit 4 is off");
        assert_eq!(
            large.with(&path, &config(0x5000)).says("pcie-max-payload", "mlx5_0").0,
            Note,
            "128 here, 256 above"
        );
    }

    #[test]
    fn without_root_the_registers_are_unknown_and_not_zero() {
        let cloud = Planted::on("azure-hyperv");
        for check in ["pcie-max-read-request", "pcie-max-payload", "pcie-relaxed-ordering"] {
            let (severity, summary) = cloud.says(check, "mlx5_0");
            assert!(severity == Unknown && summary.contains("root"), "{check}: {summary}");
        }
    }

    #[test]
    fn errors_are_named_with_the_function_that_counted_them() {
        let host = Planted::on("two-socket-mlx5");
        let (severity, summary) = host.says("pcie-aer", "mlx5_1");
        assert!(severity == Warning && summary.contains("3 BadTLP at 0000:41:00.0"), "{summary}");
        let fatal = host.with(&format!("{ROOT}/aer_dev_nonfatal"), "CmpltTO 2\nTOTAL_ERR_NONFATAL 2\n");
        assert_eq!(
            fatal.says("pcie-aer", "mlx5_0"),
            (Wrong, "not corrected since boot: 2 CmpltTO at 0000:c0:01.1".into())
        );
    }

    #[test]
    fn a_link_that_may_sleep_and_a_policy_that_lets_all_sleep_are_told_with_the_word_to_write() {
        let host = Planted::on("two-socket-mlx5").with(&format!("{OWN}/link/l1_aspm"), "1\n").with(
            "/sys/module/pcie_aspm/parameters/policy",
            "default performance [powersave] powersupersave\n",
        );
        let link = host.finding("pcie-aspm", "mlx5_0");
        assert_eq!(link.severity, Warning);
        assert!(link.remedy.ends_with(&format!("echo 0 > {OWN}/link/l1_aspm")), "{}", link.remedy);
        assert_eq!(
            host.says("pcie-aspm", "host"),
            (Warning, "policy powersave: every link that can sleeps".into())
        );
    }
}
