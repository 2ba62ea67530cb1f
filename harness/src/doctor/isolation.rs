//! What else may run on a CPU that polls: isolation at boot and at run time, the tick, work queues, the other thread.

use host::{Value, cpulist, cpumask};
use schema::{Finding, Matters};

use super::{
    at_boot,
    check::{Check, HOST},
    view::{Device, View},
    words,
};

const ISOLCPUS: Check = Check {
    name: "isolcpus",
    expected: "whole cores of the NIC's node, for the threads that poll; interrupts elsewhere",
    authority: "kernel documentation (admin-guide/kernel-parameters.txt: isolcpus is deprecated in favour of cpusets)",
    matters: &[Matters::DataPath],
};

const NOHZ_FULL: Check = Check {
    name: "nohz-full",
    expected: "the isolated CPUs, so that a thread alone on one is not interrupted by the tick",
    authority: "kernel documentation (timers/no_hz.rst); tuned's cpu-partitioning profile",
    matters: &[Matters::DataPath],
};

const PARTITION: Check = Check {
    name: "isolated-partition",
    expected: "a cpuset partition of type isolated where isolation is wanted without a reboot",
    authority: "kernel documentation (admin-guide/cgroup-v2.rst, cpuset.cpus.partition)",
    matters: &[Matters::DataPath],
};

const WORKQUEUES: Check = Check {
    name: "workqueue-cpus",
    expected: "none of the isolated CPUs",
    authority: "kernel documentation (core-api/workqueue.rst); tuned's cpu-partitioning profile",
    matters: &[Matters::DataPath],
};

const SMT: Check = Check {
    name: "smt",
    expected: "whatever it is, the other thread of a core that polls stays idle",
    authority: "ours: the CPU that `auto` picks leaves its core's other thread free",
    matters: &[Matters::DataPath, Matters::EventMode],
};

const WORKQUEUE_MASK: &str = "/sys/devices/virtual/workqueue/cpumask";
const PARTITIONS: &str = "/sys/fs/cgroup/cpuset.cpus.isolated";

/// One finding each.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    vec![isolcpus(view), nohz_full(view), partition(view), workqueues(view), smt(view)]
}

fn isolcpus(view: &View) -> Finding {
    let isolated = view.topology.isolated.as_ref();
    let draft = ISOLCPUS
        .about(HOST)
        .read("/sys/devices/system/cpu/isolated", &isolated.clone().map(|cpus| list(cpus)))
        .read("/proc/cmdline", &word_of_cmdline(view, "isolcpus"));
    let cpus = match isolated {
        Value::Known(cpus) => cpus,
        other => return draft.without("isolated CPUs", &other),
    };
    if cpus.is_empty() {
        return draft
            .remedy(how_to_isolate(view))
            .note("no CPU is isolated: the scheduler may put other work on a CPU that polls");
    }
    let half = cpus.iter().filter_map(|id| view.topology.cpu(*id)).find_map(|cpu| {
        cpu.core_siblings.iter().find(|other| !cpus.contains(other)).map(|other| (cpu.id, *other))
    });
    let starved = view.devices.iter().find_map(|device| {
        let node = *device.node.as_ref().known()?;
        let has_one = cpus.iter().any(|cpu| view.topology.node_of_cpu(*cpu) == Some(node));
        (!has_one).then_some((&device.name, node))
    });
    match (starved, half) {
        (Some((device, node)), _) => draft.warning(format!(
            "{} isolated, and nothing on node {node} of {device}: polling there costs every message the \
             way across sockets",
            words::cpus(cpus)
        )),
        (None, Some((cpu, other))) => draft.note(format!(
            "{} isolated; CPU {cpu} shares its core with {other}, which is not",
            words::cpus(cpus)
        )),
        (None, None) => draft.fine(format!("{} isolated, in whole cores", words::cpus(cpus))),
    }
}

/// For the core that a thread would poll on beside the first device.
fn how_to_isolate(view: &View) -> String {
    let at_run_time = "without a reboot, the knob isolated_partition of a tuning profile";
    match view.devices.first().and_then(|device| poll_core(view, device)) {
        Some(core) => format!("{at_run_time};\n{}", at_boot::remedy(view, "isolcpus", &list(&core), None)),
        None => format!("{at_run_time};\nat boot: `rdma-harness explain isolcpus`"),
    }
}

/// The core of the CPU that would be polled on; none where it has CPU 0, which is not to be isolated.
fn poll_core(view: &View, device: &Device) -> Option<Vec<u32>> {
    let core = &view.topology.cpu(view.poll_cpu(device, &device.irq_cpus())?)?.core_siblings;
    (!core.contains(&0)).then(|| core.clone())
}

fn nohz_full(view: &View) -> Finding {
    let tickless = view.topology.nohz_full.as_ref();
    let draft = NOHZ_FULL
        .about(HOST)
        .read("/sys/devices/system/cpu/nohz_full", &tickless.clone().map(|cpus| list(cpus)))
        .read("/proc/cmdline", &word_of_cmdline(view, "nohz_full"));
    let isolated = view.isolated();
    match tickless {
        Value::Known(cpus) => {
            let ticking: Vec<u32> = isolated.iter().copied().filter(|cpu| !cpus.contains(cpu)).collect();
            match (cpus.as_slice(), ticking.as_slice()) {
                ([], []) => draft.fine("no CPU, and none is isolated"),
                ([], _) => draft
                    .remedy(at_boot::remedy(view, "nohz_full", &list(&isolated), None))
                    .note(format!("no CPU: the isolated {} take the tick", words::cpus(&isolated))),
                (_, []) => draft.fine(format!("{} without the tick", words::cpus(cpus))),
                (_, ticking) => {
                    draft.note(format!("the tick still runs on the isolated {}", words::cpus(ticking)))
                }
            }
        }
        Value::Absent => draft.not_applicable("this kernel is built without it"),
        other => draft.without("nohz_full", &other),
    }
}

fn partition(view: &View) -> Finding {
    let isolated = view.sysroot.read(PARTITIONS);
    let draft = PARTITION.about(HOST).read(PARTITIONS, &isolated);
    match &isolated {
        Value::Known(cpus) if cpus.is_empty() => draft.fine("none is in force"),
        Value::Known(cpus) => draft.note(format!("CPUs {cpus} are in isolated partitions")),
        Value::Absent => draft.not_applicable("this kernel does not say, or has no cgroup v2 cpusets here"),
        other => draft.without("isolated partitions", other),
    }
}

fn workqueues(view: &View) -> Finding {
    let mask = view.sysroot.read(WORKQUEUE_MASK);
    let cpus = mask.as_ref().parse(|text| cpumask::parse(text));
    let draft = WORKQUEUES.about(HOST).read(WORKQUEUE_MASK, &mask);
    let Value::Known(cpus) = &cpus else { return draft.without("CPUs of work queues", &cpus) };
    let isolated = view.isolated();
    let shared: Vec<u32> = cpus.iter().copied().filter(|cpu| isolated.contains(cpu)).collect();
    if shared.is_empty() {
        return draft.fine("no isolated CPU takes work of the kernel's queues");
    }
    let rest: Vec<u32> = cpus.iter().copied().filter(|cpu| !isolated.contains(cpu)).collect();
    draft
        .remedy(format!("echo {} > {WORKQUEUE_MASK}", cpumask::format(&rest)))
        .note(format!("work of the kernel's queues may run on the isolated {}", words::cpus(&shared)))
}

fn smt(view: &View) -> Finding {
    let control = view.sysroot.read("/sys/devices/system/cpu/smt/control");
    let active = view.sysroot.read("/sys/devices/system/cpu/smt/active");
    let draft = SMT
        .about(HOST)
        .read("/sys/devices/system/cpu/smt/control", &control)
        .read("/sys/devices/system/cpu/smt/active", &active);
    let threads = view.topology.cpus.iter().map(|cpu| cpu.core_siblings.len()).max().unwrap_or(1);
    match (&active, threads) {
        (Value::Known(active), 2..) if active == "1" => draft
            .note(format!("on, {threads} threads a core: keep the other thread of a core that polls idle")),
        (Value::Absent | Value::Unreadable(_), 2..) => {
            draft.note(format!("{threads} threads a core: keep the other thread of a core that polls idle"))
        }
        (_, 2..) => draft.note("cores have several threads, and the kernel says that it is off"),
        _ => draft.fine("one thread a core"),
    }
}

fn list(cpus: &[u32]) -> String {
    cpulist::format(cpus)
}

/// The word of the kernel's command line that begins so.
fn word_of_cmdline(view: &View, key: &str) -> Value<String> {
    view.sysroot.read("/proc/cmdline").and_then(|line| {
        let word = line.split_whitespace().find(|word| word.split('=').next() == Some(key));
        word.map_or(Value::NotApplicable(format!("no {key}= there")), |word| Value::Known(word.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, Note, Warning};

    use crate::doctor::planted::Planted;

    const ISOLATED: &str = "/sys/devices/system/cpu/isolated";

    #[test]
    fn isolation_on_the_wrong_node_is_told_of_the_device_it_leaves_out() {
        let (severity, summary) = Planted::on("two-socket-mlx5").says("isolcpus", "host");
        assert_eq!(severity, Warning);
        assert!(summary.contains("nothing on node 0 of mlx5_1"), "{summary}");
        let both = Planted::on("two-socket-mlx5").with(ISOLATED, "1,3,5,7\n");
        assert_eq!(both.says("isolcpus", "host"), (Fine, "CPUs 1,3,5,7 isolated, in whole cores".into()));
        let half = Planted::on("two-socket-mlx5").with(ISOLATED, "1,3\n");
        let (severity, summary) = half.says("isolcpus", "host");
        assert!(severity == Note && summary.contains("CPU 1 shares its core with 5"), "{summary}");
    }

    #[test]
    fn without_isolation_the_commands_of_the_distribution_are_given() {
        let none = Planted::on("two-socket-mlx5").with(ISOLATED, "\n").finding("isolcpus", "host");
        assert_eq!(none.severity, Note);
        assert!(none.remedy.contains("isolcpus=") && none.remedy.contains("grub"), "{}", none.remedy);
    }

    #[test]
    fn isolated_cpus_with_a_tick_or_with_work_queues_are_named() {
        let host = Planted::on("two-socket-mlx5")
            .with("/sys/devices/system/cpu/nohz_full", "3\n")
            .with("/sys/devices/virtual/workqueue/cpumask", "ff\n");
        assert_eq!(
            host.says("nohz-full", "host"),
            (Note, "the tick still runs on the isolated CPU 7".into())
        );
        let queues = host.finding("workqueue-cpus", "host");
        assert_eq!(
            (queues.severity, queues.remedy.as_str()),
            (Note, "echo 77 > /sys/devices/virtual/workqueue/cpumask")
        );
    }

    #[test]
    fn a_partition_made_at_run_time_is_seen() {
        let host = Planted::on("two-socket-mlx5").with("/sys/fs/cgroup/cpuset.cpus.isolated", "2,6\n");
        assert_eq!(
            host.says("isolated-partition", "host"),
            (Note, "CPUs 2,6 are in isolated partitions".into())
        );
        assert_eq!(Planted::on("guest-rxe").says("smt", "host").0, Fine);
        assert_eq!(Planted::on("two-socket-mlx5").says("smt", "host").0, Note);
    }
}
