//! What is posted, how much of it, and for how long.

use clap::{Args, ValueEnum};
use schema::{Bytes, Compat, Nanos, Op, PostApi, RunSpec, Stop, Test, Transport};

use super::{set, word};

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TestArg {
    /// A full window of messages: bits per second, messages per second, latency under load
    Bandwidth,
    /// Ping-pong of one message: half the round trip; of reads and atomics the whole
    Latency,
}

/// What is posted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(in crate::cli) struct LoadFlags {
    /// What to measure
    #[arg(long, value_enum, default_value = "bandwidth")]
    test: TestArg,
    /// The verb: write, write_imm, read, send, fetch_add, compare_swap
    #[arg(long, default_value = "write", value_parser = word::<Op>)]
    op: Op,
    /// Transport service: rc, uc (writes, send) or ud (send) [default: rc]
    #[arg(short = 'c', long, value_parser = word::<Transport>)]
    transport: Option<Transport>,
    /// Calls of the hot loop: classic (ibv_post_send) or extended (ibv_wr_*) [default: classic]
    #[arg(long, value_parser = word::<PostApi>)]
    post_api: Option<PostApi>,
    /// Message size; may be given several times, one point each [default: 64Ki bandwidth, 8 latency and atomics]
    #[arg(short = 's', long)]
    size: Vec<Bytes>,
    /// Length of the Measure phase [default: 2s]
    #[arg(short = 'D', long, conflicts_with = "iterations")]
    duration: Option<Nanos>,
    /// Messages in the Measure phase, instead of a duration
    #[arg(short = 'n', long)]
    iterations: Option<u64>,
    /// Length of the WarmUp phase [default: 200ms]
    #[arg(long)]
    warmup: Option<Nanos>,
    /// Interval of the time series [default: 100ms]
    #[arg(long)]
    interval: Option<Nanos>,
    /// Without progress for this long the run fails [default: 3s]
    #[arg(long)]
    deadline: Option<Nanos>,
    /// Polling threads of each side, each with its own CQ and QPs [default: 1]
    #[arg(long)]
    threads: Option<u32>,
    /// Queue pairs of each thread [default: 1]
    #[arg(short = 'q', long)]
    qp_count: Option<u32>,
    /// The responder sends to the requester at the same time
    #[arg(short = 'b', long)]
    bidirectional: bool,
    /// Work requests outstanding per QP [default: 128 bandwidth, 1 latency]
    #[arg(short = 't', long)]
    tx_depth: Option<u32>,
    /// Receives kept posted per QP, where messages consume them [default: 512]
    #[arg(short = 'r', long)]
    rx_depth: Option<u32>,
    /// Reads and atomics outstanding per QP [default: what both devices bear]
    #[arg(short = 'o', long)]
    outstanding_reads: Option<u8>,
    /// Work requests per doorbell [default: 1]
    #[arg(short = 'l', long)]
    post_list: Option<u32>,
    /// Every n-th work request asks for a completion [default: 1]
    #[arg(short = 'Q', long)]
    signal_interval: Option<u32>,
    /// Post messages up to this many bytes inline [default: 0 bandwidth, 32 latency]
    #[arg(short = 'I', long)]
    inline: Option<u32>,
    /// Completions carry the device's time, which splits NIC from software time; needs --post-api extended
    #[arg(long)]
    completion_timestamps: bool,
    /// Another tool's method, for cross-checks: none or perftest [default: none]
    #[arg(long, value_parser = word::<Compat>)]
    compat: Option<Compat>,
}

impl LoadFlags {
    /// The defaults of the test and the verb, and what the flags say over them.
    pub(super) fn spec(&self) -> RunSpec {
        let test = match self.test {
            TestArg::Bandwidth => Test::Bandwidth,
            TestArg::Latency => Test::Latency,
        };
        let mut spec = RunSpec::with_op(test, self.op);
        if !self.size.is_empty() {
            spec.msg_bytes.clone_from(&self.size);
        }
        match (self.iterations, self.duration) {
            (Some(count), _) => spec.stop = Stop::Iterations(count),
            (None, Some(duration)) => spec.stop = Stop::DurationNs(duration),
            (None, None) => {}
        }
        set(&mut spec.transport, &self.transport);
        set(&mut spec.post_api, &self.post_api);
        set(&mut spec.warmup_ns, &self.warmup);
        set(&mut spec.interval_ns, &self.interval);
        set(&mut spec.deadline_ns, &self.deadline);
        set(&mut spec.threads, &self.threads);
        set(&mut spec.qp_count, &self.qp_count);
        set(&mut spec.tx_depth, &self.tx_depth);
        set(&mut spec.rx_depth, &self.rx_depth);
        set(&mut spec.post_list, &self.post_list);
        set(&mut spec.signal_interval, &self.signal_interval);
        set(&mut spec.max_inline_bytes, &self.inline);
        set(&mut spec.compat, &self.compat);
        spec.bidirectional = self.bidirectional;
        spec.outstanding_reads = self.outstanding_reads;
        spec.completion_timestamps = self.completion_timestamps;
        spec
    }
}
