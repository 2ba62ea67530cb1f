//! The paths that may be written, compiled in, and nothing else: neither a profile nor a journal can name another.

use std::path::{Path, PathBuf};

use host::Sysroot;

/// Sysctls that may be turned: those of the guides people follow, and of the public profiles for low latency.
pub(super) const SYSCTLS: &[&str] = &[
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.rmem_default",
    "net.core.wmem_default",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_window_scaling",
    "net.core.netdev_max_backlog",
    "net.core.somaxconn",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_ecn",
    "net.core.busy_poll",
    "net.core.busy_read",
    "kernel.numa_balancing",
    "kernel.nmi_watchdog",
    "kernel.timer_migration",
    "vm.stat_interval",
    "vm.zone_reclaim_mode",
];

/// Other files that may be written; `*` is one component.
const FILES: &[&str] = &[
    "/proc/irq/*/smp_affinity_list",
    "/sys/devices/system/cpu/*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/*/cpufreq/energy_performance_preference",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/*/power/pm_qos_resume_latency_us",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/defrag",
    "/sys/devices/system/node/*/hugepages/*/nr_hugepages",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/module/pcie_aspm/parameters/policy",
    "/sys/class/net/*/mtu",
    "/sys/fs/cgroup/cgroup.subtree_control",
    "/sys/fs/cgroup/rdma-harness",
    "/sys/fs/cgroup/rdma-harness/cpuset.cpus",
    "/sys/fs/cgroup/rdma-harness/cpuset.cpus.partition",
    "/sys/bus/pci/devices/*/config",
    "/dev/cpu_dma_latency",
    // Only in a tree: there a process is paused by its state in this file.
    "/proc/*/stat",
];

/// Folders that no path may leave, by whatever links.
const FOLDERS: &[&str] = &["/proc/sys", "/proc/irq", "/sys", "/dev"];

/// The file of a sysctl that may be turned.
pub(super) fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// Whether a path, as on the host, is on the list.
pub(super) fn is_listed(path: &str) -> bool {
    SYSCTLS.iter().any(|name| sysctl_path(name) == path) || FILES.iter().any(|pattern| matches(pattern, path))
}

fn matches(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut parts) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), parts.next()) {
            (None, None) => return true,
            (Some("*"), Some(part)) if !part.is_empty() && part != ".." && part != "." => {}
            (Some(word), Some(part)) if word == part => {}
            _ => return false,
        }
    }
}

/// Where a listed path lies for us, after a look at the links on the way: none may lead out of the host's `/proc/sys`,
/// `/proc/irq`, `/sys` or `/dev`.
pub(super) fn resolve(sysroot: &Sysroot, path: &str) -> Result<PathBuf, String> {
    if !is_listed(path) {
        return Err(format!("{path} is not among the files that may be written"));
    }
    let ours = sysroot.path(path);
    let (Some(folder), Some(name)) = (ours.parent(), ours.file_name()) else {
        return Err(format!("{path} names no file"));
    };
    let folder = folder.canonicalize().map_err(|error| format!("{path}: {error}"))?;
    let root = sysroot.path("/").canonicalize().map_err(|error| format!("{path}: {error}"))?;
    let inside = |under: &&&str| folder.starts_with(root.join(under.trim_start_matches('/')));
    let process =
        path.starts_with("/proc/") && path.ends_with("/stat") && folder.starts_with(root.join("proc"));
    if FOLDERS.iter().find(inside).is_none() && !process {
        return Err(format!("{path} leads to {}, out of what may be written", Path::display(&folder)));
    }
    Ok(folder.join(name))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_is_listed_may_be_written() {
        for path in [
            "/proc/sys/net/core/rmem_max",
            "/proc/irq/99/smp_affinity_list",
            "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
            "/sys/class/net/ens1np0/mtu",
        ] {
            assert!(is_listed(path), "{path}");
        }
        for path in [
            "/proc/sys/kernel/core_pattern",
            "/proc/irq/99/smp_affinity",
            "/proc/irq/../sys/kernel/core_pattern",
            "/proc/irq//smp_affinity_list",
            "/sys/class/net/a/b/mtu",
            "/sys/class/net/../../../etc/mtu",
            "/etc/passwd",
            "/proc/sys/net/core/rmem_max/",
            "",
        ] {
            assert!(!is_listed(path), "{path}");
        }
    }

    #[test]
    fn a_link_that_leads_out_is_refused_and_one_within_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = Sysroot::new(dir.path());
        for folder in ["sys/devices/pci/eth0", "sys/class/net", "etc"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        symlink("../../devices/pci/eth0", dir.path().join("sys/class/net/eth0")).unwrap();
        symlink("../../../etc", dir.path().join("sys/class/net/out")).unwrap();
        symlink("/etc", dir.path().join("sys/class/net/far")).unwrap();
        assert!(resolve(&root, "/sys/class/net/eth0/mtu").unwrap().ends_with("sys/devices/pci/eth0/mtu"));
        for path in ["/sys/class/net/out/mtu", "/sys/class/net/far/mtu"] {
            assert!(resolve(&root, path).unwrap_err().contains("out of what may be written"), "{path}");
        }
        assert!(resolve(&root, "/sys/class/net/none/mtu").is_err());
    }

    proptest! {
        #[test]
        fn no_listed_path_climbs(path in "(/(sys|proc|irq|class|net|[.]{1,2}|mtu|cpu0|[a-z*]{0,3})){0,7}") {
            if is_listed(&path) {
                prop_assert!(!path.split('/').any(|part| part == ".." || part == "."));
            }
        }
    }
}
