//! The ports: state, MTU and GIDs. What is wrong here stops a run, or sends it another way than was meant.

use host::{Nic, Value, gid, netdev::Netdev};
use schema::{Finding, Matters};

use super::{
    ceiling,
    check::{Check, Draft},
    view::{Device, Port, View},
};

const ALL_PATHS: &[Matters] = &[Matters::DataPath, Matters::EventMode, Matters::ControlPath];

const STATE: Check = Check {
    name: "port-state",
    expected: "4: ACTIVE and 5: LinkUp, its network device up with carrier",
    authority: "kernel documentation (ABI/stable/sysfs-class-infiniband); on RoCE the state follows the network device",
    matters: ALL_PATHS,
};

const MTU: Check = Check {
    name: "mtu",
    expected: "4192 bytes or more (in practice 4200 or 9000) on both hosts and the switch, for a RoCE MTU of 4096",
    authority: "the kernel's iboe_get_mtu (rdma/ib_addr.h): the largest of 256 to 4096 that fits with 96 bytes of headers",
    matters: &[Matters::DataPath],
};

const GID: Check = Check {
    name: "gid",
    expected: "a RoCE v2 entry with an IPv4 address of the port's own network device",
    authority: "kernel documentation (ABI/stable/sysfs-class-infiniband: gid_attrs); its index is nowhere fixed",
    matters: ALL_PATHS,
};

/// Three findings a port.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    let of_port =
        |device, port| [state(view, device, port), mtu(view, device, port), gids(view, device, port)];
    let pairs = view.devices.iter().flat_map(|device| device.ports.iter().map(move |port| (device, port)));
    pairs.flat_map(|(device, port)| of_port(device, port)).collect()
}

impl Device {
    /// A port as the subject of a finding: the device, and the port's number where there are several.
    pub(super) fn with(&self, port: &Port) -> String {
        if self.ports.len() == 1 { self.name.clone() } else { format!("{}/{}", self.name, port.number) }
    }
}

fn state(view: &View, device: &Device, port: &Port) -> Finding {
    let nic = Nic::new(view.sysroot, &device.name);
    let folder = format!("/sys/class/infiniband/{}/ports/{}", device.name, port.number);
    let state = nic.state(port.number);
    let physical = view.sysroot.read(format!("{folder}/phys_state"));
    let mut draft = STATE
        .about(&device.with(port))
        .read(format!("{folder}/state"), &state)
        .read(format!("{folder}/phys_state"), &physical)
        .read(format!("{folder}/rate"), &port.rate);
    for name in &port.netdevs {
        draft = read_netdev(draft, &Netdev::new(view.sysroot, name));
    }
    let Value::Known(state) = &state else { return draft.without("state", &state) };
    if state.ends_with("ACTIVE") {
        let rate = port.rate.clone().known().unwrap_or_else(|| "rate not known".into());
        return draft.fine(format!("{state}, {rate}"));
    }
    let (why, remedy) = why_down(view, port);
    draft.remedy(remedy).wrong(format!("{state} because {why}"))
}

fn read_netdev(draft: Draft, netdev: &Netdev) -> Draft {
    draft
        .read(netdev.path("operstate"), &netdev.operstate())
        .read(netdev.path("carrier"), &netdev.carrier().map(u8::from))
        .read(netdev.path("carrier_changes"), &netdev.carrier_changes())
}

/// Why a port is not active, as far as its network device tells, and what to do.
pub(super) fn why_down(view: &View, port: &Port) -> (String, String) {
    if !port.ethernet {
        return (
            "no subnet manager has configured it (an InfiniBand port)".into(),
            "sminfo; start opensm on one host if the fabric has none".into(),
        );
    }
    let Some(name) = port.netdevs.first() else {
        return (
            "it has no network device here (it may be in another network namespace)".into(),
            "ip -all netns exec ip -br link".into(),
        );
    };
    let netdev = Netdev::new(view.sysroot, name);
    match (netdev.is_up(), netdev.carrier()) {
        (Value::Known(false), _) => {
            (format!("the network device {name} is administratively down"), format!("ip link set {name} up"))
        }
        (_, Value::Known(false)) => (
            format!(
                "the network device {name} has no carrier: cable, module, the switch's port, or FEC and speed that do not match"
            ),
            format!("ethtool {name}; ethtool -m {name}; look at the switch's port"),
        ),
        _ => (
            format!("the network device {name} is up with carrier, so it is not the link"),
            format!("ip -d link show {name}; dmesg | grep {name}"),
        ),
    }
}

fn mtu(view: &View, device: &Device, port: &Port) -> Finding {
    let draft = MTU.about(&device.with(port));
    if !port.ethernet {
        return draft.not_applicable("an InfiniBand port: the subnet manager sets its MTU");
    }
    let Some(name) = port.netdevs.first() else {
        return draft.unknown("the port has no network device to read it from");
    };
    let netdev = Netdev::new(view.sysroot, name);
    let mtu = netdev.mtu();
    let roce = mtu.as_ref().map(|mtu| match ceiling::path_mtu(*mtu) {
        Some(roce) => roce.to_string(),
        None => "none".into(),
    });
    let draft = draft
        .read(netdev.path("mtu"), &mtu)
        .read("active_mtu (computed: sysfs has no file; verbs-bench devices asks the driver)", &roce);
    let Value::Known(mtu) = mtu else { return draft.without("MTU of the network device", &mtu) };
    match ceiling::path_mtu(mtu) {
        Some(4096) => draft.fine(format!("{mtu} on {name}, which gives RoCE packets of 4096 bytes")),
        Some(roce) => draft
            .remedy(format!(
                "with the knob mtu of a tuning profile (disruptive), on both hosts: ip link set {name} mtu 4200; the switch must \
                 take it too, and QPs that are connected keep their MTU"
            ))
            .warning(format!(
                "{mtu} on {name} gives RoCE packets of {roce} bytes: payload is at most {:.1} % of the link, at 4096 it \
                 would be {:.1} %",
                ceiling::wire_gigabits(100.0, roce),
                ceiling::wire_gigabits(100.0, 4096)
            )),
        None => draft
            .remedy(format!("ip link set {name} mtu 1500"))
            .wrong(format!("{mtu} on {name} is too small for any RoCE packet ({} bytes of headers and 256 of payload)", ceiling::ROCE_HEADERS_BYTES)),
    }
}

fn gids(view: &View, device: &Device, port: &Port) -> Finding {
    let draft = GID.about(&device.with(port));
    if !port.ethernet {
        return draft.not_applicable("an InfiniBand port: its GIDs come from the subnet");
    }
    let table = gid::table(view.sysroot, &device.name, port.number);
    let Value::Known(entries) = &table else { return draft.without("table of GIDs", &table) };
    let folder = gid::folder(&device.name, port.number);
    let draft = entries.iter().fold(draft, |draft, entry| {
        let kind = entry.kind.clone().known().unwrap_or_else(|| "type not known".into());
        let netdev = entry.netdev.clone().known().unwrap_or_else(|| "no netdev".into());
        draft.seen(format!("{folder}/{}", entry.index), format!("{} {kind} {netdev}", entry.address))
    });
    if device.kind == super::view::Kind::SoftIwarp {
        return draft.not_applicable("iWARP: a GID is no RoCE address here");
    }
    let v2: Vec<&gid::Gid> = entries.iter().filter(|entry| entry.is_v2()).collect();
    let of_port =
        |entry: &&&gid::Gid| matches!(&entry.netdev, Value::Known(netdev) if port.netdevs.contains(netdev));
    let routable = v2.iter().find(|entry| entry.address.is_ipv4() && of_port(entry));
    let netdev = port.netdevs.first().map_or("the network device", String::as_str);
    match (routable, v2.as_slice()) {
        (Some(entry), _) => draft.fine(format!("index {} is RoCE v2, {}", entry.index, entry.address)),
        (None, []) => draft
            .remedy(format!("ip addr add ADDRESS/24 dev {netdev}; is RoCE switched off (devlink dev param show pci/{} name enable_roce)?", device.address()))
            .wrong("no entry of RoCE v2: nothing that can be routed reaches this port"),
        (None, [first, ..]) => draft
            .remedy(format!("ip addr add ADDRESS/24 dev {netdev}"))
            .warning(format!(
                "no RoCE v2 entry with an IPv4 address; index {} is {}, which serves peers that have IPv6 alike",
                first.index, first.address
            )),
    }
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, NotApplicable, Warning, Wrong};

    use crate::doctor::planted::Planted;

    const PORT: &str = "/sys/class/infiniband/mlx5_0/ports/1";
    const NETDEV: &str = "/sys/class/net/ens1np0";

    #[test]
    fn a_port_without_carrier_says_so_and_not_that_pfc_is_missing() {
        let down = Planted::on("two-socket-mlx5")
            .with(&format!("{PORT}/state"), "1: DOWN\n")
            .with(&format!("{NETDEV}/carrier"), "0\n")
            .finding("port-state", "mlx5_0");
        assert_eq!(down.severity, Wrong);
        assert!(
            down.summary.starts_with("1: DOWN because the network device ens1np0 has no carrier"),
            "{}",
            down.summary
        );
        assert!(down.remedy.starts_with("ethtool ens1np0"), "{}", down.remedy);
    }

    #[test]
    fn a_port_that_was_switched_off_is_to_be_switched_on() {
        let down = Planted::on("grace-cpuless").finding("port-state", "mlx5_0");
        assert_eq!((down.severity, down.remedy.as_str()), (Wrong, "ip link set enp1s0 up"));
    }

    #[test]
    fn an_infiniband_port_waits_for_a_subnet_manager_and_has_no_roce() {
        let ib = Planted::on("two-socket-mlx5")
            .with(&format!("{PORT}/link_layer"), "InfiniBand\n")
            .with(&format!("{PORT}/state"), "2: INIT\n");
        let (severity, summary) = ib.says("port-state", "mlx5_0");
        assert!(severity == Wrong && summary.contains("subnet manager"), "{summary}");
        for check in ["mtu", "gid", "pfc", "trust", "global-pause"] {
            assert_eq!(ib.says(check, "mlx5_0").0, NotApplicable, "{check}");
        }
    }

    #[test]
    fn an_mtu_of_4096_gives_2048_and_one_of_4200_gives_4096() {
        let with = |mtu: &str| {
            Planted::on("two-socket-mlx5").with(&format!("{NETDEV}/mtu"), mtu).says("mtu", "mlx5_0")
        };
        let (severity, summary) = with("4096\n");
        assert!(severity == Warning && summary.contains("RoCE packets of 2048 bytes"), "{summary}");
        assert_eq!(with("4200\n").0, Fine);
        assert_eq!(with("300\n").0, Wrong);
    }

    #[test]
    fn a_port_without_roce_v2_or_without_ipv4_is_found() {
        let mut v1 = Planted::on("two-socket-mlx5");
        for index in [1, 3] {
            v1 = v1.with(&format!("{PORT}/gid_attrs/types/{index}"), "IB/RoCE v1\n");
        }
        assert_eq!(v1.says("gid", "mlx5_0").0, Wrong);
        let (severity, summary) = Planted::on("two-socket-mlx5")
            .with(&format!("{PORT}/gids/3"), "0000:0000:0000:0000:0000:0000:0000:0000\n")
            .says("gid", "mlx5_0");
        assert!(
            severity == Warning && summary.starts_with("no RoCE v2 entry with an IPv4 address"),
            "{summary}"
        );
        assert_eq!(
            Planted::on("two-socket-mlx5").says("gid", "mlx5_0"),
            (Fine, "index 3 is RoCE v2, 192.0.2.1".into())
        );
    }
}
