//! What a spec asks for, held against what this process can have: one CPU, one node, or a refusal that names the field.
//!
//! Deciding is pure (facts in, a decision out) and comes before acting, so that `check` and `place` cannot disagree.

use host::{Situation, Sysroot, Topology, cpulist, cpuset};
use schema::{CpuChoice, NodeChoice, SideSpec, record::PlacementRecord};

use super::{
    error::PlacementError,
    numa,
    pin::{allowed_cpus, pin, unpin},
};

/// Where a side was put. The thread that asked is pinned; buffers still have to be made on [`Placed::node`].
#[derive(Debug, Clone)]
pub struct Placed {
    cpu: Option<u32>,
    node: Option<u32>,
    record: PlacementRecord,
}

impl Placed {
    /// The CPU the thread is pinned to; none if it is not pinned.
    pub fn cpu(&self) -> Option<u32> {
        self.cpu
    }

    /// The node to bind buffers to; none if they are not to be bound.
    pub fn node(&self) -> Option<u32> {
        self.node
    }

    /// The record so far: what was asked and decided. What was seen is for the caller to add.
    pub fn into_record(self) -> PlacementRecord {
        self.record
    }
}

/// Everything a decision rests on.
struct Facts {
    topology: Topology,
    /// CPUs a thread can be pinned to.
    pinnable: Vec<u32>,
    /// Nodes memory can be bound to, or why none can.
    nodes: Result<Vec<u32>, String>,
    nic_node: Option<u32>,
    nic_irq_cpus: Vec<u32>,
    avoid: Vec<u32>,
}

impl Facts {
    fn read(sysroot: &Sysroot, nic_node: Option<u32>, nic_irq_cpus: &[u32], avoid: &[u32]) -> Facts {
        let topology = Topology::read(sysroot);
        let isolated = topology.isolated.clone().known().unwrap_or_default();
        let cpuset = cpuset::effective_cpus(sysroot).known();
        let pinnable = cpuset::pinnable(&allowed_cpus(), &isolated, cpuset.as_deref(), &topology.online());
        Facts {
            topology,
            pinnable,
            nodes: numa::allowed_nodes(),
            nic_node,
            nic_irq_cpus: nic_irq_cpus.to_vec(),
            avoid: avoid.to_vec(),
        }
    }

    /// The CPU and its reason.
    fn cpu(&self, asked: &CpuChoice) -> Result<(Option<u32>, String), PlacementError> {
        match asked {
            CpuChoice::None => Ok((None, "none: not pinned, the scheduler decides".into())),
            CpuChoice::List(cpus) => self.first_of(cpus).map(|(cpu, reason)| (Some(cpu), reason)),
            CpuChoice::Auto => {
                let situation = Situation {
                    topology: &self.topology,
                    allowed: &self.pinnable,
                    nic_node: self.nic_node,
                    irq_cpus: &self.nic_irq_cpus,
                    avoid: &self.avoid,
                };
                let choice = situation.pick_cpu().ok_or_else(|| PlacementError::NoCpuToChoose {
                    why: format!(
                        "online: `{}`, allowed: `{}`",
                        cpulist::format(&self.topology.online()),
                        cpulist::format(&self.pinnable)
                    ),
                })?;
                Ok((Some(choice.cpu), choice.reason))
            }
        }
    }

    /// Every CPU of a list must be good, though the polling thread takes the first.
    fn first_of(&self, cpus: &[u32]) -> Result<(u32, String), PlacementError> {
        for &cpu in cpus {
            self.check_cpu(cpu)?;
        }
        let &first = cpus.first().ok_or(PlacementError::NoCpuNamed)?;
        let mut reason = "asked for by number".to_owned();
        if self.avoid.contains(&first) {
            reason += "; the peer runs on it too, so both sides will wait for each other";
        }
        Ok((first, reason))
    }

    fn check_cpu(&self, cpu: u32) -> Result<(), PlacementError> {
        let why = if self.topology.cpu(cpu).is_none() {
            "does not exist or is offline"
        } else if !self.pinnable.contains(&cpu) {
            "is outside this process's affinity mask or cpuset"
        } else {
            return Ok(());
        };
        Err(PlacementError::Cpu { cpu, why: why.into(), allowed: cpulist::format(&self.pinnable) })
    }

    /// The node, and what is to be noted about it.
    fn node(
        &self,
        asked: NodeChoice,
        cpu: Option<u32>,
    ) -> Result<(Option<u32>, Option<String>), PlacementError> {
        match asked {
            NodeChoice::None => Ok((None, None)),
            NodeChoice::Node(node) => self.check_node(node).map(|()| (Some(node), None)),
            NodeChoice::Auto => Ok(self.auto_node(cpu)),
        }
    }

    fn check_node(&self, node: u32) -> Result<(), PlacementError> {
        let nodes = self.nodes.as_ref().map_err(|why| PlacementError::NoNuma { node, why: why.clone() })?;
        let why = if !nodes.contains(&node) {
            "does not exist or is outside this process's cpuset"
        } else if self.has_no_memory(node) {
            "has no memory"
        } else {
            return Ok(());
        };
        let allowed: Vec<u32> = nodes.iter().copied().filter(|&node| !self.has_no_memory(node)).collect();
        Err(PlacementError::Node { node, why: why.into(), allowed: cpulist::format(&allowed) })
    }

    fn has_no_memory(&self, node: u32) -> bool {
        self.topology.node(node).is_some_and(|node| node.memory_bytes == host::Value::Known(0))
    }

    /// The CPU's node, else the NIC's; unbound with a note where neither is known or can be had.
    fn auto_node(&self, cpu: Option<u32>) -> (Option<u32>, Option<String>) {
        let of_cpu = cpu.and_then(|cpu| self.topology.node_of_cpu(cpu));
        let Some(node) = of_cpu.or(self.nic_node) else {
            return (None, Some("memory is not bound: neither the CPU nor the NIC has a NUMA node".into()));
        };
        match self.check_node(node) {
            Ok(()) => (Some(node), None),
            Err(error) => (None, Some(format!("memory is not bound: {error}"))),
        }
    }

    fn decide(&self, asked: &SideSpec) -> Result<Placed, PlacementError> {
        let (cpu, cpu_reason) = self.cpu(&asked.cpu)?;
        let (node, note) = self.node(asked.memory_node, cpu)?;
        let record = PlacementRecord {
            cpu_asked: asked.cpu.to_string(),
            cpu_pinned: cpu,
            cpu_reason,
            memory_node_asked: asked.memory_node.to_string(),
            memory_node_bound: node,
            notes: note.into_iter().collect(),
            ..PlacementRecord::default()
        };
        Ok(Placed { cpu, node, record })
    }
}

/// Whether `place` could do what is asked, as far as this host alone can tell. Changes nothing.
pub fn check(asked: &SideSpec, sysroot: &Sysroot) -> Result<(), PlacementError> {
    Facts::read(sysroot, None, &[], &[]).decide(asked).map(|_| ())
}

/// Decides where this side runs and pins the calling thread there; with `cpu = none`, frees it if it was pinned.
///
/// `avoid` are CPUs the peer has on this host. Call it on the thread that will post and poll.
pub fn place(
    asked: &SideSpec,
    nic_node: Option<u32>,
    nic_irq_cpus: &[u32],
    avoid: &[u32],
    sysroot: &Sysroot,
) -> Result<Placed, PlacementError> {
    let placed = Facts::read(sysroot, nic_node, nic_irq_cpus, avoid).decide(asked)?;
    match placed.cpu {
        Some(cpu) => pin(cpu)?,
        None => unpin()?,
    }
    Ok(placed)
}

#[cfg(test)]
mod tests {
    use std::{path::Path, thread};

    use super::*;
    use crate::placement::current_cpu;

    /// A two-socket host, seen by a process that may use all of it.
    fn two_sockets() -> Facts {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/fixtures/two-socket-mlx5");
        let topology = Topology::read(&Sysroot::new(root));
        let pinnable = topology.online();
        assert_eq!(pinnable.len(), 8, "the fixture is there");
        Facts {
            topology,
            pinnable,
            nodes: Ok(vec![0, 1]),
            nic_node: Some(1),
            nic_irq_cpus: vec![2],
            avoid: vec![],
        }
    }

    fn asked(cpu: &str, memory_node: &str) -> SideSpec {
        SideSpec {
            cpu: cpu.parse().expect("a CPU choice"),
            memory_node: memory_node.parse().expect("a node choice"),
            ..SideSpec::default()
        }
    }

    fn refusal(facts: &Facts, cpu: &str, memory_node: &str) -> String {
        facts.decide(&asked(cpu, memory_node)).expect_err("refused").to_string()
    }

    #[test]
    fn auto_goes_to_the_nics_node_and_the_memory_follows_the_cpu() {
        let placed = two_sockets().decide(&asked("auto", "auto")).expect("placed");
        assert_eq!((placed.cpu(), placed.node()), (Some(3), Some(1)), "3 is isolated and on node 1");
        let far = two_sockets().decide(&asked("0", "auto")).expect("placed");
        assert_eq!((far.cpu(), far.node()), (Some(0), Some(0)));
        let unpinned = two_sockets().decide(&asked("none", "auto")).expect("placed");
        assert_eq!((unpinned.cpu(), unpinned.node()), (None, Some(1)), "without a CPU, the NIC's node");
    }

    #[test]
    fn the_record_has_what_was_asked_beside_what_was_decided() {
        let record = two_sockets().decide(&asked("6,2", "0")).expect("placed").into_record();
        assert_eq!((record.cpu_asked.as_str(), record.cpu_pinned), ("6,2", Some(6)));
        assert_eq!((record.memory_node_asked.as_str(), record.memory_node_bound), ("0", Some(0)));
        assert!(record.notes.is_empty());
    }

    #[test]
    fn a_bad_cpu_names_the_field_the_number_and_what_can_be_had() {
        let mut facts = two_sockets();
        facts.pinnable = vec![0, 1];
        for (list, bad) in [("99", "CPU 99 does not exist"), ("0,5", "CPU 5 is outside")] {
            let text = refusal(&facts, list, "none");
            assert!(text.starts_with("cpu:") && text.contains(bad) && text.contains("0-1"), "{text}");
        }
        facts.pinnable.clear();
        assert!(refusal(&facts, "auto", "none").starts_with("cpu:"));
    }

    #[test]
    fn a_bad_node_names_the_field_the_number_and_what_can_be_had() {
        let mut facts = two_sockets();
        facts.nodes = Ok(vec![0]);
        let text = refusal(&facts, "none", "1");
        assert!(text.starts_with("memory_node: node 1") && text.contains("nodes 0"), "{text}");
        facts.topology.nodes[0].memory_bytes = host::Value::Known(0);
        assert!(refusal(&facts, "none", "0").contains("has no memory"));
    }

    #[test]
    fn without_numa_auto_is_unbound_with_a_note_and_a_number_is_refused() {
        let mut facts = two_sockets();
        facts.nodes = Err("the kernel has no NUMA memory policy".into());
        let placed = facts.decide(&asked("auto", "auto")).expect("placed");
        assert_eq!(placed.node(), None);
        assert!(placed.into_record().notes[0].contains("no NUMA memory policy"));
        let text = refusal(&facts, "auto", "0");
        assert!(text.contains("memory_node") && text.contains("verified"), "{text}");
        assert!(facts.decide(&asked("auto", "none")).expect("placed").into_record().notes.is_empty());
    }

    #[test]
    fn a_listed_cpu_the_peer_has_is_given_and_said() {
        let mut facts = two_sockets();
        facts.avoid = vec![2];
        let record = facts.decide(&asked("2", "none")).expect("placed").into_record();
        assert!(record.cpu_reason.contains("peer"), "{}", record.cpu_reason);
    }

    #[test]
    fn a_thread_is_pinned_where_it_is_placed_and_freed_by_none() {
        let root = Sysroot::new("/");
        thread::spawn(move || {
            let responder = place(&asked("auto", "auto"), None, &[], &[], &root).expect("placed");
            assert_eq!(current_cpu(), responder.cpu());
            let requester =
                place(&asked("auto", "auto"), None, &[], &[responder.cpu().expect("pinned")], &root)
                    .expect("placed again: the first pin must not narrow the second");
            assert_eq!(requester.cpu() == responder.cpu(), allowed_cpus().len() == 1);
            assert_eq!(place(&asked("none", "none"), None, &[], &[], &root).expect("freed").cpu(), None);
        })
        .join()
        .expect("the thread ends");
    }

    #[test]
    fn checking_refuses_what_placing_would_and_pins_nothing() {
        let root = Sysroot::new("/");
        assert!(check(&asked("auto", "auto"), &root).is_ok());
        assert!(check(&asked("60000", "none"), &root).is_err());
        assert!(check(&asked("none", "900"), &root).is_err());
    }
}
