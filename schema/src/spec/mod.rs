//! RunSpec: everything one measurement between two processes needs to know, with nothing left to a default.
//!
//! The requester's side sends it whole; the responder takes no flags about the test. It is what was *asked*; what
//! the device *granted* stands beside it in the record.

mod faults;
mod pace;
mod resource;
mod side;
mod verb;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    SCHEMA_VERSION,
    soft::{SoftFault, SoftModel},
    units::{Bytes, Nanos},
};

pub use faults::{MAX_MSG_BYTES, SpecFault};
pub use pace::{Arrivals, DEFAULT_SEED, Pace, Rate};
pub use resource::{Pages, Wait};
pub use side::{CpuChoice, NodeChoice, SideSpec};
pub use verb::{Compat, ConnectBy, Op, PostApi, Transport};

/// Carries a type with `FromStr` and `Display` as text in JSON.
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
use serde_as_text;

/// An enum of bare words: one spelling in JSON, in TOML, on the command line and in reports.
macro_rules! word_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$word_meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$word_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All, in the order of the documentation.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The word.
            pub const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::units::UnitError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|known| known.word() == text.trim()).ok_or_else(|| {
                    let words: Vec<_> = Self::ALL.iter().map(|known| known.word()).collect();
                    crate::units::UnitError(format!("`{text}` is not one of {}", words.join(", ")))
                })
            }
        }
    };
}
pub(crate) use word_enum;

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

/// When the Measure phase ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After this long, at the next completion.
    DurationNs(Nanos),
    /// After exactly this many messages.
    Iterations(u64),
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
    /// Transport service of the QPs (perftest -c).
    #[serde(default)]
    pub transport: Transport,
    /// Classic or extended verbs.
    #[serde(default)]
    pub post_api: PostApi,
    /// Who moves the QPs to RTS.
    #[serde(default)]
    pub connect_by: ConnectBy,
    /// Whether the responder sends to the requester at the same time (perftest -b). Bandwidth only.
    #[serde(default)]
    pub bidirectional: bool,
    /// When messages are posted.
    #[serde(default)]
    pub pace: Pace,
    /// How threads wait for completions (perftest -e).
    #[serde(default)]
    pub wait: Wait,
    /// Completion vector of the completion channel, for waits that sleep (perftest -X).
    #[serde(default)]
    pub comp_vector: u32,
    /// Polling threads of each side; each has its own CQ, QPs and, where the device can, doorbell domain.
    #[serde(default = "one")]
    pub threads: u32,
    /// Work requests outstanding per QP (perftest -t).
    pub tx_depth: u32,
    /// Work requests handed over per doorbell (perftest -l).
    pub post_list: u32,
    /// Every n-th work request asks for a completion (perftest -Q).
    pub signal_interval: u32,
    /// Completions asked for per poll.
    pub cq_poll_batch: u32,
    /// Queue pairs of each thread (perftest -q).
    pub qp_count: u32,
    /// Receives kept posted per QP, where messages consume them (perftest -r).
    #[serde(default = "default_rx_depth")]
    pub rx_depth: u32,
    /// Reads and atomics outstanding per QP (perftest -o); absent takes what both devices bear.
    #[serde(default)]
    pub outstanding_reads: Option<u8>,
    /// Target memory that each QP's messages walk through; absent is one slot for each work request of a post list, at
    /// most 4 MiB.
    #[serde(default)]
    pub working_set_bytes: Option<Bytes>,
    /// From the start of one message in the working set to the next; absent is the message size, rounded up to a cache
    /// line, or from a page on to a page.
    #[serde(default)]
    pub stride_bytes: Option<Bytes>,
    /// Pages of the message buffers.
    #[serde(default)]
    pub pages: Pages,
    /// Whether the device's PCIe writes to the buffers may pass one another. Never where memory is polled.
    #[serde(default)]
    pub relaxed_ordering: bool,
    /// Whether completions carry the device's own time, which splits NIC time from software time. Extended API only.
    #[serde(default)]
    pub completion_timestamps: bool,
    /// Another tool's method, for cross-checks.
    #[serde(default)]
    pub compat: Compat,
    /// Messages up to this many bytes are posted inline (perftest -I); 0 never.
    pub max_inline_bytes: u32,
    /// Path MTU in bytes (perftest -m); absent takes the smaller of both ports' active MTU.
    pub path_mtu: Option<u32>,
    /// GRH traffic class, which carries the DSCP in its upper six bits.
    pub traffic_class: u8,
    /// Service level (perftest -S).
    pub service_level: u8,
    /// GRH flow label, 20 bits; 0 lets the device choose the UDP source port.
    #[serde(default)]
    pub flow_label: u32,
    /// Index in the port's partition key table.
    #[serde(default)]
    pub pkey_index: u16,
    /// Local ACK timeout exponent: 4.096 us * 2^n (perftest -u).
    pub qp_timeout: u8,
    /// Retries after a local ACK timeout before a work request fails.
    pub retry_count: u8,
    /// Whether data is compared: every slot once before WarmUp, and what the Measure phase left behind.
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
    /// The defaults of a test with another verb; an atomic works on 8 bytes.
    pub fn with_op(test: Test, op: Op) -> Self {
        let mut spec = RunSpec { op, ..RunSpec::new(test) };
        if op.is_atomic() {
            spec.msg_bytes = vec![Bytes(8)];
        }
        spec
    }

    /// QPs of each side, all threads.
    pub fn total_qps(&self) -> u32 {
        self.qp_count.saturating_mul(self.threads)
    }

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
            transport: Transport::Rc,
            post_api: PostApi::Classic,
            connect_by: ConnectBy::Tcp,
            bidirectional: false,
            pace: Pace::Closed,
            wait: Wait::Poll,
            comp_vector: 0,
            threads: 1,
            tx_depth,
            post_list: 1,
            signal_interval: 1,
            cq_poll_batch: 16,
            qp_count: 1,
            rx_depth: default_rx_depth(),
            outstanding_reads: None,
            working_set_bytes: None,
            stride_bytes: None,
            pages: Pages::Base,
            relaxed_ordering: false,
            completion_timestamps: false,
            compat: Compat::None,
            max_inline_bytes,
            path_mtu: None,
            traffic_class: 0,
            service_level: 0,
            flow_label: 0,
            pkey_index: 0,
            qp_timeout: 14,
            retry_count: 7,
            data_check: true,
            requester: SideSpec::default(),
            responder: SideSpec::default(),
            soft_model: None,
            soft_fault: None,
        }
    }
}

/// Data is checked unless a spec says otherwise.
fn checked() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn default_rx_depth() -> u32 {
    512
}
