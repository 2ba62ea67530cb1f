//! What a snapshot takes of a host, in one table: the files that the readers of `host`, the audit and the tuner read.
//!
//! A pattern is a path in which `{a,b}` stands for either and `*` for any run of characters within one component. What a
//! pattern meets on its way is taken too: links stay links. One that ends in a folder takes the folder, empty.

/// How a file is made fit for strangers' eyes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers and words of the kernel alone: kept as they are.
    Verbatim,
    /// Text in which names, addresses and identities may stand.
    Text,
    /// The same, where four numbers with dots are an address and no version.
    Addresses,
    /// /proc/net/route: addresses as hexadecimal numbers in the machine's order, with masks.
    Routes,
    /// /proc/net/ipv6_route and /proc/net/if_inet6: addresses as 32 hexadecimal digits.
    Routes6,
    /// /proc/net/tcp and /proc/net/tcp6: addresses as hexadecimal words in the machine's order.
    Sockets,
    /// The identity of a port in hexadecimal digits.
    PortId,
    /// PCI configuration space, which may hold the serial number of the device.
    PciConfig,
}

/// A file above this is left out and listed; see [`LARGE`] for the exceptions.
pub(super) const MOST_BYTES: u64 = 256 * 1024;

/// Files that grow with the host: a row per interrupt and a column per CPU, a row per connection.
pub(super) const LARGE: [(&str, u64); 4] = [
    ("/proc/interrupts", 64 << 20),
    ("/proc/softirqs", 4 << 20),
    ("/proc/stat", 4 << 20),
    ("/proc/cpuinfo", 16 << 20),
];

use Kind::{Addresses, Routes, Routes6, Sockets, Text, Verbatim};

/// Of every host.
pub(super) const HOST: &[(&str, Kind)] = &[
    ("/etc/{os-release,default/irqbalance,sysconfig/irqbalance,sysctl.conf}", Text),
    ("/usr/lib/os-release", Text),
    ("/etc/default/{grub,grub.d/*}", Addresses),
    ("/{etc,run,usr/lib}/sysctl.d/*", Text),
    ("/etc/security/limits.d/*", Text),
    ("/etc/systemd/system/*/irqbalance.service", Text),
    ("/run/systemd/system", Verbatim),
    ("/run/{ostree-booted,.containerenv}", Verbatim),
    ("/sys/firmware/efi", Verbatim),
    ("/dev/cpu_dma_latency", Verbatim),
    ("/proc/cmdline", Addresses),
    ("/proc/{cpuinfo,meminfo,stat,softirqs,interrupts,uptime,loadavg}", Verbatim),
    ("/proc/sys/net/core/{rmem,wmem}_{max,default}", Verbatim),
    ("/proc/sys/net/core/{netdev_max_backlog,somaxconn,busy_poll,busy_read}", Verbatim),
    ("/proc/sys/net/ipv4/tcp_{rmem,wmem,window_scaling,timestamps,tw_reuse,ecn,fastopen}", Verbatim),
    ("/proc/sys/kernel/{osrelease,numa_balancing,nmi_watchdog,timer_migration}", Verbatim),
    ("/proc/sys/kernel/{hostname,random/boot_id}", Text),
    ("/proc/sys/vm/{stat_interval,zone_reclaim_mode,swappiness,nr_hugepages}", Verbatim),
    ("/proc/self/{limits,status,stat,schedstat,cgroup,comm}", Text),
    ("/proc/1/comm", Verbatim),
    ("/proc/irq/default_smp_affinity", Verbatim),
    ("/proc/irq/*/{smp,effective}_affinity{,_list}", Verbatim),
    ("/proc/irq/*/{affinity_hint,node}", Verbatim),
    ("/sys/kernel/irq/*/{actions,chip_name,hwirq,name,per_cpu_count,type}", Verbatim),
    ("/proc/net/route", Routes),
    ("/proc/net/{ipv6_route,if_inet6}", Routes6),
    ("/proc/net/{tcp,tcp6}", Sockets),
    ("/proc/net/{dev,softnet_stat,snmp,ip_tables_names,ip6_tables_names}", Verbatim),
    ("/proc/net/bonding/*", Addresses),
    ("/sys/devices/system/cpu/{online,possible,present,isolated,nohz_full}", Verbatim),
    ("/sys/devices/system/cpu/{smt,cpuidle,vulnerabilities,intel_pstate,amd_pstate}/*", Verbatim),
    ("/sys/devices/system/cpu/cpufreq/boost", Verbatim),
    ("/sys/devices/system/cpu/cpu*/{online,microcode/version}", Verbatim),
    ("/sys/devices/system/cpu/cpu*/topology/*_list", Verbatim),
    ("/sys/devices/system/cpu/cpu*/topology/{core_id,die_id,physical_package_id}", Verbatim),
    (
        "/sys/devices/system/cpu/cpu*/cpufreq/{scaling,cpuinfo}_{driver,governor,cur_freq,min_freq,max_freq}",
        Verbatim,
    ),
    (
        "/sys/devices/system/cpu/cpu*/cpufreq/{scaling_available_governors,base_frequency,related_cpus,boost}",
        Verbatim,
    ),
    ("/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_{preference,available_preferences}", Verbatim),
    ("/sys/devices/system/cpu/cpu*/cpuidle/state*/{name,desc,latency,residency,disable}", Verbatim),
    ("/sys/devices/system/cpu/cpu*/power/{pm_qos_resume_latency_us,energy_perf_bias}", Verbatim),
    ("/sys/devices/system/cpu/cpu*/thermal_throttle/*", Verbatim),
    ("/sys/devices/system/node/{online,possible,has_cpu,has_memory,has_normal_memory}", Verbatim),
    ("/sys/devices/system/node/node*/{cpulist,distance,meminfo,numastat}", Verbatim),
    ("/sys/devices/system/node/node*/hugepages/*/*", Verbatim),
    ("/sys/devices/system/clocksource/clocksource0/{current,available}_clocksource", Verbatim),
    ("/sys/devices/virtual/workqueue/{cpumask,writeback/cpumask}", Verbatim),
    ("/sys/kernel/mm/transparent_hugepage/{enabled,defrag,shmem_enabled}", Verbatim),
    ("/sys/kernel/mm/hugepages/*/{nr,free}_hugepages", Verbatim),
    ("/sys/kernel/security/lockdown", Verbatim),
    ("/sys/kernel/debug/mlx5/*/cc_params/*", Verbatim),
    ("/sys/kernel/config/rdma_cm/*/ports/*/*", Verbatim),
    (
        "/sys/module/{mlx5_core,mlx5_ib,mlx4_core,mlx4_ib,ib_core,rdma_rxe,siw,irdma,bnxt_re,efa}/version",
        Verbatim,
    ),
    ("/sys/module/nf_tables/refcnt", Verbatim),
    ("/sys/module/{pcie_aspm/parameters/policy,intel_idle/parameters/max_cstate}", Verbatim),
    (
        "/sys/class/dmi/id/{bios_vendor,bios_version,bios_date,sys_vendor,product_name,board_name,chassis_type}",
        Text,
    ),
    ("/sys/fs/cgroup/{cgroup.controllers,cgroup.subtree_control}", Verbatim),
    ("/sys/fs/cgroup/cpuset.{cpus,mems}{,.effective,.isolated}", Verbatim),
];

/// Of a network device, below its folder.
pub(super) const NETDEV: &[(&str, Kind)] = &[
    ("{address,broadcast}", Text),
    ("{phys_port_id,phys_switch_id}", Kind::PortId),
    (
        "{mtu,operstate,carrier,carrier_changes,carrier_up_count,carrier_down_count,speed,duplex,flags}",
        Verbatim,
    ),
    (
        "{ifindex,iflink,type,dev_port,addr_assign_type,addr_len,tx_queue_len,phys_port_name,name_assign_type}",
        Verbatim,
    ),
    ("{master,bonding/slaves,bonding/mode}", Verbatim),
    ("{upper_,lower_}*", Verbatim),
    ("statistics/*", Verbatim),
    ("queues/*/{rps_cpus,xps_cpus}", Verbatim),
    ("qos/*", Verbatim),
    ("ecn/*/*", Verbatim),
    ("ecn/*/enable/*", Verbatim),
    ("subsystem", Verbatim),
];

/// Of an RDMA device, below its folder.
pub(super) const RDMA: &[(&str, Kind)] = &[
    ("{node_guid,sys_image_guid,node_desc}", Text),
    ("{node_type,hw_rev,fw_ver,hca_type,board_id,parent}", Verbatim),
    ("ports/*/{state,phys_state,rate,link_layer,lid,lid_mask_count,sm_lid,sm_sl,cap_mask}", Verbatim),
    ("ports/*/{counters,hw_counters}/*", Verbatim),
    ("hw_counters/*", Verbatim),
    ("ports/*/gids/*", Text),
    ("ports/*/gid_attrs/{types,ndevs}/*", Verbatim),
    ("ports/*/pkeys/*", Verbatim),
    ("tc/*/traffic_class", Verbatim),
];

/// Of a bus device and of every function above it, below its folder.
pub(super) const FUNCTION: &[(&str, Kind)] = &[
    ("config", Kind::PciConfig),
    ("{vendor,device,subsystem_vendor,subsystem_device,class,revision,enable,irq,dma_mask_bits}", Verbatim),
    ("{numa_node,local_cpus,local_cpulist,class_id}", Verbatim),
    ("{current,max}_link_{speed,width}", Verbatim),
    ("aer_dev_{correctable,nonfatal,fatal}", Verbatim),
    ("sriov_{numvfs,totalvfs}", Verbatim),
    ("link/*", Verbatim),
    ("power/{control,runtime_status}", Verbatim),
    ("{driver/module/version,subsystem}", Verbatim),
    ("iommu_group/type", Verbatim),
    ("msi_irqs/*", Verbatim),
];

/// Of a folder of cgroups that the recorder is in.
pub(super) const CGROUP: &[(&str, Kind)] = &[
    ("cgroup.controllers", Verbatim),
    ("cpuset.{cpus,mems}{,.effective}", Verbatim),
    ("cpuset.effective_cpus", Verbatim),
];

/// Of a daemon that moves interrupts or rewrites settings, below its folder of /proc.
pub(super) const DAEMON: &[(&str, Kind)] = &[("{comm,stat,status,cmdline}", Text)];

/// The paths that a pattern stands for, its braces written out; `*` stays.
pub(super) fn spelled_out(pattern: &str) -> Vec<String> {
    let Some(open) = pattern.find('{') else { return vec![pattern.to_owned()] };
    let close = open + pattern[open..].find('}').expect("a brace of the table is closed");
    let (before, after) = (&pattern[..open], &pattern[close + 1..]);
    pattern[open + 1..close]
        .split(',')
        .flat_map(|choice| spelled_out(&format!("{before}{choice}{after}")))
        .collect()
}

/// Whether a name is one that a component with `*` stands for.
pub(super) fn matches(component: &str, name: &str) -> bool {
    match component.split_once('*') {
        None => component == name,
        Some((prefix, rest)) => name.strip_prefix(prefix).is_some_and(|tail| {
            (0..=tail.len()).filter(|at| tail.is_char_boundary(*at)).any(|at| matches(rest, &tail[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_written_out_from_left_to_right() {
        assert_eq!(spelled_out("/a/{b,c}_{d,}"), ["/a/b_d", "/a/b_", "/a/c_d", "/a/c_"]);
        assert_eq!(spelled_out("/proc/irq/*/node"), ["/proc/irq/*/node"]);
    }

    #[test]
    fn a_star_stays_within_its_component() {
        assert!(matches("cpu*", "cpu12") && matches("*_list", "core_cpus_list") && matches("*", ""));
        assert!(matches("a*b*c", "a-b-b-c") && !matches("a*b*c", "a-c") && !matches("cpu", "cpu0"));
    }

    #[test]
    fn every_pattern_of_the_table_can_be_written_out() {
        for (pattern, _) in [HOST, NETDEV, RDMA, FUNCTION, CGROUP, DAEMON].into_iter().flatten() {
            for path in spelled_out(pattern) {
                assert!(!path.contains(['{', '}']) && !path.contains(".."), "{path}");
            }
        }
    }
}
