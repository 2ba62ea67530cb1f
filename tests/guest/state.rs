//! The state of the guest: everything that a tuning here may touch, read before a test and again after it.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use e2e::{finish, rdma_harness};

/// Folders whose files are read one level down, and files.
const WATCHED: [&str; 16] = [
    "/proc/sys/net/core/rmem_max",
    "/proc/sys/net/core/wmem_max",
    "/proc/sys/net/core/rmem_default",
    "/proc/sys/net/core/wmem_default",
    "/proc/sys/net/core/netdev_max_backlog",
    "/proc/sys/net/core/somaxconn",
    "/proc/sys/net/ipv4/tcp_rmem",
    "/proc/sys/net/ipv4/tcp_wmem",
    "/proc/sys/net/ipv4/tcp_window_scaling",
    "/proc/sys/net/ipv4/tcp_timestamps",
    "/proc/sys/net/ipv4/tcp_tw_reuse",
    "/proc/sys/kernel/numa_balancing",
    "/proc/irq/default_smp_affinity",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/module/pcie_aspm/parameters/policy",
];

/// What the guest is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State(BTreeMap<String, String>);

impl State {
    /// Now.
    pub(crate) fn read() -> State {
        let mut all = BTreeMap::new();
        let mut keep = |path: &Path| {
            // The number of a vector's CPU is the driver's or the daemon's until something is written.
            if let Ok(text) = fs::read_to_string(path) {
                all.insert(path.display().to_string(), text);
            }
        };
        for path in WATCHED {
            keep(Path::new(path));
        }
        for irq in listed("/proc/irq") {
            keep(&Path::new("/proc/irq").join(irq).join("smp_affinity_list"));
        }
        for netdev in listed("/sys/class/net") {
            keep(&Path::new("/sys/class/net").join(netdev).join("mtu"));
        }
        for node in listed("/sys/devices/system/node").iter().filter(|name| name.starts_with("node")) {
            let pages = format!("/sys/devices/system/node/{node}/hugepages/hugepages-2048kB/nr_hugepages");
            keep(Path::new(&pages));
        }
        for cpu in 0..4 {
            keep(Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us")));
        }
        all.insert("longest wake-up latency".into(), latency_wish().to_string());
        all.insert("own cgroup".into(), Path::new("/sys/fs/cgroup/rdma-harness").exists().to_string());
        State(all)
    }

    /// Fails, naming what differs, unless the guest is now as it was then and no journal is left open.
    #[track_caller]
    pub(crate) fn assert_is_back(&self) {
        let now = State::read();
        let differing: Vec<String> = self
            .0
            .keys()
            .chain(now.0.keys())
            .filter(|key| self.0.get(*key) != now.0.get(*key))
            .map(|key| format!("{key}: was {:?}, is {:?}", self.0.get(key), now.0.get(key)))
            .collect();
        assert!(differing.is_empty(), "{}", differing.join("\n"));
        let status: serde_json::Value =
            finish(&mut rdma_harness(&["tune", "status", "--json"]), Duration::from_secs(60))
                .expect(0)
                .json();
        assert_eq!(status["tuned"], false, "{status}");
    }
}

/// The strictest wish of the host for its wake-up latency, in us; the kernel's default is 2,000 seconds.
pub(crate) fn latency_wish() -> i32 {
    let bytes = fs::read("/dev/cpu_dma_latency").expect("the guest's kernel has PM QoS and we are root");
    i32::from_ne_bytes(bytes.try_into().expect("four bytes"))
}

/// The vectors of the multi-queue NIC under rxe4 that carry its queues, in their order.
pub(crate) fn queue_vectors() -> Vec<u32> {
    let netdev =
        fs::read_to_string("/sys/class/infiniband/rxe4/parent").expect("scripts/guest/tuning.sh made it");
    let mut irqs: Vec<u32> = listed(&format!("/sys/class/net/{}/device/msi_irqs", netdev.trim()))
        .iter()
        .filter_map(|irq| irq.parse().ok())
        .filter(|irq| listed(&format!("/proc/irq/{irq}")).iter().any(|name| name.contains("-rxtx-")))
        .collect();
    irqs.sort_unstable();
    irqs
}

/// The CPUs that a vector may go to, or does go to now.
pub(crate) fn affinity(irq: u32, which: &str) -> String {
    let path = format!("/proc/irq/{irq}/{which}_list");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")).trim().to_owned()
}

/// What a vector counted so far, by CPU.
pub(crate) fn counts(irq: u32) -> Vec<u64> {
    let text = fs::read_to_string(format!("/sys/kernel/irq/{irq}/per_cpu_count")).expect("the kernel counts");
    text.trim().split(',').map(|count| count.parse().expect("a number")).collect()
}

/// Has the NIC send so many datagrams to a gateway that drops them: each one's completion is an interrupt, or shares one.
pub(crate) fn send_datagrams(count: usize) {
    let socket = std::net::UdpSocket::bind("10.0.2.15:0").expect("the NIC has this address");
    for sent in 0..count {
        // A full queue is no fault of the test's.
        let _ = socket.send_to(b"x", "10.0.2.2:9");
        if sent % 16 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Puts back where the vectors were allowed before irqbalance came, which is no tuning of ours.
pub(crate) fn put_back(vectors: &[u32], lists: &[String]) {
    for (irq, list) in vectors.iter().zip(lists) {
        fs::write(format!("/proc/irq/{irq}/smp_affinity_list"), list).expect("written");
    }
}

/// All vectors that irqbalance may move, with where they are allowed.
pub(crate) fn movable() -> (Vec<u32>, Vec<String>) {
    let entries = fs::read_dir("/proc/irq").expect("listed").flatten();
    let irqs: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let read = |irq: &u32| fs::read_to_string(format!("/proc/irq/{irq}/smp_affinity_list")).ok();
    // A managed vector, or the timer's, cannot be written to; nobody moves it.
    let pairs = irqs.into_iter().filter_map(|irq| {
        let list = read(&irq)?;
        fs::write(format!("/proc/irq/{irq}/smp_affinity_list"), &list).ok()?;
        Some((irq, list))
    });
    pairs.unzip()
}

fn listed(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
