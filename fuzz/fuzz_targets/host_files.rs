//! Any bytes in any file of the kernel's give a value or a reason, never a panic: counters, tables, statistics, lists.
#![no_main]

use host::{Nic, Sysroot, Topology, aer, counters, cpufreq, gid, kernel_log, memory, netdev::Netdev, process, softirqs, softnet};
use libfuzzer_sys::fuzz_target;
use rdma_harness_fuzz::{put, tree};

thread_local!(static TREE: Sysroot = tree());

/// Each with a reader below.
const FILES: [&str; 17] = [
    "/sys/class/infiniband/d/ports/1/counters/port_rcv_data",
    "/sys/class/infiniband/d/ports/1/hw_counters/Nak Sequence Error",
    "/sys/class/infiniband/d/ports/1/hw_counters/lifespan",
    "/sys/class/infiniband/d/ports/1/gids/0",
    "/sys/class/infiniband/d/ports/1/gid_attrs/types/0",
    "/sys/class/infiniband/d/ports/1/rate",
    "/sys/class/infiniband/d/device/numa_node",
    "/sys/class/infiniband/d/device/aer_dev_correctable",
    "/sys/class/net/e/mtu",
    "/sys/devices/system/node/node0/meminfo",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/devices/system/node/online",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_available_preferences",
    "/proc/7/stat",
    "/proc/self/limits",
    "/.recorded/kernel-log",
];

fuzz_target!(|input: (u8, &[u8])| {
    TREE.with(|tree| {
        let (which, bytes) = input;
        put(tree, FILES[usize::from(which) % FILES.len()], bytes);
        put(tree, "/proc/7/comm", b"irqbalance\n");
        let nic = Nic::new(tree, "d");
        let _ = (counters::standard(tree, "d", 1), counters::of_driver(tree, "d", 1), counters::lifespan(tree, "d", 1));
        let _ = (gid::table(tree, "d", 1), nic.rate(1), nic.numa_node(), nic.netdevs(1));
        let _ = aer::errors(tree, "/sys/class/infiniband/d/device", "correctable");
        let _ = (Netdev::new(tree, "e").mtu(), Topology::read(tree), memory::free_bytes(tree, 0));
        let _ = (cpufreq::available_epps(tree, 0), memory::memlock_bytes(tree));
        let _ = (process::named(tree, &["irqbalance"]), kernel_log::lines(tree, |_| true));
        if let Ok(text) = std::str::from_utf8(bytes) {
            let _ = (softirqs::Softirqs::parse(text), softnet::parse(text));
        }
    });
});
