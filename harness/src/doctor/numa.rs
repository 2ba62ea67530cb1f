//! Where the NIC stands: its node, the node's CPUs and memory, and whether the kernel moves pages about.

use host::{Value, cpulist, memory, sysctl};
use schema::{Finding, Matters};

use super::{
    check::{Check, HOST},
    view::{Device, View},
};

const NODE: Check = Check {
    name: "numa-node",
    expected: "a node the platform names; threads and buffers of a run on it",
    authority: "kernel documentation (ABI/testing/sysfs-bus-pci, numa_node); -1 is unknown and is not to be given to numactl",
    matters: &[Matters::DataPath, Matters::EventMode],
};

const MEMORY: Check = Check {
    name: "numa-memory",
    expected: "memory on the NIC's node, enough of it free for the buffers",
    authority: "set_mempolicy(2): memory bound to a node without any fails instead of coming from elsewhere",
    matters: &[Matters::DataPath],
};

const BALANCING: Check = Check {
    name: "numa-balancing",
    expected: "0 on a host with several nodes",
    authority: "tuned's network-latency profile; kernel documentation (admin-guide/sysctl/kernel.rst): its faults are the cost, registered pages do not move",
    matters: &[Matters::DataPath, Matters::ControlPath],
};

/// Two findings a device, and one of the host.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    let of_devices = view.devices.iter().flat_map(|device| [node(view, device), node_memory(view, device)]);
    of_devices.chain([balancing(view)]).collect()
}

fn node(view: &View, device: &Device) -> Finding {
    let near = cpulist::format(&view.cpus_near(device));
    let draft = NODE
        .about(&device.name)
        .read(format!("{}/numa_node", device.folder), &device.node)
        .seen("CPUs that count as near", &near);
    let nodes = view.topology.nodes.len();
    match &device.node {
        Value::Known(node) => match view.topology.node(*node) {
            None => draft.warning(format!("node {node}, which is not online")),
            Some(found) if found.cpus.is_empty() => {
                draft.note(format!("node {node}, which has no CPUs: every thread is on another node"))
            }
            Some(_) => draft.fine(format!("node {node}, CPUs {near}")),
        },
        Value::NotApplicable(_) if nodes <= 1 => draft.fine("the platform names no node, and there is but one"),
        Value::NotApplicable(why) if view.is_guest() => {
            draft.note(format!("{why}; a guest's nodes need not be the machine's"))
        }
        Value::NotApplicable(why) => draft
            .remedy("look for the firmware's setting of NUMA nodes per socket; until then choose CPUs by measurement")
            .warning(format!("{why}, though the host has {nodes}: near and far CPUs cannot be told apart")),
        Value::Absent if device.why_software().is_some() => {
            draft.not_applicable("a software device over a netdev that has no node of its own")
        }
        other => draft.without("node of the NIC", other),
    }
}

fn node_memory(view: &View, device: &Device) -> Finding {
    let draft = MEMORY.about(&device.name);
    let node = match device.node.as_ref() {
        Value::Known(node) => *node,
        _ => return draft.not_applicable("the NIC has no node, so memory is not bound"),
    };
    let total = view.topology.node(node).map_or(Value::Absent, |node| node.memory_bytes.clone());
    let free = memory::free_bytes(view.sysroot, node);
    let path = format!("/sys/devices/system/node/node{node}/meminfo");
    let draft = draft
        .read(format!("{path}, MemTotal"), &total.as_ref().map(|bytes| gibibytes(*bytes)))
        .read(format!("{path}, MemFree"), &free.as_ref().map(|bytes| gibibytes(*bytes)));
    match (&total, &free) {
        (Value::Known(0), _) => draft
            .remedy("bind the buffers to a node that has memory; its distance to the NIC's is in the report")
            .wrong(format!("node {node} has no memory: buffers bound to it cannot be had")),
        (Value::Known(total), Value::Known(free)) => {
            draft.fine(format!("{} free of {} on node {node}", gibibytes(*free), gibibytes(*total)))
        }
        (Value::Known(total), _) => draft.fine(format!("{} on node {node}", gibibytes(*total))),
        (other, _) => draft.without("memory of the NIC's node", other),
    }
}

fn balancing(view: &View) -> Finding {
    let value = sysctl::read(view.sysroot, "kernel.numa_balancing");
    let draft = BALANCING.about(HOST).read("/proc/sys/kernel/numa_balancing", &value);
    let several = view.topology.nodes.len() > 1;
    match &value {
        Value::Known(mode) if mode == "0" => draft.fine("off"),
        Value::Known(_) if !several => draft.fine("on, with nothing to balance: one node"),
        Value::Known(mode) => draft
            .remedy("for one run, the knob numa_balancing of a tuning profile;\nby hand: sysctl -w kernel.numa_balancing=0")
            .warning(format!("{mode}: the kernel takes pages away to see who uses them, which the threads of a run feel as faults")),
        Value::Absent => draft.not_applicable("this kernel is built without it"),
        other => draft.without("NUMA balancing", other),
    }
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64)
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, NotApplicable, Note, Warning, Wrong};

    use crate::doctor::planted::Planted;

    const NODE: &str = "/sys/class/infiniband/mlx5_0/device/numa_node";

    #[test]
    fn a_node_of_minus_one_costs_only_where_there_are_several() {
        let (severity, summary) =
            Planted::on("two-socket-mlx5").with(NODE, "-1\n").says("numa-node", "mlx5_0");
        assert_eq!(severity, Warning);
        assert!(summary.contains("though the host has 2"), "{summary}");
        assert_eq!(Planted::on("managed-irqs").says("numa-node", "mlx5_0").0, Fine);
        assert_eq!(Planted::on("guest-rxe").says("numa-memory", "rxe0").0, NotApplicable);
    }

    #[test]
    fn a_node_without_memory_or_without_cpus_is_found() {
        let meminfo = "/sys/devices/system/node/node1/meminfo";
        let empty = Planted::on("two-socket-mlx5")
            .with(meminfo, "Node 1 MemTotal:        0 kB\nNode 1 MemFree: 0 kB\n");
        assert_eq!(
            empty.says("numa-memory", "mlx5_0"),
            (Wrong, "node 1 has no memory: buffers bound to it cannot be had".into())
        );
        let idle = Planted::on("two-socket-mlx5").with("/sys/devices/system/node/node1/cpulist", "\n");
        assert_eq!(idle.says("numa-node", "mlx5_0").0, Note);
    }

    #[test]
    fn each_nic_has_its_own_node() {
        let host = Planted::on("two-socket-mlx5");
        assert_eq!(host.says("numa-node", "mlx5_0"), (Fine, "node 1, CPUs 2-3,6-7".into()));
        assert_eq!(host.says("numa-node", "mlx5_1"), (Fine, "node 0, CPUs 0-1,4-5".into()));
    }

    #[test]
    fn balancing_costs_where_there_is_something_to_balance() {
        assert_eq!(Planted::on("two-socket-mlx5").says("numa-balancing", "host").0, Warning);
        let one = Planted::on("guest-rxe").with("/proc/sys/kernel/numa_balancing", "1\n");
        assert_eq!(one.says("numa-balancing", "host").0, Fine);
    }
}
