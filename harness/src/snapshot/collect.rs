//! Decides what of the table applies to a host: its devices, the functions they hang on, the daemons, the recorder's cgroups.

use std::collections::BTreeSet;

use host::{Sysroot, Value, kernel_log, nic, process, recorded};

use super::{
    SnapshotError, gids, patterns,
    patterns::Kind,
    tree::{Entry, Tree},
    walk,
};

/// Daemons that move interrupts or rewrite settings; of no other process anything is taken but the recorder's own.
const DAEMONS: [&str; 5] = ["irqbalance", "tuned", "lldpad", "mlnx_affinity", "mlnx_tune"];
/// EPERM: the log may be root's alone (kernel.dmesg_restrict).
const NOT_PERMITTED: i32 = 1;
/// Below it lie the errnos that another tree recorded.
const RECORDED_ERRNO: &str = host::sysroot::RECORDED_ERRNO;

/// All of a host, or of one RDMA device and what is no RDMA device's.
pub(super) fn collect(sysroot: &Sysroot, device: Option<&str>) -> Result<Tree, SnapshotError> {
    let known = nic::names(sysroot).known().unwrap_or_default();
    let devices = match device {
        None => known,
        Some(name) if known.iter().any(|known| known == name) => vec![name.to_owned()],
        Some(name) => return Err(SnapshotError::NoDevice { name: name.to_owned(), known }),
    };
    let netdevs = sysroot.list("/sys/class/net").known().unwrap_or_default();
    let mut tree = Tree::default();
    let mut take = |base: &str, table: &[(&str, Kind)]| {
        for (pattern, kind) in table {
            walk::take(&mut tree, sysroot, &format!("{base}{pattern}"), *kind);
        }
    };
    take("", patterns::HOST);
    for device in &devices {
        take(&format!("/sys/class/infiniband/{device}/"), patterns::RDMA);
        take(&format!("/sys/class/infiniband/{device}/"), &[("device", Kind::Verbatim)]);
    }
    for netdev in &netdevs {
        take(&format!("/sys/class/net/{netdev}/"), patterns::NETDEV);
        take(&format!("/sys/class/net/{netdev}/"), &[("device", Kind::Verbatim)]);
    }
    for function in functions(sysroot, &devices, &netdevs) {
        take(&format!("{function}/"), patterns::FUNCTION);
        if let Some((_, address)) = function.rsplit_once('/') {
            take("", &[(&format!("/sys/bus/pci/devices/{address}"), Kind::Verbatim)]);
        }
    }
    for folder in cgroups(sysroot) {
        take(&folder, patterns::CGROUP);
    }
    for daemon in process::named(sysroot, &DAEMONS).known().unwrap_or_default() {
        take(&format!("/proc/{}/", daemon.pid), patterns::DAEMON);
    }
    if tree.bytes > walk::MOST_TREE_BYTES {
        return Err(SnapshotError::TooLarge { most_mib: walk::MOST_TREE_BYTES >> 20 });
    }
    keep_answers(&mut tree, sysroot, &netdevs);
    keep_log(&mut tree, sysroot);
    keep_errnos(&mut tree, sysroot, RECORDED_ERRNO);
    gids::cut_short(&mut tree);
    Ok(tree)
}

/// The folders of the devices' functions and of all functions above them, once each.
fn functions(sysroot: &Sysroot, devices: &[String], netdevs: &[String]) -> BTreeSet<String> {
    let links = devices.iter().map(|name| format!("/sys/class/infiniband/{name}/device"));
    let links = links.chain(netdevs.iter().map(|name| format!("/sys/class/net/{name}/device")));
    let mut found = BTreeSet::new();
    for folder in links.filter_map(|link| sysroot.resolve(link).known()) {
        let mut at = folder.as_str();
        // The device itself whatever it is (a virtio or VMBus device has the node), and what above it is a PCI function.
        found.insert(at.to_owned());
        while let Some((above, _)) =
            at.rsplit_once('/').filter(|(above, _)| above.starts_with("/sys/devices/"))
        {
            if above.rsplit_once('/').is_some_and(|(_, name)| is_pci_address(name)) {
                found.insert(above.to_owned());
            }
            at = above;
        }
    }
    found
}

/// `0000:c1:00.0`
fn is_pci_address(name: &str) -> bool {
    let shape = name.bytes().map(|byte| if byte.is_ascii_hexdigit() { b'0' } else { byte });
    shape.eq(b"0000:00:00.0".iter().copied())
}

/// The folders that may limit the recorder's CPUs: its own cgroup's and those above it, of version 2 and of the cpuset of 1.
fn cgroups(sysroot: &Sysroot) -> Vec<String> {
    let memberships = sysroot.read("/proc/self/cgroup").known().unwrap_or_default();
    let mut folders = Vec::new();
    for line in memberships.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mount = match controllers {
            "" => "/sys/fs/cgroup",
            list if list.split(',').any(|name| name == "cpuset") => "/sys/fs/cgroup/cpuset",
            _ => continue,
        };
        // Braces and stars are the table's; a path that holds one is none that we can ask for.
        if path.split('/').any(|part| part == "..") || path.contains(['{', '}', '*']) {
            continue;
        }
        let mut rest = path.trim_end_matches('/');
        loop {
            folders.push(format!("{mount}{rest}/"));
            let Some((above, _)) = rest.rsplit_once('/') else { break };
            rest = above;
        }
    }
    folders
}

/// What drivers answer to requests.
fn keep_answers(tree: &mut Tree, sysroot: &Sysroot, netdevs: &[String]) {
    for netdev in netdevs {
        for (path, text) in recorded::record(sysroot, netdev) {
            tree.put(path, text);
        }
    }
}

/// Lines of the kernel's log that name something a snapshot has: RDMA, its drivers, its network devices, its functions.
fn keep_log(tree: &mut Tree, sysroot: &Sysroot) {
    let names: BTreeSet<&str> = tree
        .entries
        .keys()
        .filter_map(|path| {
            ["/sys/class/infiniband/", "/sys/class/net/", "/sys/bus/pci/devices/"]
                .iter()
                .find_map(|class| path.strip_prefix(class))
        })
        .filter(|name| !name.contains('/') && *name != "lo")
        .chain(["mlx5_core", "mlx4_core", "infiniband", "irdma", "bnxt_re", "siw", "rdma_rxe"])
        .collect();
    let wanted = |line: &str| {
        line.split(|c: char| !c.is_ascii_alphanumeric() && !"_-.:".contains(c))
            .any(|word| names.contains(word.trim_end_matches([':', ','])))
    };
    match kernel_log::lines(sysroot, wanted) {
        Value::Known(lines) => {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            tree.bytes += text.len() as u64;
            let entry = Entry::File { bytes: text.into_bytes(), mode: 0o644, kind: Kind::Addresses };
            tree.entries.insert(kernel_log::RECORDED.to_owned(), entry);
        }
        Value::Unreadable(_) => {
            tree.missed.insert(kernel_log::RECORDED.to_owned(), NOT_PERMITTED);
        }
        Value::Absent | Value::NotApplicable(_) => {}
    }
}

/// The errnos that a tree has recorded: a snapshot of it misses the same.
fn keep_errnos(tree: &mut Tree, sysroot: &Sysroot, folder: &str) {
    if sysroot.is_live() {
        return;
    }
    for name in sysroot.list(folder).known().unwrap_or_default() {
        let path = format!("{folder}/{name}");
        match sysroot.read(&path) {
            Value::Known(errno) => {
                if let (Ok(errno), Some(path)) = (errno.trim().parse(), path.strip_prefix(RECORDED_ERRNO)) {
                    tree.missed.insert(path.to_owned(), errno);
                }
            }
            _ => keep_errnos(tree, sysroot, &path),
        }
    }
}
