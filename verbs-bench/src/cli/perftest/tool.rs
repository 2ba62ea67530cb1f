//! The eight programs of perftest that have a counterpart here, and the defaults each of them has.

use schema::{Op, Test, Transport};

/// One program of perftest: `write-bw` here is `ib_write_bw` there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tool {
    /// The subcommand.
    pub(super) name: &'static str,
    /// One line of help.
    pub(super) about: &'static str,
    /// The verb without further flags.
    pub(super) op: Op,
    /// Bandwidth or latency.
    pub(super) test: Test,
}

const fn tool(name: &'static str, about: &'static str, op: Op, test: Test) -> Tool {
    Tool { name, about, op, test }
}

/// All, in perftest's order.
pub(super) const TOOLS: [Tool; 8] = [
    tool("write-bw", "RDMA WRITE bandwidth with ib_write_bw's letters and table", Op::Write, Test::Bandwidth),
    tool("write-lat", "RDMA WRITE latency with ib_write_lat's letters and table", Op::Write, Test::Latency),
    tool("read-bw", "RDMA READ bandwidth with ib_read_bw's letters and table", Op::Read, Test::Bandwidth),
    tool("read-lat", "RDMA READ latency with ib_read_lat's letters and table", Op::Read, Test::Latency),
    tool("send-bw", "SEND bandwidth with ib_send_bw's letters and table", Op::Send, Test::Bandwidth),
    tool("send-lat", "SEND latency with ib_send_lat's letters and table", Op::Send, Test::Latency),
    tool(
        "atomic-bw",
        "Atomic bandwidth with ib_atomic_bw's letters and table",
        Op::FetchAdd,
        Test::Bandwidth,
    ),
    tool("atomic-lat", "Atomic latency with ib_atomic_lat's letters and table", Op::FetchAdd, Test::Latency),
];

impl Tool {
    pub(super) fn is_bw(self) -> bool {
        self.test == Test::Bandwidth
    }

    pub(super) fn is_lat(self) -> bool {
        self.test == Test::Latency
    }

    pub(super) fn writes(self) -> bool {
        self.op == Op::Write
    }

    pub(super) fn sends(self) -> bool {
        self.op == Op::Send
    }

    /// Whether data comes back: reads and atomics.
    pub(super) fn fetches(self) -> bool {
        self.op.fetches()
    }

    pub(super) fn is_atomic(self) -> bool {
        self.op.is_atomic()
    }

    /// Message size without `-s`.
    pub(super) fn default_size(self) -> u64 {
        match self.test {
            _ if self.is_atomic() => 8,
            Test::Bandwidth => 65_536,
            Test::Latency => 2,
        }
    }

    /// Exchanges without `-n`.
    pub(super) fn default_iterations(self) -> u64 {
        if self.writes() && self.is_bw() { 5_000 } else { 1_000 }
    }

    /// Inline limit without `-I`, where perftest knows the device: by the verb, and of sends by the transport.
    pub(super) fn default_inline(self, transport: Transport) -> u32 {
        match self.test {
            Test::Bandwidth => 0,
            Test::Latency if self.fetches() => 0,
            Test::Latency if self.writes() => 220,
            Test::Latency if transport == Transport::Ud => 188,
            Test::Latency => 236,
        }
    }
}
