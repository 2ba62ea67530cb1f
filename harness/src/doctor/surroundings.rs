//! What stands between the port and the wire, or beside it: bonds and bridges, and a firewall.

use host::{Value, netdev::Netdev};
use schema::{Finding, Matters};

use super::{
    check::{Check, HOST},
    view::{Device, Kind, View},
};

const LAG: Check = Check {
    name: "lag",
    expected: "known: a QP of a bond goes out of one port, whatever the others carry",
    authority: "kernel documentation (networking/bonding.rst); mlx5 places each QP on a port of the bond",
    matters: &[Matters::DataPath],
};

const FIREWALL: Check = Check {
    name: "firewall",
    expected: "TCP let through for the exchange of a run; rules are left as they are",
    authority: "RoCE for a QP is taken by an HCA before netfilter sees it; rxe and siw go through the kernel",
    matters: &[Matters::ControlPath],
};

const TABLES: [&str; 2] = ["/proc/net/ip_tables_names", "/proc/net/ip6_tables_names"];

/// One finding a device, and one of the host.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    view.devices.iter().map(|device| lag(view, device)).chain([firewall(view)]).collect()
}

fn lag(view: &View, device: &Device) -> Finding {
    let mut draft = LAG.about(&device.name);
    let mut found = Vec::new();
    for name in device.netdevs() {
        let netdev = Netdev::new(view.sysroot, name);
        let master = netdev.master();
        draft = draft.read(netdev.path("master"), &master);
        if let Value::Known(master) = master {
            let mode = Netdev::new(view.sysroot, &master).bond_mode();
            let kind = mode.known().map_or(String::new(), |mode| format!(" ({mode})"));
            found.push(format!("{name} is part of {master}{kind}"));
        }
        if let Value::Known(slaves) = netdev.bond_slaves() {
            draft = draft.seen(netdev.path("bonding/slaves"), slaves.join(" "));
            found.push(format!("{name} is a bond of {}", slaves.join(" and ")));
        }
        let uppers: Vec<String> =
            netdev.uppers().into_iter().filter(|upper| !upper.contains("bond")).collect();
        if !uppers.is_empty() {
            draft = draft.seen(netdev.path("upper_*"), uppers.join(" "));
            found.push(format!("{} on top of {name}", uppers.join(", ")));
        }
    }
    if device.name.contains("bond") {
        found.push("its name is of a bond (mlx5 LAG)".into());
    }
    if device.netdevs().is_empty() {
        return draft.not_applicable("the device has no network device");
    }
    if found.is_empty() {
        return draft.fine("its network device stands alone");
    }
    draft.note(format!(
        "{}: a change of MTU or pause there concerns them too, and one QP uses one port",
        found.join("; ")
    ))
}

fn firewall(view: &View) -> Finding {
    let tables = TABLES.map(|path| (path, view.sysroot.read(path)));
    let nft = view.sysroot.read("/sys/module/nf_tables/refcnt");
    let draft = tables.iter().fold(FIREWALL.about(HOST), |draft, (path, value)| draft.read(*path, value));
    let draft = draft.read("/sys/module/nf_tables/refcnt", &nft);
    let draft = if view.has(Kind::SoftRoce) || view.has(Kind::SoftIwarp) {
        draft.matters(&[Matters::ControlPath, Matters::DataPath])
    } else {
        draft
    };
    let names = |value: &Value<String>| match value {
        Value::Known(text) => text.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let mut found: Vec<String> = names(&tables[0].1);
    found.extend(names(&tables[1].1).into_iter().map(|table| format!("{table} (IPv6)")));
    if matches!(&nft, Value::Known(count) if count != "0") {
        found.push("nf_tables is in use".into());
    }
    if !found.is_empty() {
        return draft.note(format!(
            "tables: {}; an HCA's RoCE does not pass them, a run's TCP port does",
            found.join(", ")
        ));
    }
    match (&tables[0].1, &nft) {
        (Value::Unreadable(_), _) => {
            draft.remedy("as root: nft list ruleset; iptables-save").without("rules", &tables[0].1)
        }
        (_, Value::Unreadable(_)) => draft.without("rules", &nft),
        _ => draft.fine("no tables"),
    }
}

#[cfg(test)]
mod tests {
    use schema::{
        Matters,
        Severity::{Fine, Note},
    };

    use crate::doctor::planted::Planted;

    #[test]
    fn a_netdev_that_is_part_of_another_is_named_with_it() {
        let (severity, summary) = Planted::on("azure-hyperv").says("lag", "mlx5_0");
        assert!(severity == Note && summary.starts_with("enP20128s1 is part of eth0"), "{summary}");
        let vlan =
            Planted::on("two-socket-mlx5").with("/sys/class/net/ens1np0/upper_ens1np0.100/mtu", "9000\n");
        let (severity, summary) = vlan.says("lag", "mlx5_0");
        assert!(severity == Note && summary.starts_with("ens1np0.100 on top of ens1np0"), "{summary}");
        assert_eq!(Planted::on("two-socket-mlx5").says("lag", "mlx5_0").0, Fine);
    }

    #[test]
    fn rules_are_a_note_and_nobody_is_told_to_flush_them() {
        let finding = Planted::on("two-socket-mlx5").finding("firewall", "host");
        assert_eq!((finding.severity, finding.remedy.as_str()), (Note, ""));
        assert_eq!(finding.matters, [Matters::ControlPath]);
        let rxe = Planted::on("guest-rxe")
            .with("/proc/net/ip_tables_names", "filter\n")
            .finding("firewall", "host");
        assert!(rxe.matters.contains(&Matters::DataPath), "rxe goes through netfilter");
    }
}
