//! A host of as many CPUs as asked, in the shapes of the kernel: wide tables, masks of many words, one folder a CPU.

use std::{fs, path::Path};

use tempfile::TempDir;

use crate::cpulist;

/// Nodes of the host; its NIC is on the last but two.
const NODES: u32 = 8;
const NIC_NODE: u32 = 5;
const BDF: &str = "0000:c1:00.0";
const NIC: &str = "sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0";
/// Its completion vectors, behind one for events.
const VECTORS: u32 = 63;
const FIRST_IRQ: u32 = 400;

/// A host of this many CPUs on eight nodes, two threads a core (`c` and `c + cpus / 2`), with an mlx5 NIC on node 5 whose
/// 63 completion vectors sit on that node's first CPUs. `cpus` is a multiple of 16.
pub fn many_cpus(cpus: u32) -> TempDir {
    assert!(cpus > 0 && cpus.is_multiple_of(2 * NODES), "{cpus} CPUs cannot be shared out");
    let dir = super::temporary();
    let tree = Tree { root: dir.path(), cpus };
    tree.system();
    tree.cpu_folders();
    tree.nodes();
    tree.nic();
    tree.interrupts();
    dir
}

struct Tree<'r> {
    root: &'r Path,
    cpus: u32,
}

impl Tree<'_> {
    fn file(&self, path: &str, text: impl std::fmt::Display) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("mkdir");
        fs::write(path, format!("{text}\n")).expect("write");
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("mkdir");
        std::os::unix::fs::symlink(target, path).expect("ln");
    }

    /// Node of a CPU: a core's two threads are on one node.
    fn node_of(&self, cpu: u32) -> u32 {
        cpu % (self.cpus / 2) / (self.cpus / 2 / NODES)
    }

    fn cpus_of(&self, node: u32) -> Vec<u32> {
        (0..self.cpus).filter(|cpu| self.node_of(*cpu) == node).collect()
    }

    fn all(&self) -> String {
        format!("0-{}", self.cpus - 1)
    }

    /// Words of 32 bits, the highest first, as the kernel prints a mask.
    fn mask(&self, cpus: &[u32]) -> String {
        let mut words = vec![0_u32; self.cpus.div_ceil(32) as usize];
        for cpu in cpus {
            words[(cpu / 32) as usize] |= 1 << (cpu % 32);
        }
        words.iter().rev().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(",")
    }

    fn system(&self) {
        let cpu = "sys/devices/system/cpu";
        for list in ["online", "possible", "present"] {
            self.file(&format!("{cpu}/{list}"), self.all());
        }
        self.file(&format!("{cpu}/isolated"), "");
        self.file(&format!("{cpu}/smt/active"), 1);
        self.file(&format!("{cpu}/smt/control"), "on");
        self.file("sys/devices/virtual/workqueue/cpumask", self.mask(&(0..self.cpus).collect::<Vec<_>>()));
        self.file("proc/sys/kernel/hostname", "wide");
        self.file("proc/sys/kernel/osrelease", "6.12.8");
        self.file("proc/sys/kernel/random/boot_id", "1a2b3c4d-0000-4000-8000-000000000009");
        self.file("proc/cmdline", "BOOT_IMAGE=/vmlinuz ro");
        self.file("proc/meminfo", "MemTotal:       4294967296 kB");
        self.file("proc/self/cgroup", "0::/");
        self.file("proc/self/status", format!("Cpus_allowed_list:\t{}", self.all()));
        let cpuinfo: String = (0..self.cpus)
            .map(|cpu| {
                format!("processor\t: {cpu}\nmodel name\t: AMD EPYC 9965\nflags\t\t: constant_tsc\n\n")
            })
            .collect();
        self.file("proc/cpuinfo", cpuinfo);
        self.file("proc/irq/default_smp_affinity", self.mask(&(0..self.cpus).collect::<Vec<_>>()));
    }

    fn cpu_folders(&self) {
        let half = self.cpus / 2;
        for cpu in 0..self.cpus {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            let core = cpu % half;
            self.file(&format!("{folder}/topology/thread_siblings_list"), format!("{core},{}", core + half));
            self.file(
                &format!("{folder}/topology/physical_package_id"),
                u32::from(self.node_of(cpu) >= NODES / 2),
            );
            self.file(&format!("{folder}/cpufreq/scaling_governor"), "schedutil");
            self.file(&format!("{folder}/cpufreq/scaling_driver"), "acpi-cpufreq");
            self.file(&format!("{folder}/power/pm_qos_resume_latency_us"), 0);
            self.file(&format!("{folder}/cpuidle/state1/name"), "C1");
            self.file(&format!("{folder}/cpuidle/state1/latency"), 1);
            self.file(&format!("{folder}/cpuidle/state1/disable"), 0);
        }
    }

    fn nodes(&self) {
        let node = "sys/devices/system/node";
        let all = format!("0-{}", NODES - 1);
        for list in ["online", "possible", "has_cpu", "has_memory"] {
            self.file(&format!("{node}/{list}"), &all);
        }
        for id in 0..NODES {
            let distances: Vec<String> =
                (0..NODES).map(|other| if other == id { "10" } else { "32" }.to_owned()).collect();
            self.file(&format!("{node}/node{id}/cpulist"), cpulist::format(&self.cpus_of(id)));
            self.file(&format!("{node}/node{id}/distance"), distances.join(" "));
            self.file(&format!("{node}/node{id}/meminfo"), format!("Node {id} MemTotal:       536870912 kB"));
        }
    }

    fn nic(&self) {
        let local = self.cpus_of(NIC_NODE);
        self.file(&format!("{NIC}/numa_node"), NIC_NODE);
        self.file(&format!("{NIC}/local_cpulist"), cpulist::format(&local));
        self.file(&format!("{NIC}/local_cpus"), self.mask(&local));
        self.link(&format!("{NIC}/driver"), "../../../../bus/pci/drivers/mlx5_core");
        self.link(
            &format!("sys/bus/pci/devices/{BDF}"),
            "../../../devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0",
        );
        let device = format!("{NIC}/infiniband/mlx5_0");
        self.link(&format!("{device}/device"), "../../../0000:c1:00.0");
        self.link(
            "sys/class/infiniband/mlx5_0",
            "../../devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/infiniband/mlx5_0",
        );
        for (file, text) in [
            ("fw_ver", "28.41.1000"),
            ("hca_type", "MT4129"),
            ("ports/1/state", "4: ACTIVE"),
            ("ports/1/phys_state", "5: LinkUp"),
            ("ports/1/link_layer", "Ethernet"),
            ("ports/1/rate", "400 Gb/sec (4X NDR)"),
            ("ports/1/gid_attrs/ndevs/0", "ens1np0"),
            ("ports/1/gid_attrs/types/0", "RoCE v2"),
        ] {
            self.file(&format!("{device}/{file}"), text);
        }
        let netdev = format!("{NIC}/net/ens1np0");
        self.file(&format!("{netdev}/mtu"), 9000);
        self.file(&format!("{netdev}/operstate"), "up");
        self.link(&format!("{netdev}/device"), "../../../0000:c1:00.0");
        self.link("sys/class/net/ens1np0", "../../devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/net/ens1np0");
    }

    /// The vector for events goes wherever the node's CPUs are, each completion vector to one CPU.
    fn interrupts(&self) {
        let local = self.cpus_of(NIC_NODE);
        let mut table: String = " ".repeat(8);
        table.extend((0..self.cpus).map(|cpu| format!("{:>11}", format!("CPU{cpu}"))));
        for vector in 0..=VECTORS {
            let irq = FIRST_IRQ + vector;
            let on = local[vector as usize % local.len()];
            let (action, allowed) = match vector {
                0 => (format!("mlx5_async0@pci:{BDF}"), local.clone()),
                _ => (format!("mlx5_comp{}@pci:{BDF}", vector - 1), vec![on]),
            };
            table.push_str(&format!("\n{irq:>7}:"));
            table.extend(
                (0..self.cpus).map(|cpu| format!("{:>11}", if cpu == on { 1000 + vector } else { 0 })),
            );
            table.push_str(&format!("  IR-PCI-MSIX-{BDF} {vector:>4}-edge      {action}"));
            let folder = format!("proc/irq/{irq}");
            self.file(&format!("{folder}/smp_affinity_list"), cpulist::format(&allowed));
            self.file(&format!("{folder}/smp_affinity"), self.mask(&allowed));
            self.file(&format!("{folder}/effective_affinity_list"), on);
            self.file(&format!("{folder}/effective_affinity"), self.mask(&[on]));
            self.file(&format!("{NIC}/msi_irqs/{irq}"), "msix");
        }
        self.file("proc/interrupts", table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nic, Sysroot, Topology, Value};

    #[test]
    fn a_thousand_cpus_read_back() {
        let dir = many_cpus(1024);
        let host = Sysroot::new(dir.path());
        let topology = Topology::read(&host);
        assert_eq!(topology.cpus.len(), 1024);
        let last = topology.cpus.last().expect("cpu1023");
        assert_eq!(
            (last.id, last.core_siblings.as_slice(), &last.node),
            (1023, &[511, 1023][..], &Value::Known(7))
        );
        let nic = Nic::new(&host, "mlx5_0");
        let vectors = nic.vectors().known().expect("vectors");
        assert_eq!(vectors.len(), 64);
        assert_eq!(vectors[1].counts[321], (321, 1001), "the second CPU of node 5");
        assert_eq!(nic.irq_cpus().known().expect("its CPUs").len(), 64);
    }
}
