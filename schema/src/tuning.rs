//! Tuning of a host: the knobs that are to be turned, as written, and what became of each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::word_enum;

word_enum! {
    /// A knob of a host. One may stand for several targets: the governor has one per CPU.
    Knob {
        /// One file below /proc/sys; the item is its dotted name.
        Sysctl = "sysctl",
        /// A daemon that moves interrupts: paused while the tuning lasts, never disabled.
        Irqbalance = "irqbalance",
        /// CPUs the NIC's own completion vectors are delivered to, by a policy.
        IrqAffinity = "irq_affinity",
        /// The longest wake-up latency the whole host may have, by an open `/dev/cpu_dma_latency`; us.
        PmQos = "pm_qos",
        /// The longest wake-up latency of single CPUs; us. The item is a list of CPUs, or `poll`.
        ResumeLatency = "resume_latency",
        /// cpufreq governor of every CPU.
        Governor = "governor",
        /// Energy-performance preference of every CPU.
        Epp = "epp",
        /// Whether cores may run above their base frequency.
        Turbo = "turbo",
        /// Automatic NUMA balancing.
        NumaBalancing = "numa_balancing",
        /// Transparent huge pages; the item is `enabled` or `defrag`.
        Thp = "thp",
        /// Reserved huge pages of a NUMA node; the item is `NODE:SIZE`, for example `0:2Mi`.
        HugePages = "huge_pages",
        /// CPUs that kernel work queues may run on.
        WorkqueueMask = "workqueue_cpus",
        /// A cgroup v2 cpuset partition of CPUs that the scheduler does not balance over.
        IsolatedPartition = "isolated_partition",
        /// Power saving of PCIe links, for the whole host.
        Aspm = "aspm",
        /// MTU of the NIC's network device; disruptive.
        Mtu = "mtu",
        /// 802.3x pause of the NIC's network device; disruptive. The item is `rx` or `tx`.
        GlobalPause = "global_pause",
        /// Priorities with priority flow control, as a list; disruptive.
        Pfc = "pfc",
        /// Interrupt coalescing of the network device; the item is a field such as `rx_usecs`.
        Coalescing = "coalescing",
        /// Ring sizes of the network device; the item is `rx` or `tx`; disruptive.
        Rings = "rings",
        /// Whether priorities are taken from DSCP or from the VLAN tag, `dscp` or `pcp`: checked, never applied.
        Trust = "trust",
        /// Who decides on data centre bridging, `host` or `firmware`: checked, never applied.
        Dcbx = "dcbx",
        /// PCIe MaxReadReq of the NIC in bytes; disruptive.
        MaxReadRequest = "max_read_request",
        /// A word of the kernel's command line or of the firmware: planned as text and verified, never applied. The item is
        /// the word's name, such as `isolcpus` or `iommu`, or `nvconfig`.
        Boot = "boot",
    }
}

word_enum! {
    /// What it takes to turn a knob back.
    Class {
        /// The kernel turns it back when our process goes away.
        SelfRestoring = "self_restoring",
        /// At once, by writing the old value.
        Instant = "instant",
        /// The link flaps or rings are reopened; asked for explicitly, and refused where others depend on the link.
        Disruptive = "disruptive",
        /// A boot, a firmware reset or a setting of the whole network: reported, never applied.
        Boot = "boot",
    }
}

impl Knob {
    /// What it takes to turn it back.
    pub fn class(self) -> Class {
        match self {
            Knob::PmQos => Class::SelfRestoring,
            Knob::Mtu | Knob::GlobalPause | Knob::Pfc | Knob::Rings | Knob::MaxReadRequest => {
                Class::Disruptive
            }
            Knob::Boot | Knob::Trust | Knob::Dcbx => Class::Boot,
            _ => Class::Instant,
        }
    }

    /// Whether turning it takes long enough, or disturbs enough, that it is turned once a block instead of once a run.
    pub fn is_slow(self) -> bool {
        self.class() == Class::Disruptive || matches!(self, Knob::HugePages | Knob::IsolatedPartition)
    }
}

/// One knob to be turned, as a profile or a scenario writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnobSetting {
    /// Which knob.
    pub knob: Knob,
    /// Which part of it, where it has several (see [`Knob`]); empty otherwise.
    #[serde(default)]
    pub item: String,
    /// What it is to be, as written.
    pub value: String,
    /// Whether it may be left out, and said so, where the host has no such knob.
    #[serde(default)]
    pub optional: bool,
}

/// What is to be turned on one host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tuning {
    /// The profile it came from; null where a scenario lists the knobs.
    #[serde(default)]
    pub profile: Option<String>,
    /// In the order they are turned; turned back in reverse.
    pub knobs: Vec<KnobSetting>,
    /// Whether disruptive knobs may be turned.
    #[serde(default)]
    pub allow_disruptive: bool,
    /// Whether it is only checked: it is never applied.
    #[serde(default)]
    pub check_only: bool,
}

impl Tuning {
    /// Whether it is turned once a block instead of once a run.
    pub fn is_slow(&self) -> bool {
        self.knobs.iter().any(|setting| setting.knob.is_slow())
    }
}

/// What a variant turns, by side.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SidesTuning {
    /// On the requester's host.
    #[serde(default)]
    pub requester: Tuning,
    /// On the responder's host.
    #[serde(default)]
    pub responder: Tuning,
}

impl SidesTuning {
    /// Whether nothing is turned.
    pub fn is_empty(&self) -> bool {
        self.requester.knobs.is_empty() && self.responder.knobs.is_empty()
    }

    /// Whether it is turned once a block instead of once a run.
    pub fn is_slow(&self) -> bool {
        self.requester.is_slow() || self.responder.is_slow()
    }
}

word_enum! {
    /// What became of a target.
    KnobState {
        /// It was so already; nothing was written.
        Unchanged = "unchanged",
        /// Written, and read back as asked.
        Verified = "verified",
        /// Left out: the host has no such knob or refuses it, and it was optional.
        Skipped = "skipped",
        /// Planned as text only.
        Planned = "planned",
        /// It did not stay: what was read after the run is neither what was asked nor what it was.
        Drifted = "drifted",
        /// Turned back, and read back as it was.
        Restored = "restored",
        /// Found changed by someone else when it was to be turned back; left alone.
        Conflict = "conflict",
        /// The target is gone (an interrupt, a device); there is nothing to turn back.
        Gone = "gone",
    }
}

/// One target of a knob, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnobRecord {
    /// Which knob.
    pub knob: Knob,
    /// Which part of it; empty where it has one.
    pub item: String,
    /// What was written to: a path, or a device and its field.
    pub target: String,
    /// What it takes to turn it back.
    pub class: Class,
    /// What it was; null where it could not be read.
    pub old: Option<String>,
    /// What was asked.
    pub asked: String,
    /// What was read back while it was turned; null where nothing was.
    pub effective: Option<String>,
    /// What became of it.
    pub state: KnobState,
    /// More in words; empty where there is nothing to say.
    pub note: String,
}
