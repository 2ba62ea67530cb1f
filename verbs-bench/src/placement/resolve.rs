//! What a spec asks for, held against what this process can have: a CPU for each thread, one node, or a refusal that names
//! the field.
//!
//! Deciding is pure (facts in, a decision out) and comes before acting, so that `check` and `place` cannot disagree.

use host::{Situation, Sysroot, Topology, cpulist, cpuset};
use schema::{CpuChoice, NodeChoice, SideSpec, record::PlacementRecord};

use super::{
    error::PlacementError,
    numa,
    pin::{allowed_cpus, pin, unpin},
};

/// Where a side was put. The thread that asked is pinned; the others pin themselves, and buffers still have to be made on
/// [`Placed::node`].
#[derive(Debug, Clone)]
pub struct Placed {
    cpus: Vec<u32>,
    node: Option<u32>,
    record: PlacementRecord,
}

impl Placed {
    /// The CPU of the first thread; none if the threads are not pinned.
    pub fn cpu(&self) -> Option<u32> {
        self.cpus.first().copied()
    }

    /// The CPUs of all threads, in their order; empty if they are not pinned.
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Puts the calling thread where the side's thread of this number belongs, counted from 0.
    pub fn pin_thread(&self, thread: usize) -> Result<(), PlacementError> {
        self.cpus.get(thread).map_or_else(unpin, |&cpu| pin(cpu))
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

    /// A CPU for each of `threads`, and the reason.
    fn cpus(&self, asked: &CpuChoice, threads: usize) -> Result<(Vec<u32>, String), PlacementError> {
        match asked {
            CpuChoice::None => Ok((Vec::new(), "none: not pinned, the scheduler decides".into())),
            CpuChoice::List(cpus) => self.first_of(cpus, threads),
            CpuChoice::Auto => self.pick(threads),
        }
    }

    /// A core for each thread, each the best of those that are left.
    fn pick(&self, threads: usize) -> Result<(Vec<u32>, String), PlacementError> {
        let (mut cpus, mut reasons, mut left) = (Vec::new(), Vec::new(), self.pinnable.clone());
        for _ in 0..threads {
            let situation = Situation {
                topology: &self.topology,
                allowed: &left,
                nic_node: self.nic_node,
                irq_cpus: &self.nic_irq_cpus,
                avoid: &self.avoid,
            };
            let choice = situation.pick_cpu().ok_or_else(|| self.too_few(cpus.len(), threads))?;
            let core = self.topology.cpu(choice.cpu).map_or(&[][..], |cpu| &cpu.core_siblings);
            left.retain(|other| *other != choice.cpu && !core.contains(other));
            cpus.push(choice.cpu);
            reasons.push(choice.reason);
        }
        let reason = match reasons.as_slice() {
            [only] => only.clone(),
            several => {
                let lines = cpus.iter().zip(several).map(|(cpu, reason)| format!("CPU {cpu}: {reason}"));
                lines.collect::<Vec<_>>().join("; ")
            }
        };
        Ok((cpus, reason))
    }

    fn too_few(&self, cores: usize, threads: usize) -> PlacementError {
        let (online, allowed) = (cpulist::format(&self.topology.online()), cpulist::format(&self.pinnable));
        match cores {
            0 => PlacementError::NoCpuToChoose { why: format!("online: `{online}`, allowed: `{allowed}`") },
            cores => PlacementError::TooFewCores { threads, cores, allowed },
        }
    }

    /// The i-th CPU is the i-th thread's. Every CPU of a list must be good, also one that no thread takes.
    fn first_of(&self, cpus: &[u32], threads: usize) -> Result<(Vec<u32>, String), PlacementError> {
        for &cpu in cpus {
            self.check_cpu(cpu)?;
        }
        let taken = match cpus.get(..threads) {
            Some(taken) => taken,
            None if cpus.is_empty() => return Err(PlacementError::NoCpuNamed),
            None => return Err(PlacementError::TooFewNamed { threads, named: cpus.len() }),
        };
        let mut reason = "asked for by number".to_owned();
        if taken.iter().any(|cpu| self.avoid.contains(cpu)) {
            reason += match taken {
                [_] => "; the peer runs on it too, so both sides will wait for each other",
                _ => "; the peer runs on some of them too, so both sides will wait for each other",
            };
        }
        Ok((taken.to_vec(), reason))
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

    fn decide(&self, asked: &SideSpec, threads: u32) -> Result<Placed, PlacementError> {
        let (cpus, cpu_reason) = self.cpus(&asked.cpu, threads as usize)?;
        let (node, note) = self.node(asked.memory_node, cpus.first().copied())?;
        let record = PlacementRecord {
            cpu_asked: asked.cpu.to_string(),
            cpu_pinned: cpus.first().copied(),
            cpus_pinned: cpus.clone(),
            cpu_reason,
            memory_node_asked: asked.memory_node.to_string(),
            memory_node_bound: node,
            notes: note.into_iter().collect(),
            ..PlacementRecord::default()
        };
        Ok(Placed { cpus, node, record })
    }
}

/// Whether `place` could do what is asked for so many threads, as far as this host alone can tell. Changes nothing.
pub fn check(asked: &SideSpec, threads: u32, sysroot: &Sysroot) -> Result<(), PlacementError> {
    Facts::read(sysroot, None, &[], &[]).decide(asked, threads).map(|_| ())
}

/// Decides where the threads of this side run and pins the calling one, which is the first; with `cpu = none`, frees it if
/// it was pinned.
///
/// `avoid` are CPUs the peer has on this host. Call it on the thread that will post and poll.
pub fn place(
    asked: &SideSpec,
    threads: u32,
    nic_node: Option<u32>,
    nic_irq_cpus: &[u32],
    avoid: &[u32],
    sysroot: &Sysroot,
) -> Result<Placed, PlacementError> {
    let placed = Facts::read(sysroot, nic_node, nic_irq_cpus, avoid).decide(asked, threads)?;
    placed.pin_thread(0)?;
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
        facts.decide(&asked(cpu, memory_node), 1).expect_err("refused").to_string()
    }

    #[test]
    fn auto_goes_to_the_nics_node_and_the_memory_follows_the_cpu() {
        let placed = two_sockets().decide(&asked("auto", "auto"), 1).expect("placed");
        assert_eq!((placed.cpu(), placed.node()), (Some(3), Some(1)), "3 is isolated and on node 1");
        let far = two_sockets().decide(&asked("0", "auto"), 1).expect("placed");
        assert_eq!((far.cpu(), far.node()), (Some(0), Some(0)));
        let unpinned = two_sockets().decide(&asked("none", "auto"), 1).expect("placed");
        assert_eq!((unpinned.cpu(), unpinned.node()), (None, Some(1)), "without a CPU, the NIC's node");
    }

    #[test]
    fn the_record_has_what_was_asked_beside_what_was_decided() {
        let record = two_sockets().decide(&asked("6,2", "0"), 1).expect("placed").into_record();
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
        let placed = facts.decide(&asked("auto", "auto"), 1).expect("placed");
        assert_eq!(placed.node(), None);
        assert!(placed.into_record().notes[0].contains("no NUMA memory policy"));
        let text = refusal(&facts, "auto", "0");
        assert!(text.contains("memory_node") && text.contains("verified"), "{text}");
        assert!(facts.decide(&asked("auto", "none"), 1).expect("placed").into_record().notes.is_empty());
    }

    #[test]
    fn a_listed_cpu_the_peer_has_is_given_and_said() {
        let mut facts = two_sockets();
        facts.avoid = vec![2];
        let record = facts.decide(&asked("2", "none"), 1).expect("placed").into_record();
        assert!(record.cpu_reason.contains("peer"), "{}", record.cpu_reason);
    }

    #[test]
    fn threads_get_a_core_each_or_a_refusal_that_counts_them() {
        let mut facts = two_sockets();
        let placed = facts.decide(&asked("auto", "none"), 2).expect("placed");
        let cores: Vec<_> = placed
            .cpus()
            .iter()
            .map(|&cpu| facts.topology.cpu(cpu).expect("online").core_siblings.clone())
            .collect();
        assert_eq!((placed.cpu(), placed.cpus().len()), (Some(3), 2));
        assert_ne!(cores[0], cores[1], "two threads on one core would halve each other");
        assert_eq!(placed.clone().into_record().cpus_pinned, placed.cpus());
        let every_cpu = facts.decide(&asked("auto", "none"), 8).expect_err("8 CPUs are 4 cores").to_string();
        assert!(every_cpu.starts_with("cpu: threads is 8") && every_cpu.contains(" 4 "), "{every_cpu}");
        facts.pinnable = vec![0];
        assert!(facts.decide(&asked("auto", "none"), 2).is_err());
    }

    #[test]
    fn a_list_gives_the_threads_its_cpus_in_order_and_a_short_one_is_refused() {
        let facts = two_sockets();
        assert_eq!(facts.decide(&asked("6,2,0", "none"), 2).expect("placed").cpus(), [6, 2]);
        let short = facts.decide(&asked("6,2", "none"), 3).expect_err("too short").to_string();
        assert!(short.starts_with("cpu: 2 CPUs are named for 3 threads"), "{short}");
        assert!(facts.decide(&asked("none", "none"), 3).expect("placed").cpus().is_empty());
    }

    #[test]
    fn a_thread_is_pinned_where_it_is_placed_and_freed_by_none() {
        let root = Sysroot::new("/");
        thread::spawn(move || {
            let responder = place(&asked("auto", "auto"), 1, None, &[], &[], &root).expect("placed");
            assert_eq!(current_cpu(), responder.cpu());
            let requester =
                place(&asked("auto", "auto"), 1, None, &[], &[responder.cpu().expect("pinned")], &root)
                    .expect("placed again: the first pin must not narrow the second");
            assert_eq!(requester.cpu() == responder.cpu(), allowed_cpus().len() == 1);
            assert_eq!(place(&asked("none", "none"), 1, None, &[], &[], &root).expect("freed").cpu(), None);
        })
        .join()
        .expect("the thread ends");
    }

    #[test]
    fn checking_refuses_what_placing_would_and_pins_nothing() {
        let root = Sysroot::new("/");
        assert!(check(&asked("auto", "auto"), 1, &root).is_ok());
        assert!(check(&asked("60000", "none"), 1, &root).is_err());
        assert!(check(&asked("none", "900"), 1, &root).is_err());
    }
}
