//! What is watched around a run.

use host::{Nic, Sysroot, cpulist};

/// Most CPUs that are watched one by one without being named.
const MOST_UNNAMED: usize = 32;

/// What is watched on one host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subject {
    /// The RDMA device; none for the software NIC.
    pub device: Option<String>,
    /// Network devices whose drivers' counters are read; those of the RDMA device are found by themselves.
    pub netdevs: Vec<String>,
    /// CPUs whose frequency and interruptions are of interest. Empty: the NIC's local ones, or all of a small host.
    pub cpus: Vec<u32>,
}

impl Subject {
    /// Adds what can be found out: the device's network devices, and the CPUs of interest.
    pub(super) fn complete(mut self, sysroot: &Sysroot) -> Subject {
        let nic = self.device.as_ref().map(|name| Nic::new(sysroot, name));
        if let Some(nic) = &nic {
            let ports = nic.ports().known().unwrap_or_default();
            let of_ports = ports.iter().filter_map(|port| nic.netdevs(*port).known()).flatten();
            let found: Vec<String> = of_ports.chain(nic.parent().known()).collect();
            for netdev in found {
                if !self.netdevs.contains(&netdev) {
                    self.netdevs.push(netdev);
                }
            }
        }
        if self.cpus.is_empty() {
            let online = sysroot.read("/sys/devices/system/cpu/online").known().unwrap_or_default();
            self.cpus = cpulist::parse(&online).unwrap_or_default();
            if self.cpus.len() > MOST_UNNAMED {
                let local = nic.and_then(|nic| nic.local_cpus().known());
                self.cpus = local.unwrap_or_default();
                self.cpus.truncate(MOST_UNNAMED);
            }
        }
        self
    }
}
