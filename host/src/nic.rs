//! An RDMA device as sysfs shows it: identity, place, ports, network devices, and the vectors that serve it.

use crate::{
    interrupts::{self, Interrupts},
    sysroot::Sysroot,
    topology::read_list,
    value::Value,
};

const CLASS: &str = "/sys/class/infiniband";

/// One RDMA device by name. Each question reads its own file, so asking one thing costs one thing; all answers are absent
/// for a device the host does not have.
#[derive(Debug, Clone)]
pub struct Nic<'h> {
    sysroot: &'h Sysroot,
    folder: String,
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

/// Words in the handlers of vectors that carry no traffic: asynchronous events, commands, pages, management, mailboxes.
const NO_TRAFFIC: [&str; 12] = [
    "async", "aeq", "cmd_eq", "pages_eq", "mgmt", "mgmnt", "ctrl", "admin", "config", "mbox", "event", "misc",
];

impl NicVector {
    /// Whether traffic can raise it: someone handles it, and not for the device's own affairs.
    pub fn carries_data(&self) -> bool {
        !self.actions.is_empty()
            && self.actions.iter().all(|action| !NO_TRAFFIC.iter().any(|word| action.contains(word)))
    }
}

/// The RDMA devices of the host; absent where the kernel has no RDMA subsystem.
pub fn names(sysroot: &Sysroot) -> Value<Vec<String>> {
    sysroot.list(CLASS)
}

impl<'h> Nic<'h> {
    /// The device of this name (`mlx5_0`, `rxe0`), whether or not the host has it.
    pub fn new(sysroot: &'h Sysroot, name: &str) -> Nic<'h> {
        Nic { sysroot, folder: format!("{CLASS}/{name}") }
    }

    /// The device of a network device, for hosts where no RDMA device is named. It has no ports, firmware or state.
    pub fn of_netdev(sysroot: &'h Sysroot, netdev: &str) -> Nic<'h> {
        Nic { sysroot, folder: format!("/sys/class/net/{netdev}") }
    }

    /// Whether the host has it.
    pub fn exists(&self) -> bool {
        self.sysroot.exists(&self.folder)
    }

    /// Address on its bus, for PCI as `0000:c1:00.0`; absent for software devices.
    pub fn bus_address(&self) -> Value<String> {
        self.sysroot.link_name(format!("{}/device", self.folder))
    }

    /// Kernel driver of the bus device.
    pub fn driver(&self) -> Value<String> {
        self.sysroot.link_name(format!("{}/device/driver", self.folder))
    }

    /// Network device a software RDMA device (rxe, siw) is built on; absent for hardware.
    pub fn parent(&self) -> Value<String> {
        self.attribute("parent")
    }

    /// NUMA node of the device, or of what it is built on.
    pub fn numa_node(&self) -> Value<u32> {
        let path = format!("{}/numa_node", self.bus_folder());
        self.sysroot.read(&path).and_then(|text| match text.parse::<i64>() {
            Ok(-1) => Value::NotApplicable("the platform gives this device no NUMA node".into()),
            Ok(node) => u32::try_from(node)
                .map_or_else(|_| Value::Unreadable(format!("{path}: `{text}`")), Value::Known),
            Err(error) => Value::Unreadable(format!("{path}: `{text}`: {error}")),
        })
    }

    /// CPUs the platform calls local to it.
    pub fn local_cpus(&self) -> Value<Vec<u32>> {
        read_list(self.sysroot, &format!("{}/local_cpulist", self.bus_folder()))
    }

    /// Firmware version.
    pub fn firmware(&self) -> Value<String> {
        self.attribute("fw_ver")
    }

    /// Device type, for example `MT4129`.
    pub fn hca_type(&self) -> Value<String> {
        self.attribute("hca_type")
    }

    /// Parameter-set id of the board.
    pub fn board_id(&self) -> Value<String> {
        self.attribute("board_id")
    }

    /// Numbers of its ports, from 1.
    pub fn ports(&self) -> Value<Vec<u8>> {
        let listed = self.sysroot.list(format!("{}/ports", self.folder));
        listed.map(|names| names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// State of a port as the kernel words it, for example `4: ACTIVE`.
    pub fn state(&self, port_num: u8) -> Value<String> {
        self.attribute(&format!("ports/{port_num}/state"))
    }

    /// `Ethernet` or `InfiniBand`.
    pub fn link_layer(&self, port_num: u8) -> Value<String> {
        self.attribute(&format!("ports/{port_num}/link_layer"))
    }

    /// Link rate of a port as the driver words it.
    pub fn rate(&self, port_num: u8) -> Value<String> {
        self.attribute(&format!("ports/{port_num}/rate"))
    }

    /// Network devices the GIDs of a port belong to, each once. The file of an empty GID entry cannot be read (EINVAL);
    /// it names none.
    pub fn netdevs(&self, port_num: u8) -> Value<Vec<String>> {
        let folder = format!("ports/{port_num}/gid_attrs/ndevs");
        self.sysroot.list(format!("{}/{folder}", self.folder)).map(|indexes| {
            let mut netdevs = Vec::new();
            for index in indexes {
                if let Some(netdev) = self.attribute(&format!("{folder}/{index}")).known()
                    && !netdevs.contains(&netdev)
                {
                    netdevs.push(netdev);
                }
            }
            netdevs
        })
    }

    /// Its interrupt vectors; absent where it has none of its own.
    pub fn vectors(&self) -> Value<Vec<NicVector>> {
        self.irqs()
            .and_then(|irqs| Interrupts::read_only(self.sysroot, &irqs))
            .and_then(|table| self.vectors_in(&table))
    }

    /// Its interrupt vectors, from a table that was read for several devices at once.
    pub fn vectors_in(&self, table: &Interrupts) -> Value<Vec<NicVector>> {
        self.irqs().map(|irqs| irqs.into_iter().map(|irq| self.vector(table, irq)).collect())
    }

    /// Numbers of its vectors, used or not; absent where it has none of its own.
    pub fn irqs(&self) -> Value<Vec<u32>> {
        let listed = self.sysroot.list(self.msi_irqs_folder());
        listed.map(|names| names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Those of its vectors that traffic can raise.
    pub fn data_vectors(&self) -> Value<Vec<NicVector>> {
        self.vectors().map(|vectors| vectors.into_iter().filter(NicVector::carries_data).collect())
    }

    /// The folder that lists its vectors, below the bus device that stays the same while the host runs:
    /// `/sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/msi_irqs`.
    pub fn vector_folder(&self) -> Value<String> {
        self.sysroot.resolve(self.msi_irqs_folder())
    }

    /// CPUs that take its interrupts, ascending.
    pub fn irq_cpus(&self) -> Value<Vec<u32>> {
        self.vectors().map(|vectors| {
            let used = vectors.into_iter().filter(|vector| !vector.actions.is_empty());
            let mut cpus: Vec<u32> =
                used.filter_map(|vector| vector.delivered_to.known()).flatten().collect();
            cpus.sort_unstable();
            cpus.dedup();
            cpus
        })
    }

    /// A file of its class folder. Drivers without a firmware or a board print an empty line.
    fn attribute(&self, file: &str) -> Value<String> {
        self.sysroot.read(format!("{}/{file}", self.folder)).and_then(|text| match text.trim() {
            "" => Value::NotApplicable(format!("{file}: the driver reports none")),
            some => Value::Known(some.to_owned()),
        })
    }

    /// Folder of the bus device, or of the one under the network device a software device is built on.
    pub fn bus_folder(&self) -> String {
        match self.parent() {
            Value::Known(netdev) => format!("/sys/class/net/{netdev}/device"),
            _ => format!("{}/device", self.folder),
        }
    }

    /// A virtio device has its vectors one level up, at its PCI function.
    fn msi_irqs_folder(&self) -> String {
        let bus = self.bus_folder();
        let own = format!("{bus}/msi_irqs");
        if self.sysroot.exists(&own) { own } else { format!("{bus}/../msi_irqs") }
    }

    fn vector(&self, table: &Interrupts, irq: u32) -> NicVector {
        let line = table.vector(irq);
        NicVector {
            irq,
            actions: line.map(|line| line.actions.clone()).unwrap_or_default(),
            counts: line.map(|line| table.by_cpu(line).collect()).unwrap_or_default(),
            delivered_to: interrupts::delivered_to(self.sysroot, irq),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_pci_device_has_an_address_a_node_and_a_netdev() {
        let host = fixture("two-socket-mlx5");
        let nic = Nic::new(&host, "mlx5_0");
        assert!(nic.exists());
        assert_eq!(nic.bus_address(), Value::Known("0000:c1:00.0".into()));
        assert_eq!(nic.driver(), Value::Known("mlx5_core".into()));
        assert_eq!((nic.numa_node(), nic.parent()), (Value::Known(1), Value::Absent));
        assert_eq!(nic.local_cpus(), Value::Known(vec![2, 3, 6, 7]));
        assert_eq!(nic.firmware(), Value::Known("28.39.1002".into()));
        assert_eq!(nic.hca_type(), Value::Known("MT4129".into()));
        assert_eq!(nic.board_id(), Value::Known("MT_0000000834".into()));
    }

    #[test]
    fn a_port_names_each_netdev_once() {
        let host = fixture("two-socket-mlx5");
        let nic = Nic::new(&host, "mlx5_0");
        assert_eq!(nic.ports(), Value::Known(vec![1]));
        assert_eq!(nic.netdevs(1), Value::Known(vec!["ens1np0".into()]));
        assert_eq!(nic.state(1), Value::Known("4: ACTIVE".into()));
        assert_eq!(nic.link_layer(1), Value::Known("Ethernet".into()));
        assert_eq!(nic.rate(1), Value::Known("200 Gb/sec (4X HDR)".into()));
        assert_eq!(nic.state(2), Value::Absent);
    }

    #[test]
    fn its_vectors_are_found_by_msi_irqs_and_only_used_ones_take_a_cpu() {
        let host = fixture("two-socket-mlx5");
        let nic = Nic::new(&host, "mlx5_0");
        let vectors = nic.vectors().known().expect("vectors");
        let irqs: Vec<u32> = vectors.iter().map(|vector| vector.irq).collect();
        assert_eq!(irqs, [98, 99, 109, 110], "not contiguous, and 110 is allocated but unused");
        assert_eq!(vectors[1].actions, ["mlx5_comp0@pci:0000:c1:00.0"]);
        assert_eq!(vectors[1].counts[2], (2, 4360));
        assert!(vectors[3].actions.is_empty());
        assert_eq!(nic.irq_cpus(), Value::Known(vec![2, 3, 6, 7]));
        let data: Vec<u32> =
            nic.data_vectors().known().expect("vectors").iter().map(|data| data.irq).collect();
        assert_eq!(data, [99, 109], "98 is for asynchronous events");
        let folder = nic.vector_folder().known().expect("a folder");
        assert_eq!(folder, "/sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/msi_irqs");
    }

    #[test]
    fn rxe_stands_where_its_parent_stands() {
        let host = fixture("guest-rxe");
        let nic = Nic::new(&host, "rxe0");
        assert_eq!((nic.parent(), nic.bus_address()), (Value::Known("eth0".into()), Value::Absent));
        assert!(matches!(nic.numa_node(), Value::NotApplicable(_)), "virtio has node -1");
        assert!(matches!(nic.firmware(), Value::NotApplicable(_)));
        assert_eq!(nic.irq_cpus(), Value::Known(vec![0, 1]), "those of the virtio function");
        assert_eq!(
            Nic::of_netdev(&host, "eth0").vector_folder(),
            nic.vector_folder(),
            "the network device alone names the same vectors"
        );
    }

    #[test]
    fn no_subsystem_and_no_such_device_are_absent() {
        let container = fixture("container-cpuset");
        assert_eq!(names(&container), Value::Absent);
        let nic = Nic::new(&container, "mlx5_0");
        assert!(!nic.exists());
        assert_eq!(
            (nic.numa_node(), nic.irq_cpus(), nic.netdevs(1)),
            (Value::Absent, Value::Absent, Value::Absent)
        );
        assert_eq!(names(&fixture("guest-rxe")), Value::Known(vec!["rxe0".into()]));
    }
}
