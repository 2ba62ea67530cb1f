//! CPUs and NUMA nodes of a host, and which CPUs share a physical core.

use crate::{cpulist, sysroot::Sysroot, value::Value};

/// One CPU that is online.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// Its number.
    pub id: u32,
    /// The CPUs of its physical core, itself among them.
    pub core_siblings: Vec<u32>,
    /// Its socket.
    pub package: Value<u32>,
    /// Its NUMA node; absent where the kernel knows no nodes.
    pub node: Value<u32>,
}

/// One NUMA node that is online.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Its CPUs that are online; empty for a node of memory alone.
    pub cpus: Vec<u32>,
    /// Its memory in bytes; 0 for a node of CPUs alone.
    pub memory_bytes: Value<u64>,
    /// Distance to each online node, in the order of [`Topology::nodes`]; 10 is itself.
    pub distances: Value<Vec<u32>>,
}

/// The shape of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// The CPUs online, ascending; empty if the kernel does not say.
    pub cpus: Vec<Cpu>,
    /// The NUMA nodes online, ascending; empty where the kernel knows none.
    pub nodes: Vec<Node>,
    /// CPUs taken from the scheduler, by isolcpus or by an isolated cpuset partition.
    pub isolated: Value<Vec<u32>>,
    /// CPUs without the periodic tick.
    pub nohz_full: Value<Vec<u32>>,
}

impl Topology {
    /// Reads it.
    pub fn read(sysroot: &Sysroot) -> Topology {
        let nodes = read_nodes(sysroot);
        let cpus = read_list(sysroot, "/sys/devices/system/cpu/online")
            .known()
            .unwrap_or_default()
            .into_iter()
            .map(|id| read_cpu(sysroot, id, &nodes))
            .collect();
        Topology {
            cpus,
            nodes,
            isolated: read_isolated(sysroot),
            nohz_full: read_list(sysroot, "/sys/devices/system/cpu/nohz_full"),
        }
    }

    /// The CPU of this number, if it is online.
    pub fn cpu(&self, id: u32) -> Option<&Cpu> {
        self.cpus.iter().find(|cpu| cpu.id == id)
    }

    /// The NUMA node of this number, if it is online.
    pub fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// The node of a CPU, where both are known.
    pub fn node_of_cpu(&self, id: u32) -> Option<u32> {
        self.cpu(id)?.node.clone().known()
    }

    /// The numbers of the CPUs online.
    pub fn online(&self) -> Vec<u32> {
        self.cpus.iter().map(|cpu| cpu.id).collect()
    }
}

/// A file in the kernel's list format. Kernels print an unset list as nothing, or as `(null)`.
pub fn read_list(sysroot: &Sysroot, path: &str) -> Value<Vec<u32>> {
    sysroot.read(path).parse(|text| match text.as_str() {
        "(null)" => Ok(Vec::new()),
        list => cpulist::parse(list).map_err(|error| format!("{path}: {error}")),
    })
}

fn read_number<T: std::str::FromStr<Err = std::num::ParseIntError>>(
    sysroot: &Sysroot,
    path: &str,
) -> Value<T> {
    sysroot.read(path).parse(|text| text.parse().map_err(|error| format!("{path}: `{text}`: {error}")))
}

/// Boot-time isolation, and the cpuset partitions a running system may have made.
fn read_isolated(sysroot: &Sysroot) -> Value<Vec<u32>> {
    let at_boot = read_list(sysroot, "/sys/devices/system/cpu/isolated");
    let partitions = read_list(sysroot, "/sys/fs/cgroup/cpuset.cpus.isolated").known().unwrap_or_default();
    at_boot.map(|mut cpus| {
        cpus.extend(partitions);
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    })
}

fn read_cpu(sysroot: &Sysroot, id: u32, nodes: &[Node]) -> Cpu {
    let topology = format!("/sys/devices/system/cpu/cpu{id}/topology");
    let mut core_siblings =
        read_list(sysroot, &format!("{topology}/thread_siblings_list")).known().unwrap_or_default();
    if !core_siblings.contains(&id) {
        core_siblings = vec![id];
    }
    let package =
        read_number::<i32>(sysroot, &format!("{topology}/physical_package_id")).and_then(|package| {
            u32::try_from(package)
                .map_or(Value::NotApplicable("this machine numbers no packages".into()), Value::Known)
        });
    let node =
        nodes.iter().find(|node| node.cpus.contains(&id)).map_or(Value::Absent, |node| Value::Known(node.id));
    Cpu { id, core_siblings, package, node }
}

fn read_nodes(sysroot: &Sysroot) -> Vec<Node> {
    let online = read_list(sysroot, "/sys/devices/system/node/online").known().unwrap_or_default();
    online.into_iter().map(|id| read_node(sysroot, id)).collect()
}

fn read_node(sysroot: &Sysroot, id: u32) -> Node {
    let folder = format!("/sys/devices/system/node/node{id}");
    Node {
        id,
        cpus: read_list(sysroot, &format!("{folder}/cpulist")).known().unwrap_or_default(),
        memory_bytes: sysroot.read(format!("{folder}/meminfo")).parse(|text| mem_total_bytes(&text)),
        distances: sysroot.read(format!("{folder}/distance")).parse(|text| parse_distances(&text)),
    }
}

/// `MemTotal` of /proc/meminfo or of a node's meminfo, in bytes.
pub(crate) fn mem_total_bytes(meminfo: &str) -> Result<u64, String> {
    meminfo_bytes(meminfo, "MemTotal")
}

/// A line of /proc/meminfo or of a node's meminfo, in bytes.
pub(crate) fn meminfo_bytes(meminfo: &str, key: &str) -> Result<u64, String> {
    let value = |line: &'_ str| {
        let (before, after) = line.split_once(':')?;
        (before.split_whitespace().last() == Some(key)).then(|| after.trim().to_owned())
    };
    let text = meminfo.lines().find_map(value).ok_or_else(|| format!("meminfo has no {key} line"))?;
    let kib = text.strip_suffix("kB").ok_or_else(|| format!("{key} `{text}` is not in kB"))?;
    kib.trim()
        .parse::<u64>()
        .ok()
        .and_then(|kib| kib.checked_mul(1024))
        .ok_or_else(|| format!("{key} `{text}` is not a number of kB"))
}

fn parse_distances(text: &str) -> Result<Vec<u32>, String> {
    text.split_whitespace()
        .map(|word| word.parse().map_err(|error| format!("node distance `{word}`: {error}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture;

    #[test]
    fn a_two_socket_host_has_two_nodes_and_cores_of_two_threads() {
        let topology = Topology::read(&fixture("two-socket-mlx5"));
        assert_eq!(topology.online(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(topology.cpu(2).expect("CPU 2").core_siblings, [2, 6]);
        assert_eq!(topology.cpu(2).expect("CPU 2").package, Value::Known(1));
        assert_eq!(topology.node_of_cpu(6), Some(1));
        assert_eq!(topology.node(0).expect("node 0").cpus, [0, 1, 4, 5]);
        assert_eq!(topology.node(1).expect("node 1").distances, Value::Known(vec![32, 10]));
        assert_eq!(topology.node(1).expect("node 1").memory_bytes, Value::Known(67_108_864 * 1024));
        assert_eq!(topology.isolated, Value::Known(vec![3, 7]));
        assert_eq!(topology.nohz_full, Value::Known(vec![3, 7]));
    }

    #[test]
    fn a_guest_without_isolation_has_empty_lists_not_unknown_ones() {
        let topology = Topology::read(&fixture("guest-rxe"));
        assert_eq!(topology.isolated, Value::Known(vec![]));
        assert_eq!(
            topology.nohz_full,
            Value::Known(vec![]),
            "(null) is how this kernel prints an empty list"
        );
    }

    #[test]
    fn a_kernel_without_nodes_leaves_the_node_of_a_cpu_absent() {
        let topology = Topology::read(&fixture("container-cpuset"));
        assert!(topology.nodes.is_empty());
        assert_eq!(topology.cpu(1).expect("CPU 1").node, Value::Absent);
        assert_eq!(topology.cpu(1).expect("CPU 1").core_siblings, [1], "no siblings known: itself alone");
    }

    #[test]
    fn nothing_at_all_is_an_empty_topology() {
        let topology = Topology::read(&Sysroot::new("/nonexistent"));
        assert_eq!((topology.cpus.len(), topology.nodes.len()), (0, 0));
        assert_eq!(topology.isolated, Value::Absent);
    }

    #[test]
    fn this_host_has_cpus_and_every_node_has_a_distance_of_10_to_itself() {
        let topology = Topology::read(&Sysroot::new("/"));
        assert!(!topology.cpus.is_empty());
        for (at, node) in topology.nodes.iter().enumerate() {
            assert_eq!(node.distances.as_ref().known().and_then(|row| row.get(at)), Some(&10), "{node:?}");
        }
    }

    proptest! {
        #[test]
        fn no_meminfo_panics(text in "(MemTotal:)?[ 0-9kB\n]{0,30}") {
            let _ = mem_total_bytes(&text);
            let _ = parse_distances(&text);
        }
    }
}
