//! RunSpec: everything one measurement between two processes needs to know, with nothing left to a default.
//!
//! The requester's side sends it whole; the responder takes no flags about the test. It is what was *asked*; what
//! the device *granted* stands beside it in the record.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    SCHEMA_VERSION,
    soft::{SoftFault, SoftModel},
    units::{Bytes, Nanos, UnitError},
};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// A window of `tx_depth` messages kept full; bits per second, messages per second, and latency under that load.
    Bandwidth,
    /// A ping-pong of one message; half the round trip.
    Latency,
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Test::Bandwidth => "bandwidth",
            Test::Latency => "latency",
        })
    }
}

/// The verb that carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// RDMA WRITE on a reliable connection (RC).
    Write,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Op::Write => "write",
        })
    }
}

/// When the Measure phase ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After this long, at the next completion.
    DurationNs(Nanos),
    /// After exactly this many messages.
    Iterations(u64),
}

/// Which CPU the polling thread is pinned to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum CpuChoice {
    /// The NIC's node, an isolated core first, a whole physical core, not one that takes the NIC's interrupts.
    #[default]
    Auto,
    /// Not pinned: the scheduler decides.
    None,
    /// These CPUs, in this order; the polling thread takes the first.
    List(Vec<u32>),
}

/// Which NUMA node the message buffers lie on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum NodeChoice {
    /// The node of the pinned CPU, else of the NIC, else as the kernel likes.
    #[default]
    Auto,
    /// Not bound: first touch decides.
    None,
    /// This node.
    Node(u32),
}

impl FromStr for CpuChoice {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.trim() {
            "auto" => Ok(CpuChoice::Auto),
            "none" => Ok(CpuChoice::None),
            list => parse_cpu_list(list).map(CpuChoice::List),
        }
    }
}

/// Reads the kernel's list format (`0-3,8`), keeping the order as written.
fn parse_cpu_list(list: &str) -> Result<Vec<u32>, UnitError> {
    let bad = || UnitError(format!("CPU list `{list}`: write auto, none, or a list such as `2` or `2-3,8`"));
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| bad())?;
        let last: u32 = last.trim().parse().map_err(|_| bad())?;
        if first > last || last - first > 4096 {
            return Err(bad());
        }
        for cpu in first..=last {
            if cpus.contains(&cpu) {
                return Err(UnitError(format!("CPU list `{list}` names CPU {cpu} twice")));
            }
            cpus.push(cpu);
        }
    }
    Ok(cpus)
}

impl fmt::Display for CpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CpuChoice::Auto => f.pad("auto"),
            CpuChoice::None => f.pad("none"),
            CpuChoice::List(cpus) => f.pad(&cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

impl FromStr for NodeChoice {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.trim() {
            "auto" => Ok(NodeChoice::Auto),
            "none" => Ok(NodeChoice::None),
            node => node.parse().map(NodeChoice::Node).map_err(|_| {
                UnitError(format!("memory node `{text}`: write auto, none, or a NUMA node number"))
            }),
        }
    }
}

impl fmt::Display for NodeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeChoice::Auto => f.pad("auto"),
            NodeChoice::None => f.pad("none"),
            NodeChoice::Node(node) => f.pad(&node.to_string()),
        }
    }
}

macro_rules! serde_as_text {
    ($type:ty) => {
        impl TryFrom<String> for $type {
            type Error = UnitError;
            fn try_from(text: String) -> Result<Self, UnitError> {
                text.parse()
            }
        }
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }
    };
}
serde_as_text!(CpuChoice);
serde_as_text!(NodeChoice);

/// What one side of the run is asked to use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SideSpec {
    /// `auto` (the first usable RDMA device), `soft` (the software NIC), or a device name such as `mlx5_0`.
    pub device: String,
    /// Port of the device, counted from 1.
    pub port_num: u8,
    /// GID table index; absent lets the side choose by its route to the peer, and record why.
    pub gid_index: Option<u32>,
    /// Where the polling thread runs.
    pub cpu: CpuChoice,
    /// Where the message buffers lie.
    pub memory_node: NodeChoice,
}

impl Default for SideSpec {
    fn default() -> Self {
        SideSpec {
            device: "auto".into(),
            port_num: 1,
            gid_index: None,
            cpu: CpuChoice::Auto,
            memory_node: NodeChoice::Auto,
        }
    }
}

/// One measurement between two processes, as asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Bandwidth or latency.
    pub test: Test,
    /// The verb.
    pub op: Op,
    /// Message sizes, one point each, in this order.
    pub msg_bytes: Vec<Bytes>,
    /// When the Measure phase ends.
    pub stop: Stop,
    /// Length of the WarmUp phase, whose samples are not kept.
    pub warmup_ns: Nanos,
    /// Length of one interval of the time series.
    pub interval_ns: Nanos,
    /// No progress for this long is an error with a name, never a hang.
    pub deadline_ns: Nanos,
    /// Work requests outstanding per QP (perftest -t).
    pub tx_depth: u32,
    /// Work requests handed over per doorbell (perftest -l).
    pub post_list: u32,
    /// Every n-th work request asks for a completion (perftest -Q).
    pub signal_interval: u32,
    /// Completions asked for per poll.
    pub cq_poll_batch: u32,
    /// Queue pairs (perftest -q).
    pub qp_count: u32,
    /// Messages up to this many bytes are posted inline (perftest -I); 0 never.
    pub max_inline_bytes: u32,
    /// Path MTU in bytes (perftest -m); absent takes the smaller of both ports' active MTU.
    pub path_mtu: Option<u32>,
    /// GRH traffic class, which carries the DSCP in its upper six bits.
    pub traffic_class: u8,
    /// Service level (perftest -S).
    pub service_level: u8,
    /// Local ACK timeout exponent: 4.096 us * 2^n (perftest -u).
    pub qp_timeout: u8,
    /// Retries after a local ACK timeout before a work request fails.
    pub retry_count: u8,
    /// Whether every slot is written once before WarmUp and every byte compared.
    #[serde(default = "checked")]
    pub data_check: bool,
    /// The side that posts.
    pub requester: SideSpec,
    /// The side that is written to.
    pub responder: SideSpec,
    /// Link model of the software NIC; absent is raw (as fast as cores and memory go). Only with device `soft`.
    pub soft_model: Option<SoftModel>,
    /// Faults the software NIC shall show. Only with device `soft`.
    pub soft_fault: Option<SoftFault>,
}

impl RunSpec {
    /// The defaults of a test, every one of them visible in the record.
    pub fn new(test: Test) -> Self {
        // 32 bytes inline is what every provider grants; a small latency message otherwise pays for a fetch by the NIC.
        let (msg_bytes, tx_depth, max_inline_bytes) = match test {
            Test::Bandwidth => (Bytes(65_536), 128, 0),
            Test::Latency => (Bytes(8), 1, 32),
        };
        RunSpec {
            schema_version: SCHEMA_VERSION,
            test,
            op: Op::Write,
            msg_bytes: vec![msg_bytes],
            stop: Stop::DurationNs(Nanos(2_000_000_000)),
            warmup_ns: Nanos(200_000_000),
            interval_ns: Nanos(100_000_000),
            deadline_ns: Nanos(3_000_000_000),
            tx_depth,
            post_list: 1,
            signal_interval: 1,
            cq_poll_batch: 16,
            qp_count: 1,
            max_inline_bytes,
            path_mtu: None,
            traffic_class: 0,
            service_level: 0,
            qp_timeout: 14,
            retry_count: 7,
            data_check: true,
            requester: SideSpec::default(),
            responder: SideSpec::default(),
            soft_model: None,
            soft_fault: None,
        }
    }

    /// Checks what can be known without a device. Each fault names its field; nothing is corrected.
    pub fn faults(&self) -> Vec<SpecFault> {
        let mut faults = Vec::new();
        let mut fault = |field: &'static str, what: String| faults.push(SpecFault { field, what });
        if self.schema_version != SCHEMA_VERSION {
            fault(
                "schema_version",
                format!(
                    "is {}, this build reads {SCHEMA_VERSION}; use the same release on both sides",
                    self.schema_version
                ),
            );
        }
        if self.msg_bytes.is_empty() {
            fault("msg_bytes", "is empty; give at least one message size".into());
        }
        for size in &self.msg_bytes {
            if size.get() == 0 {
                fault("msg_bytes", "0 is not a message size; the smallest is 1".into());
            } else if size.get() > MAX_MSG_BYTES.get() {
                fault("msg_bytes", format!("{size} is above the largest RDMA message, {MAX_MSG_BYTES}"));
            }
        }
        for (n, size) in self.msg_bytes.iter().enumerate() {
            if self.msg_bytes[..n].contains(size) {
                fault("msg_bytes", format!("{size} is given twice"));
            }
        }
        match self.stop {
            Stop::DurationNs(Nanos(0)) => fault("duration", "0 is no duration".into()),
            Stop::Iterations(0) => fault("iterations", "0 measures nothing".into()),
            _ => {}
        }
        for (field, value) in [("interval", self.interval_ns), ("deadline", self.deadline_ns)] {
            if value.get() < 1_000_000 {
                fault(field, format!("{value} is below the smallest, 1ms"));
            }
        }
        for (field, value, most) in [
            ("tx_depth", self.tx_depth, 32_768),
            ("post_list", self.post_list, 32_768),
            ("signal_interval", self.signal_interval, 32_768),
            ("cq_poll_batch", self.cq_poll_batch, 4_096),
            ("qp_count", self.qp_count, 16_384),
        ] {
            if value == 0 || value > most {
                fault(field, format!("{value} is outside 1..={most}"));
            }
        }
        if self.post_list > self.tx_depth {
            fault(
                "post_list",
                format!(
                    "{} is more than tx_depth {}; it could never be posted",
                    self.post_list, self.tx_depth
                ),
            );
        }
        if self.signal_interval > self.tx_depth {
            fault(
                "signal_interval",
                format!(
                    "{} is more than tx_depth {}; the window would fill without a completion to free it",
                    self.signal_interval, self.tx_depth
                ),
            );
        } else if self.post_list <= self.tx_depth && self.window_can_stall() {
            fault(
                "signal_interval",
                format!(
                    "{} with post_list {} can fill tx_depth {} without a completion to free it; make signal_interval a multiple or a divisor of post_list, or tx_depth larger",
                    self.signal_interval, self.post_list, self.tx_depth
                ),
            );
        }
        if self.test == Test::Latency {
            for (field, value) in [
                ("post_list", self.post_list),
                ("signal_interval", self.signal_interval),
                ("qp_count", self.qp_count),
                ("tx_depth", self.tx_depth),
            ] {
                if value > 1 {
                    fault(
                        field,
                        format!(
                            "{value} has no meaning for a latency test, which has one message in flight; leave it at 1"
                        ),
                    );
                }
            }
        }
        if let Some(mtu) = self.path_mtu
            && ![256, 512, 1024, 2048, 4096].contains(&mtu)
        {
            fault("path_mtu", format!("{mtu} is not an RDMA path MTU; use 256, 512, 1024, 2048 or 4096"));
        }
        for (field, value, most) in [
            ("service_level", self.service_level, 15),
            ("qp_timeout", self.qp_timeout, 31),
            ("retry_count", self.retry_count, 7),
        ] {
            if value > most {
                fault(field, format!("{value} is outside 0..={most}"));
            }
        }
        for (field, side) in [("requester", &self.requester), ("responder", &self.responder)] {
            if side.port_num == 0 {
                fault(field, "port_num 0 is not a port; ports count from 1".into());
            }
            if side.gid_index.is_some_and(|index| index > 255) {
                fault("gid_index", format!("{} is outside 0..=255", side.gid_index.unwrap_or_default()));
            }
            if side.device.is_empty() {
                fault(field, "device is empty; write auto, soft or a device name".into());
            }
        }
        let soft = self.requester.device == "soft";
        if soft != (self.responder.device == "soft") && self.responder.device != "auto" {
            fault(
                "responder",
                "one side is the software NIC and the other is not; they cannot talk to each other".into(),
            );
        }
        if !soft && self.soft_model.is_some() {
            fault("soft_model", "is given, but the device is not `soft`".into());
        }
        if !soft && self.soft_fault.is_some() {
            fault("soft_fault", "is given, but the device is not `soft`".into());
        }
        faults
    }

    /// Whether the window can fill with unsignaled work requests only, so that no completion ever frees it.
    ///
    /// Work requests posted since the last signaled one come in multiples of g = gcd(signal_interval, post_list); the
    /// largest count without a signal is signal_interval - g, and posting stops above tx_depth - post_list.
    fn window_can_stall(&self) -> bool {
        let (s, l, t) =
            (u64::from(self.signal_interval), u64::from(self.post_list), u64::from(self.tx_depth));
        if s == 0 || l == 0 {
            return false;
        }
        s - gcd(s, l) + l > t
    }
}

/// Data is checked unless a spec says otherwise.
fn checked() -> bool {
    true
}

/// The largest message the RC transport carries: 2^31 bytes.
pub const MAX_MSG_BYTES: Bytes = Bytes(1 << 31);

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// One thing wrong with a [`RunSpec`]: the field, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {what}")]
pub struct SpecFault {
    /// The field as it is spelled in JSON and TOML.
    pub field: &'static str,
    /// What is wrong and what to do.
    pub what: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bandwidth(change: impl FnOnce(&mut RunSpec)) -> Vec<&'static str> {
        let mut spec = RunSpec::new(Test::Bandwidth);
        change(&mut spec);
        spec.faults().into_iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn the_defaults_have_no_fault() {
        assert_eq!(RunSpec::new(Test::Bandwidth).faults(), []);
        assert_eq!(RunSpec::new(Test::Latency).faults(), []);
    }

    #[test]
    fn each_fault_names_its_field() {
        assert_eq!(bandwidth(|s| s.msg_bytes = vec![Bytes(0)]), ["msg_bytes"]);
        assert_eq!(bandwidth(|s| s.tx_depth = 0), ["tx_depth", "post_list", "signal_interval"]);
        assert_eq!(bandwidth(|s| s.post_list = 129), ["post_list"]);
        assert_eq!(bandwidth(|s| s.signal_interval = 129), ["signal_interval"]);
        assert_eq!(bandwidth(|s| s.requester.gid_index = Some(257)), ["gid_index"]);
        assert_eq!(bandwidth(|s| s.path_mtu = Some(1500)), ["path_mtu"]);
        assert_eq!(bandwidth(|s| s.soft_model = Some("latency=1us".parse().unwrap())), ["soft_model"]);
    }

    #[test]
    fn cpu_lists_keep_their_order() {
        assert_eq!("3,0-1".parse(), Ok(CpuChoice::List(vec![3, 0, 1])));
        assert!("3-1".parse::<CpuChoice>().is_err());
        assert!("1,1".parse::<CpuChoice>().is_err());
        assert!("x".parse::<CpuChoice>().is_err());
        assert_eq!(CpuChoice::List(vec![3, 0, 1]).to_string(), "3,0,1");
    }

    /// Plays the window out: posts lists while they fit, completes everything up to the last signaled request.
    fn window_stalls(s: u32, l: u32, t: u32) -> bool {
        let (mut posted, mut credited) = (0u64, 0u64);
        for _ in 0..4 * u64::from(s) * u64::from(l) {
            while posted - credited + u64::from(l) <= u64::from(t) {
                posted += u64::from(l);
            }
            let signaled = posted - posted % u64::from(s);
            if signaled <= credited {
                return true;
            }
            credited += u64::from(s);
        }
        false
    }

    proptest! {
        #[test]
        fn the_stall_rule_agrees_with_the_played_window(t in 1u32..96, l in 1u32..96, s in 1u32..96) {
            prop_assume!(l <= t && s <= t);
            let mut spec = RunSpec::new(Test::Bandwidth);
            (spec.tx_depth, spec.post_list, spec.signal_interval) = (t, l, s);
            prop_assert_eq!(spec.window_can_stall(), window_stalls(s, l, t));
        }
    }
}
