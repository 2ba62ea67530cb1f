//! What the NIC and the host are: firmware, driver, kernel, BIOS. Nothing here makes a run faster by itself; two runs whose
//! answers differ are runs of two different things.

use std::collections::BTreeMap;

use host::{Nic, Value, ethtool};
use schema::{Finding, Matters};

use super::{
    check::{Check, HOST},
    view::{Device, View},
};

const FIRMWARE: Check = Check {
    name: "firmware",
    expected: "answering, and the same on adapters of one kind",
    authority: "kernel documentation (ABI/stable/sysfs-class-infiniband: fw_ver, board_id); a dead adapter reads as all ones",
    matters: &[Matters::Provenance],
};

const DRIVER: Check = Check {
    name: "driver",
    expected: "known; inbox and MLNX_OFED drivers are equally good, and are not the same",
    authority: "the kernel's mlx5 driver loads no firmware file: what counts is on the adapter",
    matters: &[Matters::Provenance],
};

const NVCONFIG: Check = Check {
    name: "nvconfig",
    expected: "current settings equal to those of the next boot",
    authority: "NVIDIA's mstconfig documentation: settings of the firmware take effect at its next reset",
    matters: &[Matters::Provenance, Matters::DataPath],
};

/// What firmware of an adapter that does not answer reads as.
const DEAD: &str = "65535.65535.65535";

/// Two or three findings a device, and one of the host.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    let of_device = |device| [firmware(view, device), driver(view, device), nvconfig(device)];
    view.devices.iter().flat_map(of_device).chain([host(view)]).collect()
}

fn firmware(view: &View, device: &Device) -> Finding {
    let nic = Nic::new(view.sysroot, &device.name);
    let (version, board, kind) = (nic.firmware(), nic.board_id(), nic.hca_type());
    let folder = format!("/sys/class/infiniband/{}", device.name);
    let revision = view.sysroot.read(format!("{folder}/hw_rev"));
    let draft = FIRMWARE
        .about(&device.name)
        .read(format!("{folder}/fw_ver"), &version)
        .read(format!("{folder}/board_id"), &board)
        .read(format!("{folder}/hca_type"), &kind)
        .read(format!("{folder}/hw_rev"), &revision);
    if let Some(why) = device.why_software() {
        return draft.not_applicable(why);
    }
    let Value::Known(version) = &version else { return draft.without("firmware", &version) };
    if version == DEAD {
        return draft
            .remedy(format!("cold-boot the host (a reset is not enough); lspci -s {}", device.address()))
            .wrong("all ones: the adapter does not answer any more");
    }
    let others = same_board(view, &board.clone().known().unwrap_or_default());
    if others.len() > 1 {
        let all: Vec<String> =
            others.iter().map(|(version, names)| format!("{version} on {}", names.join(", "))).collect();
        return draft.warning(format!("{version}; adapters of one kind differ: {}", all.join("; ")));
    }
    let board = board.known().unwrap_or_else(|| "board not named".into());
    draft.fine(format!("{version}, {} ({board})", kind.known().unwrap_or_else(|| "type not named".into())))
}

/// Devices of a board by their firmware.
fn same_board(view: &View, board: &str) -> BTreeMap<String, Vec<String>> {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for device in view.devices.iter().filter(|_| !board.is_empty()) {
        let nic = Nic::new(view.sysroot, &device.name);
        if let (Value::Known(other), Value::Known(version)) = (nic.board_id(), nic.firmware())
            && other == board
        {
            versions.entry(version).or_default().push(device.name.clone());
        }
    }
    versions
}

fn driver(view: &View, device: &Device) -> Finding {
    let draft = DRIVER.about(&device.name).read(format!("{}/driver", device.folder), &device.driver);
    let netdevs = device.netdevs();
    let asked = netdevs.first().map_or(Value::Absent, |netdev| ethtool::driver(view.sysroot, netdev));
    let draft = draft.read(
        format!("ethtool -i {}", netdevs.first().unwrap_or(&"")),
        &asked
            .as_ref()
            .map(|asked| format!("{} {}, firmware {}", asked.driver, asked.version, asked.firmware)),
    );
    if let Some(why) = device.why_software() {
        return draft.not_applicable(why);
    }
    let Value::Known(name) = &device.driver else { return draft.without("driver", &device.driver) };
    let path = format!("/sys/module/{name}/version");
    let version = view.sysroot.read(&path);
    let draft = draft.read(path, &version);
    match &version {
        // A driver of the kernel's own tree has no version but the kernel's.
        Value::Known(version) => {
            draft.fine(format!("{name} {version}, not the kernel's own (MLNX_OFED or DOCA)"))
        }
        _ => draft.fine(format!("{name} of the kernel")),
    }
}

fn nvconfig(device: &Device) -> Finding {
    let draft = NVCONFIG.about(&device.name);
    match (&device.driver, device.function()) {
        (Value::Known(driver), Some(own)) if driver.starts_with("mlx") => {
            let command = format!("mstconfig -d {} -e q", own.address);
            draft
                .seen("firmware settings", "not in any file")
                .remedy(format!(
                    "{command}\nas root, from the package mstflint; compare the columns Current and Next Boot"
                ))
                .unknown("only the vendor's tool reads the firmware's settings, and this starts none")
        }
        (_, Some(_)) => draft.not_applicable("this driver's firmware has no such settings"),
        (_, None) => draft.not_applicable(device.why_software().unwrap_or("its bus device is not on PCI")),
    }
}

fn host(view: &View) -> Finding {
    let read = |path: &str| view.sysroot.read(path);
    let kernel = read("/proc/sys/kernel/osrelease");
    let bios = read("/sys/class/dmi/id/bios_version");
    let microcode = read("/sys/devices/system/cpu/cpu0/microcode/version");
    let draft = DRIVER
        .about(HOST)
        .expect("known, and the same on the hosts that are compared")
        .read("/proc/sys/kernel/osrelease", &kernel)
        .read("/sys/class/dmi/id/bios_version", &bios)
        .read("/sys/devices/system/cpu/cpu0/microcode/version", &microcode)
        .read("/sys/devices/system/cpu/vulnerabilities/*", &mitigations(view))
        .read("/sys/kernel/security/lockdown", &read("/sys/kernel/security/lockdown"));
    let part = |name: &str, value: Value<String>| value.known().map(|value| format!("{name} {value}"));
    let parts: Vec<String> = [part("kernel", kernel), part("BIOS", bios), part("microcode", microcode)]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() {
        draft.unknown("the kernel does not say its version")
    } else {
        draft.fine(parts.join(", "))
    }
}

/// The mitigations in force, of what the CPU is affected by.
fn mitigations(view: &View) -> Value<String> {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    view.sysroot.list(folder).map(|names| {
        let state = |name: &String| {
            let text = view.sysroot.read(format!("{folder}/{name}")).known()?;
            let word = text.split([';', ':']).next().unwrap_or_default().trim().to_owned();
            (word != "Not affected").then(|| format!("{name}: {word}"))
        };
        let affected: Vec<String> = names.iter().filter_map(state).collect();
        if affected.is_empty() { "none needed".to_owned() } else { affected.join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, NotApplicable, Unknown, Warning, Wrong};

    use crate::doctor::planted::Planted;

    #[test]
    fn a_dead_adapter_and_a_pair_with_two_firmwares_are_found() {
        let dead =
            Planted::on("two-socket-mlx5").with("/sys/class/infiniband/mlx5_0/fw_ver", "65535.65535.65535\n");
        assert_eq!(dead.says("firmware", "mlx5_0").0, Wrong);
        let pair =
            Planted::on("two-socket-mlx5").with("/sys/class/infiniband/mlx5_1/board_id", "MT_0000000834\n");
        let (severity, summary) = pair.says("firmware", "mlx5_0");
        assert!(severity == Warning && summary.contains("22.39.1002 on mlx5_1"), "{summary}");
        assert_eq!(Planted::on("two-socket-mlx5").says("firmware", "mlx5_0").0, Fine);
        assert_eq!(Planted::on("guest-rxe").says("firmware", "rxe0").0, NotApplicable);
    }

    #[test]
    fn a_driver_with_a_version_of_its_own_is_not_the_kernels() {
        let host = Planted::on("two-socket-mlx5");
        assert!(host.says("driver", "mlx5_0").1.contains("not the kernel's own"));
        let inbox = host.without("/sys/module/mlx5_core/version");
        assert_eq!(inbox.says("driver", "mlx5_0"), (Fine, "mlx5_core of the kernel".into()));
    }

    #[test]
    fn settings_of_the_firmware_are_unknown_and_the_command_names_the_device() {
        let finding = Planted::on("two-socket-mlx5").finding("nvconfig", "mlx5_1");
        assert_eq!(finding.severity, Unknown);
        assert!(finding.remedy.starts_with("mstconfig -d 0000:41:00.0 -e q"), "{}", finding.remedy);
        assert_eq!(Planted::on("counters-odd").says("nvconfig", "irdma0").0, NotApplicable);
    }
}
