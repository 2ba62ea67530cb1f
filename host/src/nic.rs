//! An RDMA device as sysfs shows it: identity, place, ports, network devices, and the vectors that serve it.

use crate::{
    interrupts::{self, Interrupts},
    sysroot::Sysroot,
    topology::read_list,
    value::Value,
};

const CLASS: &str = "/sys/class/infiniband";

/// One RDMA device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// Name, for example `mlx5_0`.
    pub name: String,
    /// Address on its bus, for PCI as `0000:c1:00.0`; absent for software devices.
    pub bus_address: Value<String>,
    /// Kernel driver of that bus device.
    pub driver: Value<String>,
    /// Network device a software RDMA device (rxe, siw) is built on; absent for hardware.
    pub parent: Value<String>,
    /// NUMA node of the device, or of what it is built on.
    pub numa_node: Value<u32>,
    /// CPUs the platform calls local to it.
    pub local_cpus: Value<Vec<u32>>,
    /// Firmware version.
    pub firmware: Value<String>,
    /// Device type, for example `MT4129`.
    pub hca_type: Value<String>,
    /// Parameter-set id of the board.
    pub board_id: Value<String>,
    /// Its ports.
    pub ports: Vec<Port>,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Number, from 1.
    pub port_num: u8,
    /// `4: ACTIVE` and the like.
    pub state: Value<String>,
    /// `Ethernet` or `InfiniBand`.
    pub link_layer: Value<String>,
    /// Link rate as the driver words it.
    pub rate: Value<String>,
    /// Network devices its GIDs belong to.
    pub netdevs: Vec<String>,
}

/// One interrupt vector of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NicVector {
    /// Its IRQ number now; it may change when the driver is reloaded.
    pub irq: u32,
    /// Its handlers; empty while nobody uses it.
    pub actions: Vec<String>,
    /// Interrupts so far, by CPU.
    pub counts: Vec<(u32, u64)>,
    /// CPUs it is delivered to.
    pub delivered_to: Value<Vec<u32>>,
}

/// The RDMA devices of the host; absent where the kernel has no RDMA subsystem.
pub fn names(sysroot: &Sysroot) -> Value<Vec<String>> {
    sysroot.list(CLASS)
}

impl Nic {
    /// Reads a device; absent if the host has none of that name.
    pub fn read(sysroot: &Sysroot, name: &str) -> Value<Nic> {
        let folder = format!("{CLASS}/{name}");
        if name.is_empty() || name.contains('/') || !sysroot.exists(&folder) {
            return Value::Absent;
        }
        let parent = sysroot.read(format!("{folder}/parent"));
        let device = device_folder(&folder, &parent);
        let attribute = |file: &str| non_empty(sysroot.read(format!("{folder}/{file}")));
        Value::Known(Nic {
            name: name.to_owned(),
            bus_address: sysroot.link_name(format!("{folder}/device")),
            driver: sysroot.link_name(format!("{folder}/device/driver")),
            numa_node: read_node(sysroot, &device),
            local_cpus: read_list(sysroot, &format!("{device}/local_cpulist")),
            firmware: attribute("fw_ver"),
            hca_type: attribute("hca_type"),
            board_id: attribute("board_id"),
            ports: read_ports(sysroot, &folder),
            parent,
        })
    }

    /// Its interrupt vectors; absent where it has none of its own.
    pub fn vectors(&self, sysroot: &Sysroot) -> Value<Vec<NicVector>> {
        let device = device_folder(&format!("{CLASS}/{}", self.name), &self.parent);
        let irqs = msi_irqs(sysroot, &device);
        let table = Interrupts::read(sysroot);
        irqs.and_then(|irqs| {
            table.map(|table| irqs.into_iter().map(|irq| nic_vector(sysroot, &table, irq)).collect())
        })
    }

    /// CPUs that take its interrupts, ascending.
    pub fn irq_cpus(&self, sysroot: &Sysroot) -> Value<Vec<u32>> {
        self.vectors(sysroot).map(|vectors| {
            let used = vectors.into_iter().filter(|vector| !vector.actions.is_empty());
            let mut cpus: Vec<u32> =
                used.filter_map(|vector| vector.delivered_to.known()).flatten().collect();
            cpus.sort_unstable();
            cpus.dedup();
            cpus
        })
    }
}

/// The bus device, or the one under the network device a software device is built on.
fn device_folder(folder: &str, parent: &Value<String>) -> String {
    match parent {
        Value::Known(netdev) if !netdev.is_empty() => format!("/sys/class/net/{netdev}/device"),
        _ => format!("{folder}/device"),
    }
}

/// Drivers without a firmware or a board print an empty line.
fn non_empty(text: Value<String>) -> Value<String> {
    text.and_then(|text| match text.trim() {
        "" => Value::NotApplicable("the driver reports none".into()),
        some => Value::Known(some.to_owned()),
    })
}

fn read_node(sysroot: &Sysroot, device: &str) -> Value<u32> {
    sysroot.read(format!("{device}/numa_node")).and_then(|text| match text.parse::<i64>() {
        Ok(-1) => Value::NotApplicable("the platform gives this device no NUMA node".into()),
        Ok(node) => u32::try_from(node)
            .map_or_else(|_| Value::Unreadable(format!("{device}/numa_node: `{text}`")), Value::Known),
        Err(error) => Value::Unreadable(format!("{device}/numa_node: `{text}`: {error}")),
    })
}

fn read_ports(sysroot: &Sysroot, folder: &str) -> Vec<Port> {
    let names = sysroot.list(format!("{folder}/ports")).known().unwrap_or_default();
    names.iter().filter_map(|name| name.parse().ok()).map(|num| read_port(sysroot, folder, num)).collect()
}

fn read_port(sysroot: &Sysroot, folder: &str, port_num: u8) -> Port {
    let port = format!("{folder}/ports/{port_num}");
    let attribute = |file: &str| non_empty(sysroot.read(format!("{port}/{file}")));
    Port {
        port_num,
        state: attribute("state"),
        link_layer: attribute("link_layer"),
        rate: attribute("rate"),
        netdevs: read_netdevs(sysroot, &format!("{port}/gid_attrs/ndevs")),
    }
}

/// Each network device once. The file of an empty GID entry cannot be read (EINVAL); it names none.
fn read_netdevs(sysroot: &Sysroot, folder: &str) -> Vec<String> {
    let mut netdevs = Vec::new();
    for index in sysroot.list(folder).known().unwrap_or_default() {
        if let Some(netdev) = non_empty(sysroot.read(format!("{folder}/{index}"))).known()
            && !netdevs.contains(&netdev)
        {
            netdevs.push(netdev);
        }
    }
    netdevs
}

/// IRQ numbers of a device; a virtio device has them one level up, at its PCI function.
fn msi_irqs(sysroot: &Sysroot, device: &str) -> Value<Vec<u32>> {
    let own = sysroot.list(format!("{device}/msi_irqs"));
    let listed = if own == Value::Absent { sysroot.list(format!("{device}/../msi_irqs")) } else { own };
    listed.map(|names| names.iter().filter_map(|name| name.parse().ok()).collect())
}

fn nic_vector(sysroot: &Sysroot, table: &Interrupts, irq: u32) -> NicVector {
    let line = table.vector(irq);
    NicVector {
        irq,
        actions: line.map(|line| line.actions.clone()).unwrap_or_default(),
        counts: line.map(|line| table.by_cpu(line).collect()).unwrap_or_default(),
        delivered_to: interrupts::delivered_to(sysroot, irq),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn nic(host: &str, name: &str) -> (Sysroot, Nic) {
        let host = fixture(host);
        let nic = Nic::read(&host, name).known().expect("the device");
        (host, nic)
    }

    #[test]
    fn a_pci_device_has_an_address_a_node_and_a_netdev() {
        let (_, nic) = nic("two-socket-mlx5", "mlx5_0");
        assert_eq!(nic.bus_address, Value::Known("0000:c1:00.0".into()));
        assert_eq!(nic.driver, Value::Known("mlx5_core".into()));
        assert_eq!((nic.numa_node, nic.parent), (Value::Known(1), Value::Absent));
        assert_eq!(nic.local_cpus, Value::Known(vec![2, 3, 6, 7]));
        assert_eq!(nic.firmware, Value::Known("28.39.1002".into()));
        assert_eq!(nic.ports.len(), 1);
        assert_eq!(nic.ports[0].netdevs, ["ens1np0"], "each netdev once, empty entries none");
        assert_eq!(nic.ports[0].state, Value::Known("4: ACTIVE".into()));
    }

    #[test]
    fn its_vectors_are_found_by_msi_irqs_and_only_used_ones_take_a_cpu() {
        let (host, nic) = nic("two-socket-mlx5", "mlx5_0");
        let vectors = nic.vectors(&host).known().expect("vectors");
        let irqs: Vec<u32> = vectors.iter().map(|vector| vector.irq).collect();
        assert_eq!(irqs, [98, 99, 109, 110], "not contiguous, and 110 is allocated but unused");
        assert_eq!(vectors[1].actions, ["mlx5_comp0@pci:0000:c1:00.0"]);
        assert_eq!(vectors[1].counts[2], (2, 4360));
        assert!(vectors[3].actions.is_empty());
        assert_eq!(nic.irq_cpus(&host), Value::Known(vec![2, 3, 6, 7]));
    }

    #[test]
    fn rxe_stands_where_its_parent_stands() {
        let (host, nic) = nic("guest-rxe", "rxe0");
        assert_eq!(nic.parent, Value::Known("eth0".into()));
        assert_eq!(nic.bus_address, Value::Absent);
        assert!(matches!(nic.numa_node, Value::NotApplicable(_)), "virtio has node -1: {:?}", nic.numa_node);
        assert!(matches!(nic.firmware, Value::NotApplicable(_)));
        assert_eq!(nic.irq_cpus(&host), Value::Known(vec![0, 1]), "those of the virtio function");
    }

    #[test]
    fn no_subsystem_and_no_such_device_are_absent() {
        let container = fixture("container-cpuset");
        assert_eq!(names(&container), Value::Absent);
        assert_eq!(Nic::read(&container, "mlx5_0"), Value::Absent);
        assert_eq!(Nic::read(&fixture("two-socket-mlx5"), "../infiniband/mlx5_0"), Value::Absent);
        assert_eq!(names(&fixture("guest-rxe")), Value::Known(vec!["rxe0".into()]));
    }
}
