//! What a host did around one run: counters as deltas with their units, where interrupts fired, what stayed and what moved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{outcome::Side, spec::word_enum, tuning::KnobRecord, units::Nanos};

word_enum! {
    /// What a counter counts.
    Unit {
        /// Packets or frames.
        Packets = "packets",
        /// Bytes.
        Bytes = "bytes",
        /// Events, interrupts, switches: times that something happened.
        Events = "events",
        /// Microseconds.
        Microseconds = "us",
        /// A share of the last second in percent: a gauge, whose difference means nothing.
        Percent = "percent",
        /// Pages of memory.
        Pages = "pages",
        /// Nobody says.
        Unknown = "unknown",
    }
}

word_enum! {
    /// How a check came out, from good to bad.
    #[derive(PartialOrd, Ord)]
    Level {
        /// As it should be.
        Pass = "pass",
        /// Worth knowing, and no fault.
        Note = "note",
        /// Something is off and may have changed the result.
        Warn = "warn",
        /// Wrong.
        Fail = "fail",
    }
}

/// A counter before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CounterDelta {
    /// Where it was read: `hw_counters mlx5_0/1`, `ethtool ens1np0`, `softirqs cpu3`.
    pub source: String,
    /// Its name as the driver or the kernel writes it; may hold blanks.
    pub name: String,
    /// What it counts, once `factor` is applied.
    pub unit: Unit,
    /// Growth in `unit`; the last reading for a gauge; null where it can't be told.
    pub delta: Option<u64>,
    /// Why it can't be told: it ran backwards, vanished, or appeared.
    #[serde(default)]
    pub invalid: Option<String>,
}

/// Interrupts of one of the NIC's own vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VectorEvidence {
    /// IRQ number while the run lasted.
    pub irq: u32,
    /// Its handler, for example `mlx5_comp3@pci:0000:c1:00.0`.
    pub action: String,
    /// CPUs it was allowed on at the start, in the kernel's list format; null where it can't be read.
    pub allowed: Option<String>,
    /// What the allowed CPUs became while the run lasted, each change a new entry; empty where they stayed.
    #[serde(default)]
    pub allowed_later: Vec<String>,
    /// CPUs it was seen to be delivered to, each change a new entry.
    pub effective_seen: Vec<String>,
    /// Interrupts by CPU: `[cpu, count]`, only CPUs that took any.
    pub fired: Vec<(u32, u64)>,
    /// Whether the allowed or the effective CPUs changed while the run lasted.
    pub moved: bool,
}

/// Frequency of a CPU while the run lasted, sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrequencyEvidence {
    /// The CPU.
    pub cpu: u32,
    /// Samples taken.
    pub samples: u32,
    /// The lowest of them, kHz.
    pub lowest_khz: u64,
    /// Their median (the lower of the middle two), kHz.
    pub median_khz: u64,
    /// The highest of them, kHz.
    pub highest_khz: u64,
    /// What the platform calls its base frequency, kHz; null where it names none.
    pub base_khz: Option<u64>,
}

/// What one host did around one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostEvidence {
    /// Which side of the run.
    pub side: Side,
    /// Where its agent ran: `local`, `netns:NAME`, `ssh:HOST`.
    pub place: String,
    /// What was tuned and what became of it; empty in an untuned run.
    pub tuning: Vec<KnobRecord>,
    /// From the first reading to the last, CLOCK_MONOTONIC.
    pub watched_ns: Nanos,
    /// Counters that moved, and those whose standing still is the evidence.
    pub counters: Vec<CounterDelta>,
    /// The NIC's own interrupt vectors.
    pub vectors: Vec<VectorEvidence>,
    /// Daemons that move interrupts and ran at the start or the end: `irqbalance (running)`.
    pub movers: Vec<String>,
    /// Frequency of the CPUs that were watched; empty where there is no cpufreq, and in a run shorter than the sampling.
    pub frequencies: Vec<FrequencyEvidence>,
    /// CPUs online at the start and at the end, in the kernel's list format.
    pub cpus_online: (Option<String>, Option<String>),
    /// What could not be read, and why.
    pub notes: Vec<String>,
}

/// A check of the evidence of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// Which side; null where both together were judged.
    pub side: Option<Side>,
    /// What was checked, for example `retransmission`.
    pub check: String,
    /// How it came out.
    pub level: Level,
    /// What was found, with its unit.
    pub found: String,
    /// What was held against it.
    pub threshold: String,
    /// What it means for the run.
    pub meaning: String,
}
