//! What is asked for each symptom, in the order in which it is likely to be the cause.

use schema::Severity;

use super::Symptom;

/// One question.
pub(super) enum Question {
    /// Answered by findings of the audit.
    Checks {
        /// In words.
        asked: &'static str,
        /// Checks whose findings answer it.
        checks: &'static [&'static str],
        /// How bad a finding must be to explain the symptom.
        from: Severity,
    },
    /// Answered by the counters of packets that were lost or repeated.
    Loss,
    /// Whether the driver's lines of the kernel's log tell of failure or of a link that went down.
    Log,
    /// Whether the kernel carries the traffic.
    Software,
    /// What the link can carry at most.
    Ceiling,
    /// Commonly named as a cause, and none.
    Innocent {
        /// In words.
        asked: &'static str,
        /// Why not.
        answer: &'static str,
    },
}

use Question::{Ceiling, Checks, Innocent, Log, Loss, Software};

/// On RoCE the state of a port follows its network device, so that comes first.
const PORT_DOWN: [Question; 5] = [
    Checks {
        asked: "is the port active, and if not, what does its network device say?",
        checks: &["port-state"],
        from: Severity::Wrong,
    },
    Log,
    Checks { asked: "does its PCIe link make errors?", checks: &["pcie-aer"], from: Severity::Wrong },
    Checks { asked: "can it be reached as RoCE v2?", checks: &["gid"], from: Severity::Wrong },
    Innocent {
        asked: "could missing PFC or ECN take it down?",
        answer: "without them packets are lost under congestion, and the port stays up; only a change of PFC flaps \
                 the link for a moment",
    },
];

/// PCIe, the way taken, loss, frequency, node, IOMMU, software: what is common, most common first.
const LOW_BANDWIDTH: [Question; 11] = [
    Checks {
        asked: "does the PCIe link carry less than the port?",
        checks: &["pcie-link"],
        from: Severity::Warning,
    },
    Checks {
        asked: "is the port active, at its rate, and has it an address of RoCE v2 of its own?",
        checks: &["port-state", "gid"],
        from: Severity::Warning,
    },
    Loss,
    Checks { asked: "does 802.3x pause stop the link?", checks: &["global-pause"], from: Severity::Warning },
    Checks {
        asked: "do the cores run at their frequency?",
        checks: &["governor", "epp"],
        from: Severity::Warning,
    },
    Checks {
        asked: "is the NIC's node known, and are CPUs and memory there?",
        checks: &["numa-node", "numa-memory", "isolcpus"],
        from: Severity::Warning,
    },
    Checks { asked: "does an IOMMU translate strictly?", checks: &["iommu"], from: Severity::Warning },
    Software,
    Checks {
        asked: "are packets as large as they can be, and reads of host memory?",
        checks: &["mtu", "pcie-max-read-request", "pcie-relaxed-ordering"],
        from: Severity::Warning,
    },
    Innocent {
        asked: "are the sysctls of the sockets too small?",
        answer: "verbs traffic on an HCA goes through no socket, whatever net.core.rmem_max says",
    },
    Ceiling,
];

const HIGH_LATENCY: [Question; 8] = [
    Software,
    Checks {
        asked: "do the cores run at their frequency?",
        checks: &["governor", "epp"],
        from: Severity::Warning,
    },
    Checks {
        asked: "do cores or links sleep deeply?",
        checks: &["c-states", "pcie-aspm"],
        from: Severity::Warning,
    },
    Checks {
        asked: "is the NIC's node known, and are isolated CPUs there?",
        checks: &["numa-node", "isolcpus"],
        from: Severity::Warning,
    },
    Checks {
        asked: "do interrupts fire where a thread polls, or off the NIC's node? (runs by events, and TCP)",
        checks: &["irq-affinity", "irqbalance"],
        from: Severity::Warning,
    },
    Checks {
        asked: "does something else run there: page faults for NUMA balancing, the tick, work queues?",
        checks: &["numa-balancing", "nohz-full", "workqueue-cpus"],
        from: Severity::Warning,
    },
    Loss,
    Innocent {
        asked: "is the MTU too small?",
        answer: "a message that fits into one packet is as fast at any MTU",
    },
];

const TCP_WITH_ROCE: [Question; 6] = [
    Checks {
        asked: "does 802.3x pause stop TCP together with RoCE?",
        checks: &["global-pause"],
        from: Severity::Warning,
    },
    Checks {
        asked: "does PFC pause the priority that everything shares?",
        checks: &["pfc"],
        from: Severity::Warning,
    },
    Checks { asked: "do TCP and RoCE travel in one priority?", checks: &["trust"], from: Severity::Note },
    Checks {
        asked: "do TCP's interrupts meet polling threads, or one CPU?",
        checks: &["irq-affinity", "irqbalance"],
        from: Severity::Warning,
    },
    Checks {
        asked: "does the kernel's backlog overflow?",
        checks: &["sysctl.net.core.netdev_max_backlog"],
        from: Severity::Note,
    },
    Innocent {
        asked: "must RoCE and TCP never share an interface?",
        answer: "priorities of their own are what DCB is for; sharing one priority is what hurts",
    },
];

/// The questions of a symptom; of `driver-load` none, which asks the bus and not a device.
pub(super) fn of(symptom: Symptom) -> &'static [Question] {
    match symptom {
        Symptom::PortDown => &PORT_DOWN,
        Symptom::LowBandwidth => &LOW_BANDWIDTH,
        Symptom::HighLatency => &HIGH_LATENCY,
        Symptom::TcpLatencyWithRoce => &TCP_WITH_ROCE,
        Symptom::DriverLoad => &[],
    }
}
