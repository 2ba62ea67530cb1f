//! What most checks ask for, read once: the host's shape, its RDMA devices and where they stand, and its daemons.

use host::{
    Interrupts, Nic, Sysroot, Topology, Value, cpuinfo,
    netdev::Netdev,
    nic::{self, NicVector},
    pcie::{self, Function},
    pick::Situation,
    process::{self, Process},
};

use super::{Devices, DoctorError};

/// Daemons that rewrite what is set here.
const DAEMONS: [&str; 5] = ["irqbalance", "tuned", "lldpad", "mlnx_affinity", "mlnx_tune"];

/// A host while it is looked at.
pub(super) struct View<'h> {
    /// Where it is read.
    pub(super) sysroot: &'h Sysroot,
    /// CPUs and nodes.
    pub(super) topology: Topology,
    /// Whether the CPU says it runs under a hypervisor.
    pub(super) virtualized: Value<bool>,
    /// Daemons that rewrite settings.
    pub(super) daemons: Value<Vec<Process>>,
    /// The RDMA devices to look at.
    pub(super) devices: Vec<Device>,
}

/// How an RDMA device comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A function of a bus, whose data path the kernel takes no part in.
    Hardware,
    /// rxe: the kernel's UDP.
    SoftRoce,
    /// siw: the kernel's TCP.
    SoftIwarp,
}

/// An RDMA device and where it stands.
pub(super) struct Device {
    /// Its name.
    pub(super) name: String,
    /// How it comes about.
    pub(super) kind: Kind,
    /// Kernel driver of its bus device.
    pub(super) driver: Value<String>,
    /// Folder of its bus device, or of the one it is built on.
    pub(super) folder: String,
    /// PCI functions up to the root port, itself first; empty off PCI.
    pub(super) way: Vec<Function>,
    /// Interrupt vectors.
    pub(super) vectors: Value<Vec<NicVector>>,
    /// NUMA node.
    pub(super) node: Value<u32>,
    /// Ports.
    pub(super) ports: Vec<Port>,
}

/// A port.
pub(super) struct Port {
    /// Its number.
    pub(super) number: u8,
    /// Whether it is Ethernet; a driver that does not say is taken for it.
    pub(super) ethernet: bool,
    /// Its network devices.
    pub(super) netdevs: Vec<String>,
    /// Its rate.
    pub(super) rate: Value<String>,
}

impl Port {
    /// Its rate in Gb/s: `100 Gb/sec (4X EDR)`.
    pub(super) fn gigabits(&self) -> Option<f64> {
        match &self.rate {
            Value::Known(text) => text.split_whitespace().next()?.parse().ok(),
            _ => None,
        }
    }
}

impl Device {
    /// Its own PCI function.
    pub(super) fn function(&self) -> Option<&Function> {
        self.way.first().filter(|_| self.kind == Kind::Hardware)
    }

    /// Its address on the bus, as commands take it.
    pub(super) fn address(&self) -> &str {
        self.function().map_or("", |function| &function.address)
    }

    /// Every network device of its ports, each once.
    pub(super) fn netdevs(&self) -> Vec<&str> {
        let mut netdevs: Vec<&str> =
            self.ports.iter().flat_map(|port| &port.netdevs).map(String::as_str).collect();
        netdevs.dedup();
        netdevs
    }

    /// CPUs that take its interrupts.
    pub(super) fn irq_cpus(&self) -> Vec<u32> {
        let vectors = self.vectors.as_ref().known().map_or(&[][..], |vectors| vectors.as_slice());
        let used = vectors.iter().filter(|vector| !vector.actions.is_empty());
        used.filter_map(|vector| vector.delivered_to.as_ref().known()).flatten().copied().collect()
    }

    /// The rate of its fastest port in Gb/s.
    pub(super) fn gigabits(&self) -> Option<f64> {
        self.ports.iter().filter_map(Port::gigabits).reduce(f64::max)
    }

    /// Why what belongs to hardware does not apply to it.
    pub(super) fn why_software(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Hardware => None,
            Kind::SoftRoce => Some("a software device (rxe): the kernel's UDP carries it"),
            Kind::SoftIwarp => Some("a software device (siw): the kernel's TCP carries it"),
        }
    }
}

impl<'h> View<'h> {
    /// Looks at a host, with these of its devices.
    pub(super) fn of(sysroot: &'h Sysroot, devices: &Devices) -> Result<View<'h>, DoctorError> {
        if !sysroot.exists("/proc") && !sysroot.exists("/sys") {
            return Err(DoctorError::NoHost(sysroot.path("/")));
        }
        let known = nic::names(sysroot).known().unwrap_or_default();
        let names = match devices {
            Devices::All => known,
            Devices::One(name) if known.contains(name) => vec![name.clone()],
            Devices::One(name) => return Err(DoctorError::NoDevice { name: name.clone(), known }),
            Devices::None => Vec::new(),
        };
        // The table is read once: on a host of many CPUs it has megabytes.
        let irqs: Vec<u32> =
            names.iter().filter_map(|name| Nic::new(sysroot, name).irqs().known()).flatten().collect();
        let table = Interrupts::read_only(sysroot, &irqs);
        let devices = names.iter().map(|name| device(sysroot, name, &table)).collect();
        Ok(View {
            sysroot,
            topology: Topology::read(sysroot),
            virtualized: cpuinfo::virtualized(sysroot),
            daemons: process::named(sysroot, &DAEMONS),
            devices,
        })
    }

    /// Whether it is known to be a guest.
    pub(super) fn is_guest(&self) -> bool {
        self.virtualized == Value::Known(true)
    }

    /// Whether a device is on this kind of path.
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.devices.iter().any(|device| device.kind == kind)
    }

    /// CPUs taken from the scheduler; empty if none or unknown.
    pub(super) fn isolated(&self) -> Vec<u32> {
        self.topology.isolated.clone().known().unwrap_or_default()
    }

    /// CPUs of a device's node; all that are online where it has none.
    pub(super) fn cpus_near(&self, device: &Device) -> Vec<u32> {
        let node = device.node.as_ref().known().and_then(|node| self.topology.node(*node));
        match node {
            Some(node) if !node.cpus.is_empty() => node.cpus.clone(),
            _ => self.topology.online(),
        }
    }

    /// The CPU a polling thread would get beside a device whose interrupts go to `irq_cpus`.
    pub(super) fn poll_cpu(&self, device: &Device, irq_cpus: &[u32]) -> Option<u32> {
        let allowed = self.topology.online();
        let nic_node = device.node.as_ref().known().copied();
        let situation =
            Situation { topology: &self.topology, allowed: &allowed, nic_node, irq_cpus, avoid: &[] };
        situation.pick_cpu().map(|choice| choice.cpu)
    }

    /// The daemons of this name.
    pub(super) fn daemon(&self, name: &str) -> Option<&Process> {
        match &self.daemons {
            Value::Known(daemons) => daemons.iter().find(|daemon| daemon.name == name),
            _ => None,
        }
    }
}

fn device(sysroot: &Sysroot, name: &str, table: &Value<Interrupts>) -> Device {
    let nic = Nic::new(sysroot, name);
    let folder = nic.bus_folder();
    let netdev_of_software = nic.parent().known();
    Device {
        name: name.to_owned(),
        kind: kind(sysroot, name, netdev_of_software.is_some()),
        driver: nic.driver(),
        way: pcie::upwards(sysroot, &folder).known().unwrap_or_default(),
        vectors: table.as_ref().and_then(|table| nic.vectors_in(table)),
        node: nic.numa_node(),
        ports: ports(sysroot, &nic, &folder, netdev_of_software.as_deref()),
        folder,
    }
}

/// The kernel calls an iWARP device `4: RNIC`.
fn kind(sysroot: &Sysroot, name: &str, has_parent: bool) -> Kind {
    if !has_parent {
        return Kind::Hardware;
    }
    let node_type = sysroot.read(format!("/sys/class/infiniband/{name}/node_type"));
    match node_type {
        Value::Known(text) if text.contains("RNIC") => Kind::SoftIwarp,
        _ => Kind::SoftRoce,
    }
}

fn ports(sysroot: &Sysroot, nic: &Nic, folder: &str, parent: Option<&str>) -> Vec<Port> {
    let numbers = nic.ports().known().unwrap_or_default();
    numbers.into_iter().map(|number| port(sysroot, nic, folder, parent, number)).collect()
}

fn port(sysroot: &Sysroot, nic: &Nic, folder: &str, parent: Option<&str>, number: u8) -> Port {
    let mut netdevs = nic.netdevs(number).known().unwrap_or_default();
    if netdevs.is_empty() {
        // A port that is down has no GIDs, and with them no names: then the bus device or the parent has them.
        netdevs = match parent {
            Some(parent) => vec![parent.to_owned()],
            None => netdevs_of_bus(sysroot, folder, number),
        };
    }
    Port {
        number,
        ethernet: nic.link_layer(number) != Value::Known("InfiniBand".into()),
        netdevs,
        rate: nic.rate(number),
    }
}

/// The network devices of the bus device whose `dev_port` (from 0) is this port (from 1).
fn netdevs_of_bus(sysroot: &Sysroot, folder: &str, number: u8) -> Vec<String> {
    let names = sysroot.list(format!("{folder}/net")).known().unwrap_or_default();
    let is_of_port = |name: &String| {
        let port = sysroot.read(Netdev::new(sysroot, name).path("dev_port")).known();
        port.and_then(|port| port.parse::<u8>().ok()).is_none_or(|port| port.checked_add(1) == Some(number))
    };
    names.into_iter().filter(is_of_port).collect()
}
