//! Who depends on an interface: a knob that flaps its link is refused where the host would be cut off, or others would.

use std::net::IpAddr;

use host::{dcb, netdev::Netdev, process};
use schema::{Class, Knob, KnobSetting, Tuning};

use super::{route, site::Site};

/// Why a disruptive knob is not turned; none if it may be, or is not disruptive.
pub(super) fn refuse(setting: &KnobSetting, tuning: &Tuning, site: &Site) -> Option<String> {
    if setting.knob.class() != Class::Disruptive {
        return None;
    }
    if !tuning.allow_disruptive {
        return Some(
            "it disturbs the link: ask for it with --allow-disruptive, or `allow_disruptive = true`".into(),
        );
    }
    let name = site.netdev().known()?;
    let why = overruled(setting.knob, &name, site)
        .or_else(|| others(&name, site))
        .or_else(|| carried(&name, site))
        .or_else(|| foreign_users(site))?;
    Some(format!("{name} {why}"))
}

/// Who else sets PFC, and would overrule what is written.
fn overruled(knob: Knob, name: &str, site: &Site) -> Option<String> {
    if knob != Knob::Pfc {
        return None;
    }
    let dcbx = dcb::read(&site.sysroot, name).known().and_then(|dcb| dcb.dcbx);
    if dcbx.is_some_and(|dcbx| !dcbx.host) {
        return Some("has its DCBX from the firmware, which would overrule what is written".to_owned());
    }
    let daemon = process::named(&site.sysroot, &["lldpad"]).known().unwrap_or_default();
    let managed = !daemon.is_empty() || dcbx.is_some_and(|dcbx| dcbx.lld_managed);
    managed.then(|| "has its DCBX from lldpad, which would overrule what is written".to_owned())
}

/// Devices above and below it, which have to have MTU and link in common with it.
fn others(name: &str, site: &Site) -> Option<String> {
    let netdev = Netdev::new(&site.sysroot, name);
    if let Some(master) = netdev.master().known() {
        return Some(format!("is part of {master}"));
    }
    if let Some(upper) = netdev.uppers().first() {
        return Some(format!("carries {upper}"));
    }
    let is = |folder: &str| site.sysroot.exists(netdev.path(folder));
    let names = site.sysroot.list(netdev.path("")).known().unwrap_or_default();
    if is("bonding") || is("bridge") || names.iter().any(|name| name.starts_with("lower_")) {
        return Some("is a bond, a bridge or a VLAN: name the device below it".to_owned());
    }
    None
}

/// Connections that would be cut.
fn carried(name: &str, site: &Site) -> Option<String> {
    if route::of_default(site).iter().any(|default| default == name) {
        return Some("carries the default route".to_owned());
    }
    let leads_to =
        |address: Option<IpAddr>| address.is_some_and(|to| route::to(site, to).as_deref() == Some(name));
    // CLIENT_IP CLIENT_PORT SERVER_IP SERVER_PORT
    let client = site.ssh_connection.as_deref().and_then(|text| text.split_whitespace().next());
    if leads_to(client.and_then(|text| text.parse().ok())) {
        return Some("carries this ssh connection".to_owned());
    }
    if leads_to(site.control_peer) {
        return Some("carries the connection to the other side's agent".to_owned());
    }
    let mounts = site.sysroot.read("/proc/self/mounts").known().unwrap_or_default();
    if let Some(mount) = mounts.lines().find(|line| leads_to(server_of(line))) {
        let folder = mount.split_whitespace().nth(1).unwrap_or_default();
        return Some(format!("carries the network file system at {folder}"));
    }
    let sessions = site.sysroot.list("/sys/class/iscsi_connection").known().unwrap_or_default();
    let target = |session: &String| {
        let path = format!("/sys/class/iscsi_connection/{session}/persistent_address");
        site.sysroot.read(path).known().and_then(|text| text.parse().ok())
    };
    sessions
        .iter()
        .find(|session| leads_to(target(session)))
        .map(|session| format!("carries iSCSI {session}"))
}

/// The server of a mount: `addr=` among its options.
fn server_of(mount: &str) -> Option<IpAddr> {
    let options = mount.split_whitespace().nth(3)?;
    options.split(',').find_map(|option| option.strip_prefix("addr=")?.parse().ok())
}

/// Programs that hold the RDMA device open, and may have queue pairs on it. Queue pairs of the kernel's own (storage) are not seen
/// so; their mounts and sessions are looked at above.
fn foreign_users(site: &Site) -> Option<String> {
    let device = site.device.as_deref()?;
    let class = "/sys/class/infiniband_verbs";
    let of_device = |name: &&String| {
        site.sysroot.read(format!("{class}/{name}/ibdev")).known().as_deref() == Some(device)
    };
    let names = site.sysroot.list(class).known().unwrap_or_default();
    let node = names.iter().find(of_device)?;
    let own = std::process::id();
    let pids = site.sysroot.list("/proc").known().unwrap_or_default();
    let pids = pids.iter().filter_map(|name| name.parse::<u32>().ok()).filter(|pid| *pid != own);
    for pid in pids {
        let folder = format!("/proc/{pid}/fd");
        let descriptors = site.sysroot.list(&folder).known().unwrap_or_default();
        let opened =
            |fd: &String| site.sysroot.link_name(format!("{folder}/{fd}")).known().as_ref() == Some(node);
        if descriptors.iter().any(opened) {
            let name = site.sysroot.read(format!("/proc/{pid}/comm")).known().unwrap_or_default();
            return Some(format!("has a user: process {pid} ({name}) holds {device} open"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use host::Sysroot;

    use super::*;

    struct Host(tempfile::TempDir);

    impl Host {
        fn new() -> Host {
            let host = Host(tempfile::tempdir().unwrap());
            host.file("sys/class/net/ens1/mtu", "1500\n");
            host.file("sys/class/infiniband/mlx5_0/parent", "ens1\n");
            host.file(
                "proc/net/route",
                "Iface Destination Gateway Flags RefCnt Use Metric Mask\neno1 00000000 0 3 0 0 0 00000000\nens1 0000000A 0 1 0 0 0 000000FF\n",
            );
            host
        }

        fn file(&self, path: &str, text: &str) {
            let file = self.0.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }

        fn site(&self) -> Site {
            let mut site = Site::new(Sysroot::new(self.0.path()));
            site.device = Some("mlx5_0".into());
            site
        }

        fn refusal(&self, site: &Site) -> Option<String> {
            let setting =
                KnobSetting { knob: Knob::Mtu, item: String::new(), value: "4200".into(), optional: false };
            refuse(&setting, &Tuning { allow_disruptive: true, ..Tuning::default() }, site)
        }
    }

    #[test]
    fn a_free_interface_may_be_disturbed_when_it_is_asked_for() {
        let host = Host::new();
        assert_eq!(host.refusal(&host.site()), None);
        let setting =
            KnobSetting { knob: Knob::Mtu, item: String::new(), value: "1".into(), optional: false };
        let unasked = refuse(&setting, &Tuning::default(), &host.site()).unwrap();
        assert!(unasked.contains("--allow-disruptive"), "{unasked}");
    }

    #[test]
    fn pfc_is_the_firmwares_or_lldpads_where_they_decide() {
        let host = Host::new();
        let setting =
            KnobSetting { knob: Knob::Pfc, item: String::new(), value: "3".into(), optional: false };
        let tuning = Tuning { allow_disruptive: true, ..Tuning::default() };
        assert_eq!(refuse(&setting, &tuning, &host.site()), None);
        let dcbx =
            r#"{"dcbx": {"host": HOST, "lld_managed": false, "cee": false, "ieee": true, "static": false}}"#;
        host.file(".recorded/dcb/ens1.json", &dcbx.replace("HOST", "false"));
        assert!(refuse(&setting, &tuning, &host.site()).unwrap().contains("firmware"));
        host.file(".recorded/dcb/ens1.json", &dcbx.replace("HOST", "true"));
        assert_eq!(refuse(&setting, &tuning, &host.site()), None);
        host.file("proc/9/comm", "lldpad\n");
        host.file("proc/9/stat", "9 (lldpad) S 1 9 9 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
        assert!(refuse(&setting, &tuning, &host.site()).unwrap().contains("lldpad"));
    }

    #[test]
    fn whatever_would_be_cut_refuses_it() {
        type Change = fn(&Host, &mut Site);
        let cases: [(&str, Change); 9] = [
            ("carries the default route", |host, _| {
                host.file("proc/net/route", "h\nens1 00000000 0 3 0 0 0 00000000\n");
            }),
            ("carries this ssh connection", |_, site| {
                site.ssh_connection = Some("10.0.0.7 5555 10.0.0.1 22".into());
            }),
            ("the other side's agent", |_, site| site.control_peer = Some("10.0.0.9".parse().unwrap())),
            ("is part of bond0", |host, _| {
                symlink("../bond0", host.0.path().join("sys/class/net/ens1/master")).unwrap();
            }),
            ("carries ens1.100", |host, _| host.file("sys/class/net/ens1/upper_ens1.100/mtu", "1500\n")),
            ("is a bond", |host, _| host.file("sys/class/net/ens1/bonding/mode", "active-backup 1\n")),
            ("network file system at /home", |host, _| {
                host.file("proc/self/mounts", "s:/x /home nfs4 rw,addr=10.0.0.2 0 0\n");
            }),
            ("carries iSCSI connection1:0", |host, _| {
                host.file("sys/class/iscsi_connection/connection1:0/persistent_address", "10.0.0.3\n");
            }),
            ("process 77 (nvme) holds mlx5_0 open", |host, _| {
                host.file("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
                host.file("proc/77/comm", "nvme\n");
                fs::create_dir_all(host.0.path().join("proc/77/fd")).unwrap();
                symlink("/dev/infiniband/uverbs0", host.0.path().join("proc/77/fd/5")).unwrap();
            }),
        ];
        for (wanted, change) in cases {
            let host = Host::new();
            let mut site = host.site();
            change(&host, &mut site);
            let why = host.refusal(&site).unwrap_or_else(|| panic!("{wanted}: it was not refused"));
            assert!(why.contains(wanted), "{wanted}: {why}");
        }
    }
}
