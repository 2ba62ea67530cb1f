//! What ought to be alike among the nodes of a cluster, as far as this host tells it; what is not known is left out.
//!
//! Names are those of a night's configuration where both tell the same. What names this very host (its disks, its addresses) is
//! no fact. `docs/doctor.md` lists them all.

use host::{Nic, Value, cpufreq, cpuinfo, cpulist, memory, netdev::Netdev, nic, pcie, sysctl as reading};
use schema::Configuration;

use super::{
    by_cpu::ByCpu,
    ceiling, pcie as links, qos, queues, sysctl,
    view::{Device, Kind, View},
};
use crate::words;

/// A fact's name, and what it is; none where that is not known.
type Fact = (&'static str, Option<String>);

/// The facts of a host, and of its device where there is one alone.
pub(super) fn of(view: &View) -> Configuration {
    let mut facts = of_host(view);
    if let [device] = &view.devices[..] {
        facts.extend(of_device(view, device));
        facts.extend(of_port(view, device));
    }
    let named = facts.into_iter().map(|(name, value)| (name.to_owned(), value));
    let known = named.chain(sysctls(view)).filter_map(|(name, value)| Some((name, value?)));
    Configuration(known.filter(|(_, value)| !value.is_empty()).collect())
}

fn of_host(view: &View) -> Vec<Fact> {
    let text = |path: &str| view.sysroot.read(path).known();
    let cpus = view.topology.online();
    let of_cpus = |question: &dyn Fn(u32) -> Value<String>| ByCpu::ask(&cpus, question).answer();
    let nodes: Vec<u32> = view.topology.nodes.iter().map(|node| node.id).collect();
    let names = nic::names(view.sysroot).known();
    vec![
        ("kernel", text("/proc/sys/kernel/osrelease")),
        ("boot_command_line", text("/proc/cmdline").map(|line| common_boot_words(&line))),
        ("bios", text("/sys/class/dmi/id/bios_version")),
        ("microcode", text("/sys/devices/system/cpu/cpu0/microcode/version")),
        ("cpu", cpuinfo::model(view.sysroot).known()),
        ("cpus_online", Some(cpulist::format(&cpus))),
        ("cpus_isolated", view.topology.isolated.as_ref().known().map(|cpus| list_or_none(cpus))),
        ("numa_nodes", Some(cpulist::format(&nodes))),
        ("governor", of_cpus(&|cpu| cpufreq::governor(view.sysroot, cpu))),
        ("epp", of_cpus(&|cpu| cpufreq::epp(view.sysroot, cpu))),
        ("turbo", cpufreq::turbo(view.sysroot).known().map(|turbo| on_off(turbo.on))),
        ("smt", text("/sys/devices/system/cpu/smt/active").map(|active| on_off(active == "1"))),
        ("clocksource", cpuinfo::clocksource(view.sysroot).known()),
        ("thp", memory::thp(view.sysroot, "enabled").known()),
        ("numa_balancing", reading::read(view.sysroot, "kernel.numa_balancing").known()),
        ("irqbalance", irqbalance(view)),
        ("memlock", memory::memlock_bytes(view.sysroot).known().map(bytes_or_unlimited)),
        ("aspm_policy", links::chosen_policy(view).known()),
        ("rdma_devices", names.map(|names| if names.is_empty() { "none".into() } else { names.join(", ") })),
    ]
}

fn sysctls(view: &View) -> impl Iterator<Item = (String, Option<String>)> {
    sysctl::names().map(|name| {
        let value = reading::read(view.sysroot, name).known();
        (format!("sysctl.{name}"), value.map(|value| reading::normalised(&value)))
    })
}

fn of_device(view: &View, device: &Device) -> Vec<Fact> {
    let nic = Nic::new(view.sysroot, &device.name);
    let driver = match device.kind {
        Kind::Hardware => device.driver.clone().known(),
        Kind::SoftRoce => Some("rxe".to_owned()),
        Kind::SoftIwarp => Some("siw".to_owned()),
    };
    let version = driver.as_ref().map(|driver| format!("/sys/module/{driver}/version"));
    let mut facts = vec![
        ("driver_version", version.and_then(|path| view.sysroot.read(path).known())),
        ("driver", driver),
        ("firmware", nic.firmware().known()),
        ("device_type", nic.hca_type().known()),
        ("device_board", nic.board_id().known()),
        ("device_node", device.node.as_ref().known().map(u32::to_string)),
    ];
    facts.extend(queues::answers(view, device).map(|(name, answer)| (name, answer.known())));
    if let Some(own) = device.function() {
        let link = pcie::link(view.sysroot, &own.folder).current.known();
        let control = links::control_of(view, own).known();
        facts.extend([
            ("pcie_speed", link.map(|link| format!("{} GT/s", f64::from(link.mega_transfers) / 1000.0))),
            ("pcie_width", link.map(|link| link.lanes.to_string())),
            (
                "pcie_max_read_request_bytes",
                control.map(|control| control.max_read_request_bytes().to_string()),
            ),
            ("pcie_max_payload_bytes", control.map(|control| control.max_payload_bytes().to_string())),
            ("pcie_relaxed_ordering", control.map(|control| on_off(control.relaxed_ordering()))),
            ("pcie_aspm", links::sleeping_states(view, device)),
            (
                "iommu",
                match view.sysroot.read(format!("{}/iommu_group/type", own.folder)) {
                    Value::Absent => Some("none".to_owned()),
                    domain => domain.known(),
                },
            ),
        ]);
    }
    facts
}

/// Of its first port, which is the one that is measured unless a spec says otherwise.
fn of_port(view: &View, device: &Device) -> Vec<Fact> {
    let Some(port) = device.ports.first() else { return Vec::new() };
    let nic = Nic::new(view.sysroot, &device.name);
    let mtu = port.netdevs.first().and_then(|netdev| Netdev::new(view.sysroot, netdev).mtu().known());
    let active_mtu = mtu.filter(|_| port.ethernet).and_then(ceiling::path_mtu);
    let [trust, pfc, pause] = qos::in_words(view, device, port);
    vec![
        ("port_state", nic.state(port.number).known()),
        ("link_layer", nic.link_layer(port.number).known()),
        ("rate", port.rate.clone().known()),
        ("netdev_mtu", mtu.map(|mtu| mtu.to_string())),
        ("active_mtu", active_mtu.map(|mtu| mtu.to_string())),
        ("trust", trust),
        ("pfc", pfc),
        ("global_pause", pause),
    ]
}

/// `none` says something else than what is not known.
fn list_or_none(cpus: &[u32]) -> String {
    if cpus.is_empty() { "none".to_owned() } else { cpulist::format(cpus) }
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn bytes_or_unlimited(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), |bytes| format!("{bytes} bytes"))
}

fn irqbalance(view: &View) -> Option<String> {
    view.daemons.as_ref().known()?;
    let state = match view.daemon("irqbalance") {
        None => "not running",
        Some(process) if process.is_stopped() => "stopped",
        Some(_) => "running",
    };
    Some(state.to_owned())
}

/// The kernel's command line without the words that name this host's kernel, disks and addresses.
fn common_boot_words(line: &str) -> String {
    const OF_THIS_HOST: [&str; 9] = [
        "root",
        "resume",
        "nfsroot",
        "ip",
        "ifname",
        "BOOTIF",
        "systemd.hostname",
        "systemd.machine_id",
        "rd.luks.uuid",
    ];
    let line = words::boot_words(line);
    let key = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let words = line.split_whitespace().filter(|word| !OF_THIS_HOST.contains(&key(word).as_str()));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use host::Sysroot;
    use host::testing::{copy, fixture};

    use super::*;
    use crate::doctor::Devices;

    fn facts(sysroot: &Sysroot, devices: &Devices) -> Configuration {
        of(&View::of(sysroot, devices).unwrap())
    }

    fn one(name: &str) -> Devices {
        Devices::One(name.into())
    }

    #[test]
    fn a_bare_metal_host_tells_them_all() {
        let facts = facts(&fixture("two-socket-mlx5"), &one("mlx5_0"));
        for (name, value) in [
            ("kernel", "6.8.0-45-generic"),
            ("cpu", "AMD EPYC 9354 32-Core Processor"),
            ("cpus_online", "0-7"),
            ("cpus_isolated", "3,7"),
            ("numa_nodes", "0-1"),
            ("governor", "performance"),
            ("driver", "mlx5_core"),
            ("link_layer", "Ethernet"),
            ("pcie_width", "16"),
            ("iommu", "DMA-FQ"),
            ("sysctl.net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ] {
            assert_eq!(facts.0.get(name).map(String::as_str), Some(value), "{name} of {facts:#?}");
        }
        let page = include_str!("../../../docs/doctor.md");
        for name in facts.0.keys().filter(|name| !name.starts_with("sysctl.")) {
            assert!(page.contains(&format!("`{name}`")), "docs/doctor.md does not list {name}");
        }
    }

    #[test]
    fn what_is_not_known_is_left_out_and_what_is_none_is_told() {
        let facts = facts(&fixture("guest-rxe"), &one("rxe0"));
        assert_eq!(facts.0.get("governor"), None, "a guest without cpufreq");
        assert_eq!(facts.0["cpus_isolated"], "none");
        assert_eq!(facts.0["driver"], "rxe");
        assert_eq!(facts.0.get("pcie_width"), None);
    }

    #[test]
    fn a_host_without_its_device_or_with_several_tells_nothing_of_one() {
        for devices in [Devices::None, Devices::All] {
            let facts = facts(&fixture("two-socket-mlx5"), &devices);
            assert_eq!(facts.0.get("firmware"), None, "{devices:?}");
            assert_eq!(facts.0["rdma_devices"], "mlx5_0, mlx5_1");
        }
    }

    #[test]
    fn one_setting_that_differs_is_one_fact_that_differs() {
        let node = copy("two-socket-mlx5");
        let mut changed = Vec::new();
        for (path, text) in [
            ("sys/devices/system/cpu/cpu5/cpufreq/scaling_governor", "powersave\n"),
            ("proc/sys/net/core/rmem_max", "1\n"),
            ("sys/class/infiniband/mlx5_0/fw_ver", "1.2.3\n"),
            ("sys/class/net/ens1np0/mtu", "1500\n"),
        ] {
            std::fs::write(node.path().join(path), text).unwrap();
            let mine = facts(&Sysroot::new(node.path()), &one("mlx5_0"));
            let changes = mine.changes_from(&facts(&fixture("two-socket-mlx5"), &one("mlx5_0")));
            changed = changes.into_iter().map(|change| change.what).collect::<Vec<_>>();
        }
        assert_eq!(changed, ["active_mtu", "firmware", "governor", "netdev_mtu", "sysctl.net.core.rmem_max"]);
    }

    #[test]
    fn what_names_this_very_host_is_no_fact() {
        let line = "BOOT_IMAGE=/vmlinuz root=UUID=1f ro quiet ip=10.0.0.7::dhcp iommu=pt";
        assert_eq!(common_boot_words(line), "ro quiet iommu=pt");
    }
}
