//! RunRecord: one measurement as it happened; what was asked, what was granted, where it ran, and every sample.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    SCHEMA_VERSION,
    evidence::{HostEvidence, Judgement},
    histogram::{EncodedHistogram, LatencySummary},
    host::HostFacts,
    outcome::{Outcome, Side},
    spec::{Op, PostApi, RunSpec, Test, Transport},
    units::{BitsPerSec, Bytes, Nanos},
};

/// What carried the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fabric {
    /// An RDMA device of the kernel, through libibverbs.
    Verbs,
    /// The software NIC: simulated, and never to be taken for hardware.
    Soft,
}

/// What the devices granted, beside what [`RunSpec`] asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Granted {
    /// Path MTU in bytes the QPs were given.
    pub path_mtu: u32,
    /// Send work requests the device granted per QP; at least `tx_depth`.
    pub max_send_wr: u32,
    /// Inline limit the device granted, in bytes; may exceed what was asked.
    pub max_inline_bytes: u32,
    /// Completions the queue holds.
    pub cq_entries: u32,
    /// Receives the device granted per QP; 0 where none are posted.
    #[serde(default)]
    pub max_recv_wr: u32,
    /// Transport service of the QPs; null in records of earlier releases, which were rc.
    #[serde(default)]
    pub transport: Option<Transport>,
    /// API the loops used; null in records of earlier releases, which was classic.
    #[serde(default)]
    pub post_api: Option<PostApi>,
    /// Reads and atomics outstanding per QP that both devices bear; null where none are posted.
    #[serde(default)]
    pub outstanding_reads: Option<u8>,
    /// Whether each thread has a doorbell domain of its own (`ibv_alloc_td`).
    #[serde(default)]
    pub thread_domains: bool,
    /// Distinct target slots a QP's messages walk through.
    pub slots_per_qp: u32,
    /// Bytes of target memory written over and over, all QPs, at the largest message size.
    pub working_set_bytes: Bytes,
}

/// A GID table entry as libibverbs shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GidRecord {
    /// Index in the port's GID table.
    pub index: u32,
    /// The GID in IPv6 notation.
    pub gid: String,
    /// `RoCE v1`, `RoCE v2` or `IB`.
    pub gid_type: String,
    /// Its network device in our network namespace; null where there is none.
    pub netdev: Option<String>,
    /// Why it was or was not chosen.
    pub note: String,
}

/// The PCIe links between a device and its root port, as far as one of them limits it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PcieRecord {
    /// Speed and width of the slowest link as it runs, or of the first that runs below what it could: `16.0 GT/s x16`.
    pub link: String,
    /// What both ends of that link can: another text than `link` says that it trained to less.
    pub possible: String,
    /// What it carries after line coding, as it runs.
    pub rate_bits_per_sec: BitsPerSec,
    /// Largest payload of a packet the device sends, bytes; null where it can't be read without root.
    pub max_payload_bytes: Option<u32>,
}

/// The device and port one side used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeviceRecord {
    /// Name, for example `mlx5_0`, `rxe0` or `soft`.
    pub name: String,
    /// Port, from 1.
    pub port_num: u8,
    /// Firmware version; null where the device reports none.
    pub firmware: Option<String>,
    /// Vendor part id, where the device reports one.
    pub vendor_part_id: Option<u32>,
    /// `Ethernet`, `InfiniBand` or `Soft`.
    pub link_layer: String,
    /// Active MTU of the port in bytes.
    pub active_mtu: u32,
    /// Link rate from width and speed; null where the device reports none.
    pub rate_bits_per_sec: Option<BitsPerSec>,
    /// NUMA node of the device; null where it has none.
    pub numa_node: Option<u32>,
    /// Network devices of the port.
    pub netdevs: Vec<String>,
    /// Kernel driver and the version it tells: `mlx5_core 24.10-1.1.4`; null for devices without one, and in records of earlier
    /// releases.
    #[serde(default)]
    pub driver: Option<String>,
    /// The way to memory; null for devices that are not on PCIe, and in records of earlier releases.
    #[serde(default)]
    pub pcie: Option<PcieRecord>,
}

/// Where one side ran, as asked and as verified by the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlacementRecord {
    /// As asked: auto, none or a list.
    pub cpu_asked: String,
    /// The CPU the first polling thread was pinned to; null when not pinned.
    pub cpu_pinned: Option<u32>,
    /// The CPUs of all polling threads, in order; empty when not pinned.
    #[serde(default)]
    pub cpus_pinned: Vec<u32>,
    /// Why this CPU.
    pub cpu_reason: String,
    /// CPUs the thread was seen on while it ran, sampled at interval ends.
    pub cpus_seen: Vec<u32>,
    /// As asked: auto, none or a node.
    pub memory_node_asked: String,
    /// The node the buffers were bound to; null when not bound.
    pub memory_node_bound: Option<u32>,
    /// Pages of the message buffers by NUMA node, as the kernel reports them: `[node, pages]`.
    pub pages_by_node: Vec<(u32, u64)>,
    /// Size of those pages in bytes.
    pub page_bytes: u64,
    /// Involuntary context switches of the polling thread while it measured.
    pub involuntary_switches: Option<u64>,
    /// What could not be had or verified, in words.
    pub notes: Vec<String>,
}

/// The clock of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRecord {
    /// `tsc` or `clock_monotonic_raw`.
    pub source: String,
    /// Why the TSC was not used; null when it was.
    pub tsc_refused: Option<String>,
    /// Ticks per second the conversion uses.
    pub ticks_per_sec: f64,
    /// How far a second calibration, after the run, lay from the first, in parts per million.
    pub drift_ppm: Option<f64>,
    /// Median cost of one reading, ns.
    pub overhead_ns: f64,
    /// Smallest step seen between two readings, ns.
    pub resolution_ns: f64,
}

/// What the core did to a loop that wanted nothing but time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseFloor {
    /// How long it was watched.
    pub watched_ns: Nanos,
    /// The longest time taken away at once.
    pub max_gap_ns: Nanos,
    /// Gaps above 1 us.
    pub gaps_over_1us: u64,
    /// Share of the time that was taken away, 0 to 1.
    pub stolen_share: f64,
}

/// Versions that can change a result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Versions {
    /// verbs-bench.
    pub verbs_bench: String,
    /// Digest of the running binary: SHA-256, hex.
    pub binary_sha256: Option<String>,
    /// libibverbs as loaded; null where it is not used.
    pub libibverbs: Option<String>,
}

/// One side of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SideRecord {
    /// Which.
    pub side: Side,
    /// Its host.
    pub host: HostFacts,
    /// Its device.
    pub device: DeviceRecord,
    /// The GID it used; null where the port needs none.
    pub gid: Option<GidRecord>,
    /// The non-empty entries of the port's GID table.
    pub gid_table: Vec<GidRecord>,
    /// Where it ran.
    pub placement: PlacementRecord,
    /// Its clock.
    pub clock: ClockRecord,
    /// Noise of the core before the run.
    pub noise_before: Option<NoiseFloor>,
    /// Noise of the core after the run.
    pub noise_after: Option<NoiseFloor>,
    /// Versions.
    pub versions: Versions,
}

/// One interval of the time series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// From the start of the Measure phase to the start of the interval.
    pub start_ns: Nanos,
    /// Its length; it ends at the first completion after the nominal end.
    pub duration_ns: Nanos,
    /// Messages completed in it.
    pub messages: u64,
    /// Median latency in it, ns, to two digits; null without samples.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the latency in it, ns, to two digits; null with fewer than 1,000 samples.
    pub p99_ns: Option<u64>,
    /// Largest latency in it, ns.
    pub max_ns: Option<u64>,
}

/// What the check of the written bytes found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataCheck {
    /// Bytes that were compared with what was sent: every slot of every QP, before the measurement and after it.
    pub checked_bytes: Bytes,
    /// Bytes that differed. A run with any is failed.
    pub wrong_bytes: Bytes,
    /// QPs whose last message carried its number, and QPs on which it arrived: a message that never landed, or landed
    /// before an earlier one, is seen.
    #[serde(default)]
    pub sequences: Option<SequenceCheck>,
}

/// Whether the messages of the Measure phase arrived to the last one, and in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceCheck {
    /// QPs that were checked.
    pub checked_qps: u32,
    /// QPs on which the target did not hold what the last message carried. A run with any is failed.
    pub wrong_qps: u32,
}

/// The other direction of a bidirectional run: what the responder sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reverse {
    /// Messages completed in its Measure phase.
    pub messages: u64,
    /// Length of that phase.
    pub duration_ns: Nanos,
    /// Payload bits per second, mean over the phase.
    pub bandwidth_bits_per_sec: f64,
    /// Messages per second, mean over the phase.
    pub messages_per_sec: f64,
    /// Latency under load, post to completion.
    pub latency_ns: LatencySummary,
    /// Every sample of `latency_ns`.
    pub histogram: EncodedHistogram,
}

/// What both ends counted from the first message of the point to the last, WarmUp and Drain included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Messages the requester posted.
    pub requester_sent: u64,
    /// Messages the responder saw arrive; null where the operation does not tell it (writes, reads).
    pub responder_received: Option<u64>,
    /// Messages the responder posted; 0 in one direction.
    pub responder_sent: u64,
    /// Messages the requester saw arrive; null where the operation does not tell it.
    pub requester_received: Option<u64>,
}

impl Counts {
    /// Messages that were sent and never seen to arrive; null where nobody can tell.
    pub fn lost(&self) -> Option<u64> {
        let there = self.responder_received.map(|received| self.requester_sent.saturating_sub(received));
        let back = self.requester_received.map(|received| self.responder_sent.saturating_sub(received));
        there.map(|lost| lost + back.unwrap_or(0))
    }
}

/// An open load: what was asked and what was achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaceReport {
    /// Messages a second the schedule asked for, one direction.
    pub asked_messages_per_sec: f64,
    /// Messages a second that completed in the Measure phase.
    pub achieved_messages_per_sec: f64,
    /// Messages that found the window full at their time and were posted later.
    pub late_messages: u64,
    /// How far behind its schedule the loop was at worst.
    pub max_lateness_ns: Nanos,
    /// The rates a search tried, in the order it tried them; empty without a search.
    pub probes: Vec<Probe>,
}

/// One rate a search tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Messages a second the schedule asked for.
    pub asked_messages_per_sec: f64,
    /// Messages a second that completed.
    pub achieved_messages_per_sec: f64,
    /// Its p99, ns; null with too few samples.
    pub p99_ns: Option<u64>,
    /// Whether the p99 stayed within the bound and the rate was achieved.
    pub held: bool,
}

/// The latency under load, split by the device's own clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NicTime {
    /// From the post to the device's completion timestamp.
    pub nic_latency_ns: LatencySummary,
    /// Every sample of it.
    pub nic_histogram: EncodedHistogram,
    /// From the device's completion timestamp to the poll that returned it.
    pub software_latency_ns: LatencySummary,
    /// Every sample of it.
    pub software_histogram: EncodedHistogram,
    /// Rate of the device's clock, as it was measured against ours.
    pub device_ticks_per_sec: f64,
    /// How well two clocks can be compared: width of the tightest pair of readings.
    pub correlation_ns: f64,
}

/// One message size of a run, measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Bandwidth or latency.
    pub test: Test,
    /// The verb.
    pub op: Op,
    /// Message size.
    pub msg_bytes: Bytes,
    /// Messages completed in the Measure phase.
    pub messages: u64,
    /// Length of the Measure phase.
    pub duration_ns: Nanos,
    /// Payload bits per second, mean over the Measure phase; null for a latency test.
    pub bandwidth_bits_per_sec: Option<f64>,
    /// Messages per second, mean over the Measure phase; null for a latency test.
    pub messages_per_sec: Option<f64>,
    /// Latency: half round trip for a latency test, post to completion under load for bandwidth.
    pub latency_ns: LatencySummary,
    /// Every sample of `latency_ns`.
    pub histogram: EncodedHistogram,
    /// Latency test only: post to completion of the requester's own writes.
    pub completion_latency_ns: Option<LatencySummary>,
    /// Every sample of `completion_latency_ns`.
    pub completion_histogram: Option<EncodedHistogram>,
    /// The time series.
    pub intervals: Vec<Interval>,
    /// The check of the data; null when the spec switched it off.
    pub data_check: Option<DataCheck>,
    /// The other direction; null in a run of one direction.
    #[serde(default)]
    pub reverse: Option<Reverse>,
    /// What both ends counted; null in records of earlier releases.
    #[serde(default)]
    pub counts: Option<Counts>,
    /// The schedule; null in a closed loop.
    #[serde(default)]
    pub pace: Option<PaceReport>,
    /// The latency under load by the device's clock; null unless asked for.
    #[serde(default)]
    pub nic_time: Option<NicTime>,
}

impl Point {
    /// Payload bits per second of both directions together; null for a latency test.
    pub fn total_bandwidth_bits_per_sec(&self) -> Option<f64> {
        let back = self.reverse.as_ref().map_or(0.0, |reverse| reverse.bandwidth_bits_per_sec);
        self.bandwidth_bits_per_sec.map(|there| there + back)
    }

    /// Messages per second of both directions together; null for a latency test.
    pub fn total_messages_per_sec(&self) -> Option<f64> {
        let back = self.reverse.as_ref().map_or(0.0, |reverse| reverse.messages_per_sec);
        self.messages_per_sec.map(|there| there + back)
    }
}

/// From the start of the requester's program to its first measured work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StartUp {
    /// From `main` to the first posted work request of a local or remote run, without the time it was held before that.
    pub main_to_first_post_ns: Nanos,
    /// Of it, spent in the devices' own set-up on this side: open, register, create, connect.
    pub device_ns: Nanos,
    /// Of it, spent waiting for the responder, which does the same at the same time.
    pub peer_ns: Nanos,
    /// CLOCK_MONOTONIC at the first posted work request, for those who know when they started the program; of a run that was
    /// held, at the first one after that, which is the first of its first measurement.
    pub first_post_monotonic_ns: u64,
    /// A run that was held: how long it stood ready, until the moment it was told or, where that had passed, until it was told;
    /// null for any other.
    #[serde(default)]
    pub held_ns: Option<Nanos>,
}

/// One run, as it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Start, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
    /// From start to end, everything included.
    pub wall_ns: Nanos,
    /// What carried the messages.
    pub fabric: Fabric,
    /// The fabric in words; for the software NIC it names the model.
    pub fabric_label: String,
    /// How it ended.
    pub outcome: Outcome,
    /// What was asked.
    pub spec: RunSpec,
    /// What was granted; null if it did not come that far.
    pub granted: Option<Granted>,
    /// The side that posted; null if it did not come that far.
    pub requester: Option<SideRecord>,
    /// The side that was written to; null if it did not come that far.
    pub responder: Option<SideRecord>,
    /// One per message size measured before the end or the failure.
    pub points: Vec<Point>,
    /// How long it took to begin; null if it did not come that far, and in records of earlier releases.
    #[serde(default)]
    pub start_up: Option<StartUp>,
    /// What the hosts did around it, one per side that had an agent; empty in records of earlier releases.
    #[serde(default)]
    pub evidence: Vec<HostEvidence>,
    /// What the evidence says.
    #[serde(default)]
    pub judgements: Vec<Judgement>,
    /// Why its numbers are not used although it completed; empty for a valid run.
    #[serde(default)]
    pub invalid: Vec<String>,
}

impl RunRecord {
    /// Whether its numbers may be used: it completed, and no evidence speaks against it.
    pub fn is_valid(&self) -> bool {
        self.outcome.is_completed() && self.invalid.is_empty()
    }

    /// A record with nothing measured yet.
    pub fn start(spec: RunSpec, fabric: Fabric, started_at_unix_ms: u64, outcome: Outcome) -> Self {
        let fabric_label = match fabric {
            Fabric::Verbs => "verbs".to_owned(),
            Fabric::Soft => match &spec.soft_model {
                // With blanks it can be wrapped, and it still reads back.
                Some(model) => format!("soft (model {})", model.to_string().replace(',', ", ")),
                None => "soft (raw: no link model)".to_owned(),
            },
        };
        RunRecord {
            schema_version: SCHEMA_VERSION,
            started_at_unix_ms,
            wall_ns: Nanos(0),
            fabric,
            fabric_label,
            outcome,
            spec,
            granted: None,
            requester: None,
            responder: None,
            points: Vec::new(),
            start_up: None,
            evidence: Vec::new(),
            judgements: Vec::new(),
            invalid: Vec::new(),
        }
    }
}
