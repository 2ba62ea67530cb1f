//! Around one run: the moment before, a sampler meanwhile, the moment after.

use std::{collections::BTreeMap, thread, time::Duration};

use host::{Sysroot, counters, nic::NicVector};
use schema::{
    Nanos,
    evidence::{HostEvidence, VectorEvidence},
    outcome::Side,
    tuning::KnobRecord,
};

use super::{
    delta,
    sampler::{Affinity, Sampler, Seen},
    snapshot::Snapshot,
    subject::Subject,
};

/// How often the vectors and the frequencies are looked at. Movers act every 10 s or more seldom.
const PERIOD: Duration = Duration::from_secs(1);
/// The longest wait for counters that the driver keeps. Their default is 10 ms; a host may have 10 s.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// A host that is being watched.
#[derive(Debug)]
pub struct Watch {
    sysroot: Sysroot,
    subject: Subject,
    before: Snapshot,
    sampler: Result<Sampler, String>,
}

impl Watch {
    /// Reads the moment before the run, and goes on looking.
    pub fn start(sysroot: &Sysroot, subject: Subject) -> Watch {
        Watch::start_every(sysroot, subject, PERIOD)
    }

    /// The same, looking every `period`.
    fn start_every(sysroot: &Sysroot, subject: Subject, period: Duration) -> Watch {
        let subject = subject.complete(sysroot);
        let before = Snapshot::take(sysroot, &subject);
        let irqs = used(&before.vectors).map(|vector| vector.irq).collect();
        let sampler = Sampler::start(sysroot.clone(), irqs, subject.cpus.clone(), period)
            .map_err(|error| format!("no thread to look at the vectors while the run lasted: {error}"));
        Watch { sysroot: sysroot.clone(), subject, before, sampler }
    }

    /// Reads the moment after the run. `place` is where the agent ran: `local`, `netns:NAME`, `ssh:HOST`.
    pub fn finish(self, side: Side, place: impl Into<String>, tuning: Vec<KnobRecord>) -> HostEvidence {
        let mut notes = self.before.notes.clone();
        self.wait_for_counters(&mut notes);
        let after = Snapshot::take(&self.sysroot, &self.subject);
        let seen = match self.sampler.map(Sampler::stop) {
            Ok(Some(seen)) => seen,
            Ok(None) => {
                notes.push("the thread that looked at the vectors while the run lasted has died".to_owned());
                Seen::default()
            }
            Err(why) => {
                notes.push(why);
                Seen::default()
            }
        };
        let new_notes: Vec<String> =
            after.notes.iter().filter(|note| !notes.contains(note)).cloned().collect();
        notes.extend(new_notes);
        let mut movers = self.before.movers.clone();
        movers.extend(after.movers.iter().filter(|mover| !self.before.movers.contains(mover)).cloned());
        HostEvidence {
            side,
            place: place.into(),
            tuning,
            watched_ns: Nanos(u64::try_from((after.at - self.before.at).as_nanos()).unwrap_or(u64::MAX)),
            counters: delta::between(&self.before, &after),
            vectors: vectors(&self.before.vectors, &after.vectors, &seen),
            movers,
            frequencies: seen.frequencies(&self.sysroot),
            cpus_online: (self.before.cpus_online.clone(), after.cpus_online),
            notes,
        }
    }

    /// A driver may hand out a value that is as old as its counters' lifespan: waits until that is after the run.
    fn wait_for_counters(&self, notes: &mut Vec<String>) {
        let Some(device) = &self.subject.device else { return };
        let ports = host::Nic::new(&self.sysroot, device).ports().known().unwrap_or_default();
        let lifespans =
            ports.iter().filter_map(|port| counters::lifespan(&self.sysroot, device, *port).known());
        let longest = lifespans.max().unwrap_or_default();
        if longest > LONGEST_WAIT {
            notes.push(format!(
                "{device} keeps its counters for {} ms (hw_counters/lifespan): the last of the run may be missing",
                longest.as_millis()
            ));
        }
        thread::sleep(longest.min(LONGEST_WAIT));
    }
}

/// Vectors that have a handler.
fn used(vectors: &[NicVector]) -> impl Iterator<Item = &NicVector> {
    vectors.iter().filter(|vector| !vector.actions.is_empty())
}

/// What each vector did. One that was not there before the run counts from 0: the kernel makes it when it is first used.
fn vectors(before: &[NicVector], after: &[NicVector], seen: &Seen) -> Vec<VectorEvidence> {
    let evidence = |vector: &NicVector| {
        let earlier = before.iter().find(|earlier| earlier.irq == vector.irq);
        // The number may have been given to another handler meanwhile; its counts are another's then.
        let same = earlier.filter(|earlier| earlier.actions == vector.actions);
        let counts: BTreeMap<u32, u64> =
            same.map(|same| same.counts.iter().copied().collect()).unwrap_or_default();
        let none = Affinity::default();
        let affinity = seen.affinities.get(&vector.irq).unwrap_or(&none);
        VectorEvidence {
            irq: vector.irq,
            action: vector.actions.join(", "),
            allowed: affinity.allowed.first().cloned(),
            allowed_later: affinity.allowed.iter().skip(1).cloned().collect(),
            effective_seen: affinity.effective.clone(),
            fired: vector.counts.iter().filter_map(|(cpu, count)| fired(&counts, *cpu, *count)).collect(),
            moved: affinity.allowed.len() > 1 || affinity.effective.len() > 1,
        }
    };
    used(after).map(evidence).collect()
}

/// The kernel counts interrupts per CPU in 32 bits.
fn fired(before: &BTreeMap<u32, u64>, cpu: u32, now: u64) -> Option<(u32, u64)> {
    let earlier = before.get(&cpu).copied().unwrap_or(0);
    let grown = if now >= earlier { now - earlier } else { (now + (1 << 32)).saturating_sub(earlier) };
    (grown > 0).then_some((cpu, grown))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(root: &Sysroot, path: &str, text: &str) {
        let file = root.path(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("mkdir");
        fs::write(file, text).expect("written");
    }

    /// A host with one port, one vector and one mover.
    fn host() -> (tempfile::TempDir, Sysroot) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let host = Sysroot::new(dir.path());
        let rdma = "/sys/class/infiniband/mlx5_0";
        write(&host, &format!("{rdma}/device/msi_irqs/99"), "msix\n");
        write(&host, &format!("{rdma}/ports/1/hw_counters/out_of_sequence"), "5\n");
        write(&host, &format!("{rdma}/ports/1/hw_counters/lifespan"), "1\n");
        write(&host, &format!("{rdma}/ports/1/gid_attrs/ndevs/0"), "ens1np0\n");
        write(&host, "/.recorded/ethtool/ens1np0/statistics.json", "[[\"rx_discards_phy\", 3]]");
        write(
            &host,
            "/proc/interrupts",
            " CPU0 CPU1\n 99: 10 4294967290 IR-PCI-MSIX-0000:c1:00.0 1-edge mlx5_comp0\n",
        );
        write(&host, "/proc/irq/99/smp_affinity_list", "0-1\n");
        write(&host, "/proc/irq/99/effective_affinity_list", "0\n");
        write(&host, "/sys/devices/system/cpu/online", "0-1\n");
        write(&host, "/proc/7/comm", "irqbalance\n");
        write(
            &host,
            "/proc/7/stat",
            "7 (irqbalance) S 1 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 1234 100 5\n",
        );
        (dir, host)
    }

    #[test]
    fn what_happened_in_between_is_told() {
        let (_dir, host) = host();
        let watch = Watch::start(&host, Subject { device: Some("mlx5_0".into()), ..Subject::default() });
        write(&host, "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "9\n");
        write(&host, "/.recorded/ethtool/ens1np0/statistics.json", "[[\"rx_discards_phy\", 1]]");
        write(
            &host,
            "/proc/interrupts",
            " CPU0 CPU1\n 99: 10 4 IR-PCI-MSIX-0000:c1:00.0 1-edge mlx5_comp0\n",
        );
        write(&host, "/proc/irq/99/smp_affinity_list", "1\n");
        write(&host, "/sys/devices/system/cpu/online", "0\n");
        let evidence = watch.finish(Side::Responder, "local", Vec::new());

        let counter = |name: &str| evidence.counters.iter().find(|counter| counter.name == name).expect(name);
        assert_eq!(counter("out_of_sequence").delta, Some(4));
        assert_eq!(counter("out_of_sequence").source, "hw_counters mlx5_0/1");
        assert!(
            counter("rx_discards_phy").invalid.is_some(),
            "the netdev of the GID was found, and it ran backwards"
        );
        let vector = &evidence.vectors[0];
        assert_eq!((vector.irq, vector.action.as_str(), vector.moved), (99, "mlx5_comp0", true));
        assert_eq!(vector.fired, [(1, 10)], "32 bits wrapped");
        assert_eq!(
            (vector.allowed.as_deref(), vector.allowed_later.as_slice()),
            (Some("0-1"), &["1".to_owned()][..])
        );
        assert_eq!(evidence.movers, ["irqbalance (running)"]);
        assert_eq!(evidence.cpus_online, (Some("0-1".into()), Some("0".into())));
        assert!(evidence.watched_ns.get() > 0);
    }

    #[test]
    fn a_host_with_nothing_gives_evidence_of_nothing() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let host = Sysroot::new(dir.path());
        let watch = Watch::start(&host, Subject { device: Some("mlx5_0".into()), ..Subject::default() });
        let evidence = watch.finish(Side::Requester, "local", Vec::new());
        assert!(evidence.counters.is_empty() && evidence.vectors.is_empty() && evidence.notes.is_empty());
        assert_eq!(evidence.cpus_online, (None, None));
    }

    #[test]
    fn this_host_is_watched_without_touching_it() {
        let host = Sysroot::new("/");
        let watch = Watch::start_every(&host, Subject::default(), Duration::from_millis(5));
        thread::sleep(Duration::from_millis(20));
        let evidence = watch.finish(Side::Requester, "local", Vec::new());
        assert!(evidence.counters.iter().any(|counter| counter.name == "ctxt" && counter.delta > Some(0)));
    }

    /// Every kind of host, with its counters grown by 3.
    #[test]
    fn the_counters_of_every_fixture_grow_by_what_they_grew() {
        let mut seen = 0;
        for name in FIXTURES {
            let dir = host::testing::copy(name);
            let root = Sysroot::new(dir.path());
            for device in host::nic::names(&root).known().unwrap_or_default() {
                let watch =
                    Watch::start(&root, Subject { device: Some(device.clone()), ..Subject::default() });
                let grown = grow(&root, &device);
                let evidence = watch.finish(Side::Requester, "local", Vec::new());
                for (source, counter) in grown {
                    let found = evidence.counters.iter().find(|c| c.source == source && c.name == counter);
                    let found = found.unwrap_or_else(|| panic!("{name}: {source} {counter}"));
                    assert_eq!((found.delta, &found.invalid), (Some(3), &None), "{name}: {source} {counter}");
                    seen += 1;
                }
                assert!(evidence.counters.iter().all(|counter| counter.name != "lifespan"), "{name}");
                assert!(evidence.notes.is_empty(), "{name}: {:?}", evidence.notes);
            }
        }
        assert!(seen > 100, "only {seen} counters");
    }

    const FIXTURES: [&str; 6] =
        ["two-socket-mlx5", "azure-hyperv", "guest-rxe", "grace-cpuless", "counters-odd", "netns-readonly"];

    /// Adds 3 to each of the driver's counters that is a number; gives their sources and names.
    fn grow(root: &Sysroot, device: &str) -> Vec<(String, String)> {
        let mut grown = Vec::new();
        for port in host::Nic::new(root, device).ports().known().unwrap_or_default() {
            for counter in counters::of_driver(root, device, port).known().unwrap_or_default() {
                // One stands at the largest number there is.
                let more = counter.value.known().and_then(|value| value.checked_add(3));
                if let Some(more) = more.filter(|_| !counter.name.starts_with("active_")) {
                    let folder = format!("/sys/class/infiniband/{device}/ports/{port}/hw_counters");
                    write(root, &format!("{folder}/{}", counter.name), &format!("{more}\n"));
                    grown.push((format!("hw_counters {device}/{port}"), counter.name));
                }
            }
        }
        grown
    }
}
