//! RunRecord: one measurement as it happened; what was asked, what was granted, where it ran, and every sample.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    SCHEMA_VERSION,
    histogram::{EncodedHistogram, LatencySummary},
    host::HostFacts,
    outcome::{Outcome, Side},
    spec::{Op, RunSpec, Test},
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
}

/// Where one side ran, as asked and as verified by the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PlacementRecord {
    /// As asked: auto, none or a list.
    pub cpu_asked: String,
    /// The CPU the polling thread was pinned to; null when not pinned.
    pub cpu_pinned: Option<u32>,
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
    /// Bytes of the target that were compared with what was sent: every slot of every QP, once.
    pub checked_bytes: Bytes,
    /// Bytes that differed. A run with any is failed.
    pub wrong_bytes: Bytes,
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
    /// The check of the written bytes, made before WarmUp; null when the spec switched it off.
    pub data_check: Option<DataCheck>,
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
}

impl RunRecord {
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
        }
    }
}
