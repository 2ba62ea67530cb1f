//! What is posted, over what, and through which call: the operation, the transport and the posting API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Test, word_enum};

word_enum! {
    /// The verb that carries the messages.
    Op {
        /// RDMA WRITE.
        Write = "write",
        /// RDMA WRITE WITH IMMEDIATE: a write that also consumes a receive of the responder.
        WriteImm = "write_imm",
        /// RDMA READ: the requester fetches from the responder.
        Read = "read",
        /// SEND into a receive that the responder posted.
        Send = "send",
        /// Atomic fetch-and-add of 1 on a 64-bit counter of the responder.
        FetchAdd = "fetch_add",
        /// Atomic compare-and-swap on a 64-bit counter of the responder, each swap expecting the one before it.
        CompareSwap = "compare_swap",
    }
}

word_enum! {
    /// Transport service of the QPs.
    #[derive(Default)]
    Transport {
        /// Reliable connection: acknowledged, retransmitted.
        #[default]
        Rc = "rc",
        /// Unreliable connection: connected, never acknowledged; what is lost is counted.
        Uc = "uc",
        /// Unreliable datagram: one packet a message; what is lost is counted.
        Ud = "ud",
    }
}

word_enum! {
    /// The calls by which work requests are posted and completions taken.
    #[derive(Default)]
    PostApi {
        /// `ibv_post_send` and `ibv_poll_cq`.
        #[default]
        Classic = "classic",
        /// `ibv_wr_*` on an `ibv_qp_ex` and `ibv_start_poll` on an `ibv_cq_ex`.
        Extended = "extended",
    }
}

word_enum! {
    /// Who brings the QPs to life.
    #[derive(Default)]
    ConnectBy {
        /// Our handshake over TCP carries what the QPs must know of each other.
        #[default]
        Tcp = "tcp",
        /// rdma_cm resolves address and route, and moves the QPs (perftest -R); the handshake over TCP carries the plan only.
        RdmaCm = "rdma_cm",
    }
}

word_enum! {
    /// Whether a run follows another tool's method instead of ours, for cross-checks.
    #[derive(Default)]
    Compat {
        /// Our own method.
        #[default]
        None = "none",
        /// perftest's: no warm-up, own completions of the latency test awaited on the critical path, time from the first
        /// post to the last completion.
        Perftest = "perftest",
    }
}

impl Op {
    /// Whether the transport carries it (InfiniBand Architecture Specification, volume 1, table 49).
    pub fn is_carried_by(self, transport: Transport) -> bool {
        match transport {
            Transport::Rc => true,
            Transport::Uc => matches!(self, Op::Write | Op::WriteImm | Op::Send),
            Transport::Ud => self == Op::Send,
        }
    }

    /// Whether each message consumes a receive that its target posted.
    pub fn consumes_receives(self) -> bool {
        matches!(self, Op::Send | Op::WriteImm)
    }

    /// Whether it works on a 64-bit counter.
    pub fn is_atomic(self) -> bool {
        matches!(self, Op::FetchAdd | Op::CompareSwap)
    }

    /// Whether its answer carries data back: reads and atomics, which `outstanding_reads` limits.
    pub fn fetches(self) -> bool {
        self == Op::Read || self.is_atomic()
    }

    /// Whether the latency test polls memory for the last byte, so that writes must land in order.
    pub fn is_polled_in_memory(self, test: Test) -> bool {
        test == Test::Latency && self == Op::Write
    }
}
