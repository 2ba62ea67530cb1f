//! All counters of one moment, each with where it was read.

use std::{collections::BTreeMap, time::Instant};

use host::{
    Nic, Statistic, Sysroot, Value, counters, ethtool, keyed, nic::NicVector, process, softirqs::Softirqs,
    softnet, throttle,
};

use super::subject::Subject;

/// Daemons that move interrupts or write settings again.
const MOVERS: [&str; 2] = ["irqbalance", "tuned"];
/// Deferred work that takes time from a polling thread, or shows the kernel's stack at work.
const SOFTIRQS: [&str; 4] = ["NET_RX", "NET_TX", "TASKLET", "TIMER"];
/// Counters of /proc/net/snmp that tell of loss.
const PROTOCOLS: [&str; 3] = ["Tcp.RetransSegs", "Udp.InErrors", "Udp.RcvbufErrors"];

/// Where a counter was read, and its name.
pub(super) type Key = (String, String);

/// One moment of a host.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    /// When reading ended.
    pub(super) at: Instant,
    /// Every counter there was; a value that could not be had keeps its reason.
    pub(super) counters: BTreeMap<Key, Value<u64>>,
    /// The device's interrupt vectors.
    pub(super) vectors: Vec<NicVector>,
    /// CPUs online, in the kernel's list format.
    pub(super) cpus_online: Option<String>,
    /// Movers and their state: `irqbalance (running)`.
    pub(super) movers: Vec<String>,
    /// What could not be read, and why.
    pub(super) notes: Vec<String>,
}

impl Snapshot {
    /// Reads it.
    pub(super) fn take(sysroot: &Sysroot, subject: &Subject) -> Snapshot {
        let mut reader = Reader { sysroot, counters: BTreeMap::new(), notes: Vec::new() };
        let vectors = subject.device.as_ref().map(|device| reader.device(device)).unwrap_or_default();
        for netdev in &subject.netdevs {
            reader.netdev(netdev);
        }
        reader.stack();
        reader.cpus(&subject.cpus);
        reader.memory();
        let movers = process::named(sysroot, &MOVERS).known().unwrap_or_default();
        let state = |mover: &process::Process| if mover.is_stopped() { "stopped" } else { "running" };
        Snapshot {
            at: Instant::now(),
            vectors,
            cpus_online: sysroot.read("/sys/devices/system/cpu/online").known(),
            movers: movers.iter().map(|mover| format!("{} ({})", mover.name, state(mover))).collect(),
            counters: reader.counters,
            notes: reader.notes,
        }
    }
}

struct Reader<'h> {
    sysroot: &'h Sysroot,
    counters: BTreeMap<Key, Value<u64>>,
    notes: Vec<String>,
}

impl Reader<'_> {
    fn put(&mut self, source: &str, name: impl Into<String>, value: Value<u64>) {
        self.counters.insert((source.to_owned(), name.into()), value);
    }

    fn put_all(&mut self, source: &str, counters: impl IntoIterator<Item = (String, u64)>) {
        for (name, value) in counters {
            self.put(source, name, Value::Known(value));
        }
    }

    /// What it holds if it is known; a thing that is there and can't be read is a note, one the host lacks is not.
    fn or_note<T>(&mut self, what: &str, value: Value<T>) -> Option<T> {
        if let Value::Unreadable(why) = &value {
            self.notes.push(format!("{what}: {why}"));
        }
        value.known()
    }

    fn device(&mut self, device: &str) -> Vec<NicVector> {
        let nic = Nic::new(self.sysroot, device);
        for port in nic.ports().known().unwrap_or_default() {
            let place = format!("{device}/{port}");
            self.rdma(&format!("counters {place}"), counters::standard(self.sysroot, device, port));
            self.rdma(&format!("hw_counters {place}"), counters::of_driver(self.sysroot, device, port));
        }
        self.rdma(&format!("hw_counters {device}"), counters::of_device(self.sysroot, device));
        let vectors = nic.vectors();
        self.or_note("interrupts", vectors).unwrap_or_default()
    }

    fn rdma(&mut self, source: &str, counters: Value<Vec<counters::Counter>>) {
        for counter in self.or_note(source, counters).unwrap_or_default() {
            self.put(source, counter.name, counter.value);
        }
    }

    fn netdev(&mut self, netdev: &str) {
        let source = format!("ethtool {netdev}");
        let statistics = ethtool::statistics(self.sysroot, netdev);
        let statistics = self.or_note(&source, statistics).unwrap_or_default();
        self.put_all(&source, statistics.into_iter().map(|Statistic(name, value)| (name, value)));
        let source = format!("netdev {netdev}");
        let folder = format!("/sys/class/net/{netdev}/statistics");
        for name in self.sysroot.list(&folder).known().unwrap_or_default() {
            let text = self.sysroot.read(format!("{folder}/{name}"));
            self.put(&source, name, text.parse(|text| text.parse::<u64>()));
        }
    }

    fn stack(&mut self) {
        let protocols = keyed::protocols(self.sysroot);
        let protocols = self.or_note("/proc/net/snmp", protocols).unwrap_or_default();
        let wanted = protocols.into_iter().filter(|(name, _)| PROTOCOLS.contains(&name.as_str()));
        self.put_all("snmp", wanted);
        let lines = softnet::read(self.sysroot);
        if let Some(lines) = self.or_note("softnet", lines) {
            let sum = |of: fn(&softnet::Softnet) -> u64| lines.iter().map(of).fold(0, u64::saturating_add);
            let (processed, dropped) = (sum(|line| line.processed), sum(|line| line.dropped));
            let squeezed = sum(|line| line.time_squeeze);
            self.put("softnet", "processed", Value::Known(processed));
            self.put("softnet", "dropped", Value::Known(dropped));
            self.put("softnet", "time_squeeze", Value::Known(squeezed));
        }
        let events = keyed::kernel_events(self.sysroot);
        let events = self.or_note("/proc/stat", events).unwrap_or_default();
        self.put_all("stat", events);
    }

    fn cpus(&mut self, cpus: &[u32]) {
        let table = Softirqs::read(self.sysroot);
        let table = self.or_note("softirqs", table).unwrap_or_default();
        for cpu in cpus {
            for kind in SOFTIRQS {
                if let Some(count) = table.on_cpu(kind, *cpu) {
                    self.put(&format!("softirqs cpu{cpu}"), kind, Value::Known(count));
                }
            }
            let throttles = throttle::read(self.sysroot, *cpu);
            for (name, count) in
                [("core_throttle_count", throttles.core), ("package_throttle_count", throttles.package)]
            {
                if count != Value::Absent {
                    self.put(&format!("thermal cpu{cpu}"), name, count);
                }
            }
        }
    }

    fn memory(&mut self) {
        let online = self.sysroot.read("/sys/devices/system/node/online").known().unwrap_or_default();
        for node in host::cpulist::parse(&online).unwrap_or_default() {
            let pages = keyed::node_allocations(self.sysroot, node).known().unwrap_or_default();
            self.put_all(&format!("numastat node{node}"), pages);
        }
    }
}
