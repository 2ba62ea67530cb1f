//! Which CPU `auto` means. Pure: facts in, a CPU and its reason out.

use crate::{cpulist, topology::Topology};

/// What is known when a CPU is to be chosen.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The host's shape.
    pub topology: &'a Topology,
    /// CPUs a thread can be pinned to; see [`pinnable`](crate::cpuset::pinnable).
    pub allowed: &'a [u32],
    /// The NIC's NUMA node, if it has one.
    pub nic_node: Option<u32>,
    /// CPUs that take the NIC's interrupts.
    pub irq_cpus: &'a [u32],
    /// CPUs the other side of the run has on this host.
    pub avoid: &'a [u32],
}

/// A CPU, and why it and no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its number.
    pub cpu: u32,
    /// What speaks for it, and what had to give way.
    pub reason: String,
}

/// What speaks against a CPU, worst first: the order of the fields is the order of precedence.
///
/// To share a CPU with the peer stops both; the NIC's other socket costs every message; a sibling thread halves the
/// core; an interrupt costs now and then; the scheduler and CPU 0's chores less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Flaws {
    taken_by_peer: bool,
    off_nic_node: bool,
    shares_core_with_peer: bool,
    takes_nic_interrupts: bool,
    not_isolated: bool,
    is_cpu_0: bool,
}

impl Situation<'_> {
    /// The CPU with the least against it, the lowest number among equals; none if nothing is allowed and online.
    pub fn pick_cpu(&self) -> Option<Choice> {
        let online = self.allowed.iter().copied().filter(|&cpu| self.topology.cpu(cpu).is_some());
        let (flaws, cpu) = online.map(|cpu| (self.flaws(cpu), cpu)).min()?;
        Some(Choice { cpu, reason: self.reason(cpu, flaws) })
    }

    fn flaws(&self, cpu: u32) -> Flaws {
        let siblings = self.siblings(cpu);
        Flaws {
            taken_by_peer: self.avoid.contains(&cpu),
            off_nic_node: self.nic_node.is_some_and(|node| self.topology.node_of_cpu(cpu) != Some(node)),
            shares_core_with_peer: siblings.iter().any(|other| self.avoid.contains(other)),
            takes_nic_interrupts: self.irq_cpus.contains(&cpu),
            not_isolated: !self.isolated().contains(&cpu),
            is_cpu_0: cpu == 0,
        }
    }

    /// The other threads of its core.
    fn siblings(&self, cpu: u32) -> Vec<u32> {
        let core = self.topology.cpu(cpu).map(|cpu| cpu.core_siblings.as_slice()).unwrap_or_default();
        core.iter().copied().filter(|&other| other != cpu).collect()
    }

    fn isolated(&self) -> &[u32] {
        match &self.topology.isolated {
            crate::Value::Known(cpus) => cpus,
            _ => &[],
        }
    }

    fn reason(&self, cpu: u32, flaws: Flaws) -> String {
        let merits = self.merits(cpu, flaws).join(", ");
        let concessions = self.concessions(flaws);
        if concessions.is_empty() {
            return format!("auto: {merits}");
        }
        let allowed = cpulist::format(self.allowed);
        format!("auto: {merits}; of CPUs {allowed} none was better: {}", concessions.join(", "))
    }

    fn merits(&self, cpu: u32, flaws: Flaws) -> Vec<String> {
        let mut merits = Vec::new();
        match self.nic_node {
            Some(node) if !flaws.off_nic_node => merits.push(format!("on the NIC's node {node}")),
            Some(_) => {}
            None => merits.push("the NIC has no node of its own".into()),
        }
        if !flaws.not_isolated {
            merits.push("isolated from the scheduler".into());
        }
        match self.siblings(cpu).as_slice() {
            [] => merits.push("a core of one thread".into()),
            others if !flaws.shares_core_with_peer => {
                merits.push(format!(
                    "a core whose other thread ({}) the peer does not use",
                    cpulist::format(others)
                ));
            }
            _ => {}
        }
        if !flaws.takes_nic_interrupts {
            merits.push("takes no interrupts of the NIC".into());
        }
        merits
    }

    fn concessions(&self, flaws: Flaws) -> Vec<String> {
        let peer = cpulist::format(self.avoid);
        let node = self.nic_node.map(|node| node.to_string()).unwrap_or_default();
        // Without isolated CPUs to choose from, being scheduled is no concession.
        let isolation_possible = self.isolated().iter().any(|cpu| self.allowed.contains(cpu));
        [
            (
                flaws.taken_by_peer,
                format!("the peer runs on it too (CPUs {peer}), so both sides will wait for each other"),
            ),
            (flaws.off_nic_node, format!("it is not on the NIC's node {node}")),
            (
                flaws.shares_core_with_peer && !flaws.taken_by_peer,
                format!("it shares its core with the peer (CPUs {peer})"),
            ),
            (flaws.takes_nic_interrupts, "it takes interrupts of the NIC".to_owned()),
            (flaws.not_isolated && isolation_possible, "it is not isolated".to_owned()),
            (flaws.is_cpu_0, "it is CPU 0, which has the kernel's chores".to_owned()),
        ]
        .into_iter()
        .filter_map(|(applies, text)| applies.then_some(text))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        topology::{Cpu, Node},
        value::Value,
    };

    /// `nodes` nodes of `cores` cores of `threads` threads; thread t of core c is CPU c + t * all cores.
    fn shape(nodes: u32, cores: u32, threads: u32, isolated: &[u32]) -> Topology {
        let all = nodes * cores;
        let cpu = |id: u32| Cpu {
            id,
            core_siblings: (0..threads).map(|thread| id % all + thread * all).collect(),
            package: Value::Known(id % all / cores),
            node: Value::Known(id % all / cores),
        };
        let cpus: Vec<Cpu> = (0..all * threads).map(cpu).collect();
        let node = |id: u32| Node {
            id,
            cpus: cpus.iter().filter(|cpu| cpu.node == Value::Known(id)).map(|cpu| cpu.id).collect(),
            memory_bytes: Value::Known(1 << 30),
            distances: Value::Absent,
        };
        let nodes = (0..nodes).map(node).collect();
        Topology { cpus, nodes, isolated: Value::Known(isolated.to_vec()), nohz_full: Value::Absent }
    }

    fn pick(topology: &Topology, nic_node: Option<u32>, irq_cpus: &[u32], avoid: &[u32]) -> Choice {
        let allowed = topology.online();
        Situation { topology, allowed: &allowed, nic_node, irq_cpus, avoid }.pick_cpu().expect("a CPU")
    }

    #[test]
    fn the_nics_node_comes_before_isolation() {
        let host = shape(2, 4, 2, &[1, 6]);
        assert_eq!(pick(&host, Some(1), &[], &[]).cpu, 6, "isolated, on the node");
        assert_eq!(pick(&host, Some(0), &[], &[]).cpu, 1);
        let elsewhere = shape(2, 4, 2, &[1]);
        let choice = pick(&elsewhere, Some(1), &[], &[]);
        assert_eq!(choice.cpu, 4, "an isolated core on the wrong node does not win");
        assert!(
            choice.reason.contains("node 1") && choice.reason.contains("not isolated"),
            "{}",
            choice.reason
        );
    }

    #[test]
    fn the_peers_core_is_left_alone_with_both_its_threads() {
        let host = shape(1, 4, 2, &[]);
        assert_eq!(pick(&host, None, &[], &[1]).cpu, 2);
        assert_eq!(pick(&host, None, &[], &[5]).cpu, 2, "5 is the other thread of core 1");
    }

    #[test]
    fn interrupt_cores_and_cpu_0_are_left_alone_while_there_are_others() {
        let host = shape(1, 4, 1, &[]);
        assert_eq!(pick(&host, Some(0), &[1, 2], &[]).cpu, 3);
        assert_eq!(
            pick(&host, Some(0), &[1, 2, 3], &[]).cpu,
            0,
            "CPU 0 without interrupts beats 1 with them"
        );
        let crowded = pick(&host, Some(0), &[0, 1, 2, 3], &[]);
        assert_eq!(crowded.cpu, 1);
        assert!(crowded.reason.contains("interrupts of the NIC"), "{}", crowded.reason);
    }

    #[test]
    fn two_cpus_give_two_sides_a_cpu_each_and_say_what_gave_way() {
        let guest = shape(1, 2, 1, &[]);
        let responder = pick(&guest, None, &[1], &[]);
        let requester = pick(&guest, None, &[1], &[responder.cpu]);
        assert_ne!(requester.cpu, responder.cpu);
        assert!(format!("{} {}", responder.reason, requester.reason).contains("CPU 0"));
        let threads = shape(1, 1, 2, &[]);
        let second = pick(&threads, None, &[], &[1]);
        assert_eq!(second.cpu, 0);
        assert!(second.reason.contains("shares its core with the peer"), "{}", second.reason);
    }

    #[test]
    fn one_cpu_for_both_is_given_and_called_what_it_is() {
        let choice = pick(&shape(1, 1, 1, &[]), None, &[], &[0]);
        assert_eq!(choice.cpu, 0);
        assert!(choice.reason.contains("the peer runs on it too"), "{}", choice.reason);
    }

    #[test]
    fn a_cpuset_off_the_nics_node_is_obeyed_and_said() {
        let host = shape(2, 2, 1, &[]);
        let allowed = [0, 1, 99];
        let situation =
            Situation { topology: &host, allowed: &allowed, nic_node: Some(1), irq_cpus: &[], avoid: &[] };
        let choice = situation.pick_cpu().expect("a CPU");
        assert_eq!(choice.cpu, 1);
        assert!(choice.reason.contains("not on the NIC's node 1"), "{}", choice.reason);
        assert_eq!(Situation { allowed: &[99], ..situation }.pick_cpu(), None, "an offline CPU is none");
    }

    proptest! {
        #[test]
        fn a_free_cpu_is_never_passed_over_for_a_taken_one(
            nodes in 1u32..3, cores in 1u32..5, threads in 1u32..3,
            avoid in proptest::collection::vec(0u32..16, 0..6),
            irqs in proptest::collection::vec(0u32..16, 0..6),
            isolated in proptest::collection::vec(0u32..16, 0..4),
            nic_node in proptest::option::of(0u32..3),
        ) {
            let host = shape(nodes, cores, threads, &isolated);
            let choice = pick(&host, nic_node, &irqs, &avoid);
            let free = host.online().iter().any(|cpu| !avoid.contains(cpu));
            prop_assert!(host.cpu(choice.cpu).is_some());
            prop_assert!(!free || !avoid.contains(&choice.cpu), "{choice:?}");
            prop_assert_eq!(choice.clone(), pick(&host, nic_node, &irqs, &avoid));
        }
    }
}
