//! Where the NIC's own interrupts go: the CPUs asked for, the CPUs in effect, and where they really fired.
//!
//! Only completion vectors are judged; those of events, commands and pages carry no data. A busy-polling run takes none of
//! them, so all of this matters to runs by events and to TCP.

use host::{Value, cpulist, cpumask, nic::NicVector, topology::read_list};
use schema::{Finding, Matters};

use super::{
    check::{Check, Draft, HOST},
    view::{Device, Kind, View},
    words,
};

const AFFINITY: Check = Check {
    name: "irq-affinity",
    expected: "completion vectors spread over cores of the NIC's node, none on a core that polls; busy-polled verbs take none of them",
    authority: "kernel documentation (core-api/irq/irq-affinity.rst: use smp_affinity_list, a mask counts from bit 0); NVIDIA's tuning guides",
    matters: &[Matters::EventMode, Matters::TcpOnly],
};

const DEFAULT: Check = Check {
    name: "irq-default-affinity",
    expected: "no isolated CPU: it is where interrupts go that are requested from now on",
    authority: "kernel documentation (core-api/irq/irq-affinity.rst)",
    matters: &[Matters::EventMode],
};

const DEFAULT_MASK: &str = "/proc/irq/default_smp_affinity";

/// One finding a device, and one of the host.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    view.devices.iter().map(|device| affinity(view, device)).chain([default_mask(view)]).collect()
}

/// A completion vector with what was asked for it.
struct Vector {
    irq: u32,
    wanted: Value<Vec<u32>>,
    effective: Vec<u32>,
    fired: Vec<(u32, u64)>,
    action: String,
}

/// Share of interrupts that must have fired where they are sent now, and how few tell nothing.
const STEADY_SHARE: f64 = 0.95;
const TELLING_COUNT: u64 = 100;

impl Vector {
    /// Whether many of its interrupts since boot fired on CPUs it is not sent to now: something has moved it.
    fn fires_elsewhere(&self) -> bool {
        let total: u64 = self.fired.iter().map(|(_, count)| count).sum();
        let here: u64 =
            self.fired.iter().filter(|(cpu, _)| self.effective.contains(cpu)).map(|(_, count)| count).sum();
        total >= TELLING_COUNT && (here as f64) < STEADY_SHARE * total as f64
    }
}

fn affinity(view: &View, device: &Device) -> Finding {
    let draft = AFFINITY.about(&device.name);
    // A software device receives through the kernel: interrupts are its data path.
    let draft = match device.kind {
        Kind::Hardware => draft,
        _ => draft.matters(&[Matters::DataPath, Matters::EventMode, Matters::TcpOnly]),
    };
    let Value::Known(vectors) = &device.vectors else {
        return draft.without("vectors of its own", &device.vectors);
    };
    let vectors: Vec<Vector> = vectors
        .iter()
        .filter(|vector| vector.carries_data())
        .map(|vector| with_wanted(view, vector.clone()))
        .collect();
    let draft = vectors.iter().fold(draft, |draft, vector| {
        let read = format!("/proc/irq/{}/smp_affinity_list ({})", vector.irq, vector.action);
        draft
            .read(read, &vector.wanted.as_ref().map(|cpus| cpulist::format(cpus)))
            .seen(format!("/proc/irq/{}/effective_affinity_list", vector.irq), in_effect(&vector.effective))
            .seen(format!("/proc/interrupts, IRQ {} since boot", vector.irq), fired(&vector.fired))
    });
    if vectors.is_empty() {
        return draft.not_applicable("no completion vector is in use");
    }
    judge(view, device, draft, &vectors)
}

fn with_wanted(view: &View, vector: NicVector) -> Vector {
    Vector {
        irq: vector.irq,
        wanted: read_list(view.sysroot, &format!("/proc/irq/{}/smp_affinity_list", vector.irq)),
        effective: vector.delivered_to.known().unwrap_or_default(),
        fired: vector.counts.into_iter().filter(|(_, count)| *count > 0).collect(),
        action: vector.actions.join(", "),
    }
}

fn judge(view: &View, device: &Device, draft: Draft, vectors: &[Vector]) -> Finding {
    let mut taken: Vec<u32> = vectors.iter().flat_map(|vector| vector.effective.iter().copied()).collect();
    taken.sort_unstable();
    taken.dedup();
    let poll = view.poll_cpu(device, &taken);
    let poll_core = poll.and_then(|cpu| view.topology.cpu(cpu)).map(|cpu| cpu.core_siblings.clone());
    let isolated = view.isolated();
    let kept_free =
        |cpu: &u32| isolated.contains(cpu) || poll_core.as_ref().is_some_and(|core| core.contains(cpu));
    let mut faults = Vec::new();
    let here = view.cpus_near(device);
    let on = |is_bad: &dyn Fn(&u32) -> bool| -> Vec<u32> {
        vectors.iter().filter(|vector| vector.effective.iter().any(is_bad)).map(|vector| vector.irq).collect()
    };
    if let Value::Known(node) = device.node {
        let far = on(&|cpu| !here.contains(cpu));
        if !far.is_empty() {
            faults.push(format!("{} may fire off the NIC's node {node}", words::irqs(&far)));
        }
    }
    let disturbing = on(&|cpu| kept_free(cpu));
    if let (Some(poll), false) = (poll, disturbing.is_empty()) {
        faults.push(format!(
            "{} may fire {} the core of CPU {poll}, where a thread would poll",
            words::irqs(&disturbing),
            if isolated.is_empty() { "on" } else { "on isolated CPUs or on" }
        ));
    }
    if vectors.len() > 1 && taken.len() == 1 {
        faults.push(format!(
            "all {} vectors share CPU {}, which takes TCP one packet after the other",
            vectors.len(),
            taken[0]
        ));
    }
    let elsewhere: Vec<u32> =
        vectors.iter().filter(|vector| vector.fires_elsewhere()).map(|vector| vector.irq).collect();
    if !elsewhere.is_empty() {
        faults.push(format!("{} fired on CPUs it is not sent to now", words::irqs(&elsewhere)));
    }
    let spread = spread(view, &here, &kept_free);
    let moving = vectors.iter().filter(|vector| {
        matches!(&vector.wanted, Value::Known(wanted) if !vector.effective.iter().all(|cpu| wanted.contains(cpu)))
    });
    let moving: Vec<u32> = moving.map(|vector| vector.irq).collect();
    if !faults.is_empty() {
        let faults = faults.join("; ");
        return draft.remedy(commands(view, vectors, &spread)).warning(match device.kind {
            Kind::Hardware => format!("{faults} (busy-polled runs take none of them)"),
            Kind::SoftRoce | Kind::SoftIwarp => faults,
        });
    }
    if !moving.is_empty() {
        let irqs = words::irqs(&moving);
        return draft.note(format!("{irqs}: a new affinity that takes effect at the next interrupt"));
    }
    draft.fine(format!("{} completion vectors on {}", vectors.len(), words::cpus(&taken)))
}

/// One CPU of each core near the NIC that nobody polls on; every CPU near it if that leaves none.
fn spread(view: &View, here: &[u32], kept_free: &dyn Fn(&u32) -> bool) -> Vec<u32> {
    let is_first_of_core = |cpu: &&u32| {
        view.topology.cpu(**cpu).is_some_and(|cpu| cpu.core_siblings.iter().min() == Some(&cpu.id))
    };
    let free: Vec<u32> =
        here.iter().filter(is_first_of_core).copied().filter(|cpu| !kept_free(cpu)).collect();
    if free.is_empty() { here.to_vec() } else { free }
}

fn commands(view: &View, vectors: &[Vector], spread: &[u32]) -> String {
    let command = |(vector, cpu): (&Vector, &u32)| {
        let path = format!("/proc/irq/{}/smp_affinity_list", vector.irq);
        if view.sysroot.is_read_only(&path) {
            format!("# IRQ {} is managed by the kernel and cannot be moved", vector.irq)
        } else {
            format!("echo {cpu} > {path}")
        }
    };
    let by_hand: Vec<String> = vectors.iter().zip(spread.iter().cycle()).map(command).collect();
    format!(
        "for one run, the knob irq_affinity with the policy nic-node-except-poll;\nby hand, with irqbalance paused:\n{}",
        by_hand.join("\n")
    )
}

fn in_effect(cpus: &[u32]) -> String {
    if cpus.is_empty() { "none".into() } else { cpulist::format(cpus) }
}

/// The CPUs an interrupt fired on, those that took most of it first.
fn fired(counts: &[(u32, u64)]) -> String {
    if counts.is_empty() {
        return "never fired".into();
    }
    let mut counts = counts.to_vec();
    counts.sort_unstable_by_key(|(cpu, count)| (std::cmp::Reverse(*count), *cpu));
    let shown: Vec<String> =
        counts.iter().take(4).map(|(cpu, count)| format!("{count} on CPU {cpu}")).collect();
    let rest = counts.len().saturating_sub(4);
    if rest == 0 { shown.join(", ") } else { format!("{}, and on {rest} more CPUs", shown.join(", ")) }
}

fn default_mask(view: &View) -> Finding {
    let mask = view.sysroot.read(DEFAULT_MASK);
    let cpus = mask.as_ref().parse(|text| cpumask::parse(text));
    let draft = DEFAULT.about(HOST).read(DEFAULT_MASK, &mask);
    let Value::Known(cpus) = &cpus else { return draft.without("the default affinity", &cpus) };
    let isolated = view.isolated();
    let shared: Vec<u32> = cpus.iter().copied().filter(|cpu| isolated.contains(cpu)).collect();
    if shared.is_empty() {
        return draft.fine(words::cpus(cpus));
    }
    let rest: Vec<u32> = cpus.iter().copied().filter(|cpu| !isolated.contains(cpu)).collect();
    draft
        .remedy(format!("echo {} > {DEFAULT_MASK}", cpumask::format(&rest)))
        .note(format!("new interrupts may go to the isolated {}", words::cpus(&shared)))
}

#[cfg(test)]
mod tests {
    use schema::{
        Matters,
        Severity::{Fine, NotApplicable, Note, Warning},
    };

    use super::fired;
    use crate::doctor::planted::Planted;

    const MASKS: &str = "/proc/irq";

    /// Two completion vectors of `mlx5_0`, sent to these CPUs, with these lines of /proc/interrupts.
    fn sent(first: &str, second: &str, counts: &str) -> Planted {
        let header =
            "           CPU0       CPU1       CPU2       CPU3       CPU4       CPU5       CPU6       CPU7\n";
        let mut host = Planted::on("two-socket-mlx5").with("/proc/interrupts", &format!("{header}{counts}"));
        for (irq, cpus) in [(99, first), (109, second)] {
            host = host
                .with(&format!("{MASKS}/{irq}/smp_affinity_list"), cpus)
                .with(&format!("{MASKS}/{irq}/effective_affinity_list"), cpus);
        }
        host
    }

    const QUIET: &str = " 98: 0 0 0 50 0 0 0 0 IR-PCI-MSIX-0000:c1:00.0 0-edge mlx5_async0@pci:0000:c1:00.0\n \
                         99: 0 0 7 0 0 0 0 0 IR-PCI-MSIX-0000:c1:00.0 1-edge mlx5_comp0@pci:0000:c1:00.0\n\
                         109: 0 0 0 0 0 0 9 0 IR-PCI-MSIX-0000:c1:00.0 2-edge mlx5_comp1@pci:0000:c1:00.0\n";

    #[test]
    fn vectors_on_the_nics_node_and_off_the_polling_core_are_fine_and_the_async_one_is_not_asked() {
        let host = sent("2", "6", QUIET);
        assert_eq!(host.says("irq-affinity", "mlx5_0"), (Fine, "2 completion vectors on CPUs 2,6".into()));
        let finding = host.finding("irq-affinity", "mlx5_0");
        assert!(finding.readings.iter().all(|reading| !reading.at.contains("/98/")), "{finding:?}");
        assert_eq!(finding.matters, [Matters::EventMode, Matters::TcpOnly]);
    }

    #[test]
    fn a_vector_off_the_node_on_a_polling_core_or_shared_is_told_with_commands() {
        let far = sent("0", "6", QUIET).finding("irq-affinity", "mlx5_0");
        assert_eq!(far.severity, Warning);
        assert!(far.summary.starts_with("IRQ 99 may fire off the NIC's node 1"), "{}", far.summary);
        assert!(far.remedy.contains("echo 2 > /proc/irq/99/smp_affinity_list"), "{}", far.remedy);
        let polled = sent("2", "7", QUIET).finding("irq-affinity", "mlx5_0");
        assert!(polled.summary.starts_with("IRQ 109 may fire on isolated CPUs"), "{}", polled.summary);
        let one = sent("2", "2", QUIET).finding("irq-affinity", "mlx5_0");
        assert!(one.summary.contains("all 2 vectors share CPU 2"), "{}", one.summary);
    }

    #[test]
    fn where_it_really_fired_counts_once_there_is_enough_of_it() {
        let moved = QUIET.replace("99: 0 0 7", "99: 900 0 7");
        let (severity, summary) = sent("2", "6", &moved).says("irq-affinity", "mlx5_0");
        assert_eq!(severity, Warning);
        assert!(summary.contains("IRQ 99 fired on CPUs it is not sent to now"), "{summary}");
        let few = QUIET.replace("99: 0 0 7", "99: 90 0 7");
        assert_eq!(sent("2", "6", &few).says("irq-affinity", "mlx5_0").0, Fine, "97 interrupts tell nothing");
        assert_eq!(fired(&[(0, 1), (3, 9)]), "9 on CPU 3, 1 on CPU 0");
        assert_eq!(fired(&[]), "never fired");
    }

    #[test]
    fn a_new_affinity_waits_for_the_next_interrupt() {
        let host = sent("2", "6", QUIET).with("/proc/irq/99/smp_affinity_list", "6\n");
        assert_eq!(
            host.says("irq-affinity", "mlx5_0"),
            (Note, "IRQ 99: a new affinity that takes effect at the next interrupt".into())
        );
    }

    #[test]
    fn a_software_device_receives_by_the_interrupts_of_the_netdev_below() {
        let finding = Planted::on("guest-rxe").finding("irq-affinity", "rxe0");
        assert!(finding.matters.contains(&Matters::DataPath));
        assert!(!finding.summary.contains("busy-polled"), "{}", finding.summary);
        assert_eq!(Planted::on("netns-readonly").says("irq-default-affinity", "host").0, NotApplicable);
    }

    #[test]
    fn new_interrupts_keep_off_isolated_cpus() {
        let finding = Planted::on("two-socket-mlx5").finding("irq-default-affinity", "host");
        assert_eq!(
            (finding.severity, finding.remedy.as_str()),
            (Note, "echo 77 > /proc/irq/default_smp_affinity")
        );
    }
}
