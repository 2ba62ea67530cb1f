//! The facts of a host that go into a record.

use schema::HostFacts;

use crate::{
    cpuinfo, cpulist,
    sysroot::Sysroot,
    topology::{Topology, mem_total_bytes, read_list},
};

/// Reads them. `cpu` is the measuring CPU, whose governor counts; without one there is no governor to name.
///
/// `cpus_allowed` is what the main thread may use at this moment, so take the facts before it is pinned.
pub fn facts(sysroot: &Sysroot, cpu: Option<u32>) -> HostFacts {
    let topology = Topology::read(sysroot);
    let text = |path: &str| sysroot.read(path).known().filter(|text| !text.is_empty());
    HostFacts {
        hostname: text("/proc/sys/kernel/hostname").unwrap_or_default(),
        kernel: text("/proc/sys/kernel/osrelease").unwrap_or_default(),
        os: text("/etc/os-release").and_then(|text| pretty_name(&text)),
        cpu_model: cpuinfo::model(sysroot).known(),
        cpus_online: read_list(sysroot, "/sys/devices/system/cpu/online")
            .map(|list| cpulist::format(&list))
            .known(),
        cpus_allowed: text("/proc/self/status").and_then(|text| allowed_list(&text)),
        cpus_isolated: topology.isolated.map(|list| cpulist::format(&list)).known(),
        numa_nodes: read_list(sysroot, "/sys/devices/system/node/online")
            .map(|list| cpulist::format(&list))
            .known(),
        memory_bytes: sysroot.read("/proc/meminfo").parse(|text| mem_total_bytes(&text)).known(),
        virtualized: cpuinfo::virtualized(sysroot).known(),
        governor: cpu
            .and_then(|cpu| text(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"))),
        kernel_cmdline: text("/proc/cmdline"),
        boot_id: text("/proc/sys/kernel/random/boot_id"),
    }
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let name = value.trim_matches(|c| c == '"' || c == '\'');
    (!name.is_empty()).then(|| name.to_owned())
}

fn allowed_list(status: &str) -> Option<String> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim();
    cpulist::parse(list).ok().map(|cpus| cpulist::format(&cpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_bare_metal_host_has_them_all() {
        let facts = facts(&fixture("two-socket-mlx5"), Some(3));
        assert_eq!((facts.hostname.as_str(), facts.kernel.as_str()), ("node-a", "6.8.0-45-generic"));
        assert_eq!(facts.os.as_deref(), Some("Ubuntu 24.04.1 LTS"));
        assert_eq!(facts.cpu_model.as_deref(), Some("AMD EPYC 9354 32-Core Processor"));
        assert_eq!(facts.cpus_online.as_deref(), Some("0-7"));
        assert_eq!(facts.cpus_allowed.as_deref(), Some("0-2,4-6"), "isolated CPUs are not in the mask");
        assert_eq!(facts.cpus_isolated.as_deref(), Some("3,7"));
        assert_eq!(facts.numa_nodes.as_deref(), Some("0-1"));
        assert_eq!(facts.memory_bytes, Some(134_217_728 * 1024));
        assert_eq!((facts.virtualized, facts.governor.as_deref()), (Some(false), Some("performance")));
        assert!(facts.kernel_cmdline.expect("a command line").contains("isolcpus"));
        assert_eq!(facts.boot_id.as_deref(), Some("1a2b3c4d-0000-4000-8000-000000000001"));
    }

    #[test]
    fn a_guest_has_no_governor_and_says_it_is_one() {
        let facts = facts(&fixture("guest-rxe"), Some(0));
        assert_eq!((facts.virtualized, facts.governor), (Some(true), None));
        assert_eq!(facts.cpus_isolated.as_deref(), Some(""), "known to be none");
    }

    #[test]
    fn a_container_has_its_own_cpus_and_what_it_cannot_see_is_null() {
        let facts = facts(&fixture("container-cpuset"), None);
        assert_eq!(facts.cpus_allowed.as_deref(), Some("1-2"));
        assert_eq!((facts.numa_nodes, facts.governor, facts.boot_id), (None, None, None));
    }

    #[test]
    fn this_host_has_a_name_a_kernel_and_a_boot() {
        let facts = facts(&Sysroot::new("/"), None);
        assert!(!facts.hostname.is_empty() && !facts.kernel.is_empty() && facts.boot_id.is_some());
        assert!(facts.memory_bytes > Some(0));
    }
}
