//! `verbs-bench run`: flags to RunSpec, a responder if none is given, the record as a table or as JSON.

use std::{
    fs,
    io::{self, IsTerminal, Read},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use schema::{
    Bytes, CpuChoice, Nanos, NodeChoice, Op, Outcome, RunRecord, RunSpec, SideSpec, SoftFault, SoftModel,
    Stop, Test,
};

use super::{EXIT_FAILED, EXIT_USAGE, complain, table};
use crate::{
    connect::{auth::Token, socket::with_default_port},
    session::{self, local::LocalResponder},
};

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TestArg {
    /// A full window of messages: bits per second, messages per second, latency under load
    Bandwidth,
    /// Ping-pong of one message: half the round trip
    Latency,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OpArg {
    /// RDMA WRITE on a reliable connection
    Write,
}

/// Flags of `run`. perftest's short letters work: -d -s -n -D -t -l -Q -q -m -x -I -S -u.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  verbs-bench run --device soft --test latency
  verbs-bench run --device soft --test bandwidth -s 64Ki --soft-model latency=2us,rate=100Gbps
  verbs-bench run --peer 10.0.0.2 --test bandwidth -s 8 -s 64Ki -D 5s --json

Sizes: 64Ki, 1Mi (binary). Durations: 2s, 500ms. Rates: 100Gbps (decimal).
Exit codes: 0 measured, 2 refused before anything ran, 3 could not measure.")]
pub(super) struct Run {
    /// Responder as ADDR[:PORT] (port 18515 if none is given); without it a responder is started on this host
    #[arg(long, value_name = "ADDR:PORT")]
    peer: Option<String>,
    /// RunSpec JSON from a file, or from standard input with `-`, instead of the flags about the test
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["test", "size", "duration", "iterations"])]
    spec: Option<String>,
    /// What to measure
    #[arg(long, value_enum, default_value = "bandwidth")]
    test: TestArg,
    /// The verb
    #[arg(long, value_enum, default_value = "write")]
    op: OpArg,
    /// Message size; may be given several times, one point each [default: 64Ki bandwidth, 8 latency]
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
    /// Work requests outstanding per QP [default: 128 bandwidth, 1 latency]
    #[arg(short = 't', long)]
    tx_depth: Option<u32>,
    /// Work requests per doorbell [default: 1]
    #[arg(short = 'l', long)]
    post_list: Option<u32>,
    /// Every n-th work request asks for a completion [default: 1]
    #[arg(short = 'Q', long)]
    signal_interval: Option<u32>,
    /// Completions per poll [default: 16]
    #[arg(long)]
    cq_poll_batch: Option<u32>,
    /// Queue pairs [default: 1]
    #[arg(short = 'q', long)]
    qp_count: Option<u32>,
    /// Path MTU in bytes [default: the smaller of both ports' active MTU]
    #[arg(short = 'm', long)]
    path_mtu: Option<u32>,
    /// Post messages up to this many bytes inline [default: 0 bandwidth, 32 latency]
    #[arg(short = 'I', long, alias = "inline")]
    inline: Option<u32>,
    /// GRH traffic class; the DSCP is its upper six bits [default: 0]
    #[arg(long)]
    traffic_class: Option<u8>,
    /// Service level [default: 0]
    #[arg(short = 'S', long)]
    service_level: Option<u8>,
    /// Local ACK timeout exponent, 4.096us * 2^n [default: 14]
    #[arg(short = 'u', long)]
    qp_timeout: Option<u8>,
    /// Retries after an ACK timeout [default: 7]
    #[arg(long)]
    retry_count: Option<u8>,
    /// auto, soft, or a device name
    #[arg(short = 'd', long, default_value = "auto")]
    device: String,
    /// Device of the responder [default: soft with soft, else what `serve --device` says, else auto]
    #[arg(long)]
    peer_device: Option<String>,
    /// Port of the device, from 1
    #[arg(short = 'i', long, default_value_t = 1)]
    ib_port: u8,
    /// GID index of the requester [default: chosen by the route to the peer]
    #[arg(short = 'x', long)]
    gid_index: Option<u32>,
    /// GID index of the responder [default: chosen by the route to the peer]
    #[arg(long)]
    peer_gid_index: Option<u32>,
    /// CPU of the polling thread: auto, none, or a list
    #[arg(long, default_value = "auto")]
    cpu: CpuChoice,
    /// CPU of the responder's polling thread
    #[arg(long, default_value = "auto")]
    peer_cpu: CpuChoice,
    /// NUMA node of the message buffers: auto, none, or a node
    #[arg(long, default_value = "auto")]
    memory_node: NodeChoice,
    /// NUMA node of the responder's message buffers
    #[arg(long, default_value = "auto")]
    peer_memory_node: NodeChoice,
    /// Link model of the software NIC, e.g. latency=2us,jitter=uniform:500ns,rate=100Gbps [default: raw]
    #[arg(long)]
    soft_model: Option<SoftModel>,
    /// Faults of the software NIC, e.g. error=RETRY_EXC_ERR@1000 or stall=5ms/100ms
    #[arg(long)]
    soft_fault: Option<SoftFault>,
    /// File with the token that `serve --token-file` was given
    #[arg(long, value_name = "FILE", env = "VERBS_BENCH_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Do not write and compare every byte once before the measurement; for providers that move no data
    #[arg(long)]
    no_data_check: bool,
    /// Print one RunRecord as JSON on stdout, and nothing else
    #[arg(long)]
    json: bool,
    /// End when the process PID, which starts this one, ends
    #[arg(long, value_name = "PID")]
    exit_with_parent: Option<u32>,
}

impl Run {
    pub(super) fn execute(self) -> u8 {
        if let Some(parent) = self.exit_with_parent {
            session::local::exit_with_parent(parent);
        }
        match self.prepare() {
            Err(faults) => {
                faults.iter().for_each(complain);
                EXIT_USAGE
            }
            Ok((spec, token)) => self.measure(spec, token),
        }
    }

    /// All that can be refused before anything is touched.
    fn prepare(&self) -> Result<(RunSpec, Option<Token>), Vec<String>> {
        let spec = match &self.spec {
            Some(from) => read_spec(from).map_err(|error| vec![error])?,
            None => self.spec(),
        };
        let faults = spec.faults();
        if !faults.is_empty() {
            return Err(faults.iter().map(|fault| format!("{} ({})", flag_of(fault.field), fault)).collect());
        }
        session::preflight::host_side(&spec, self.peer.is_none()).map_err(|error| vec![error])?;
        let token = self.token_file.as_deref().map(Token::read).transpose().map_err(|error| vec![error])?;
        Ok((spec, token))
    }

    fn spec(&self) -> RunSpec {
        let test = match self.test {
            TestArg::Bandwidth => Test::Bandwidth,
            TestArg::Latency => Test::Latency,
        };
        let OpArg::Write = self.op;
        let mut spec = RunSpec::new(test);
        let base = spec.clone();
        spec.op = Op::Write;
        if !self.size.is_empty() {
            spec.msg_bytes.clone_from(&self.size);
        }
        spec.stop = match (self.iterations, self.duration) {
            (Some(count), _) => Stop::Iterations(count),
            (None, Some(duration)) => Stop::DurationNs(duration),
            (None, None) => base.stop,
        };
        spec.warmup_ns = self.warmup.unwrap_or(base.warmup_ns);
        spec.interval_ns = self.interval.unwrap_or(base.interval_ns);
        spec.deadline_ns = self.deadline.unwrap_or(base.deadline_ns);
        spec.tx_depth = self.tx_depth.unwrap_or(base.tx_depth);
        spec.post_list = self.post_list.unwrap_or(base.post_list);
        spec.signal_interval = self.signal_interval.unwrap_or(base.signal_interval);
        spec.cq_poll_batch = self.cq_poll_batch.unwrap_or(base.cq_poll_batch);
        spec.qp_count = self.qp_count.unwrap_or(base.qp_count);
        spec.path_mtu = self.path_mtu;
        spec.max_inline_bytes = self.inline.unwrap_or(base.max_inline_bytes);
        spec.traffic_class = self.traffic_class.unwrap_or(base.traffic_class);
        spec.service_level = self.service_level.unwrap_or(base.service_level);
        spec.qp_timeout = self.qp_timeout.unwrap_or(base.qp_timeout);
        spec.retry_count = self.retry_count.unwrap_or(base.retry_count);
        spec.requester = SideSpec {
            device: self.device.clone(),
            port_num: self.ib_port,
            gid_index: self.gid_index,
            cpu: self.cpu.clone(),
            memory_node: self.memory_node,
        };
        spec.responder = SideSpec {
            device: self.peer_device.clone().unwrap_or_else(|| self.default_peer_device()),
            port_num: self.ib_port,
            gid_index: self.peer_gid_index,
            cpu: self.peer_cpu.clone(),
            memory_node: self.peer_memory_node,
        };
        spec.data_check = !self.no_data_check;
        spec.soft_model.clone_from(&self.soft_model);
        spec.soft_fault.clone_from(&self.soft_fault);
        spec
    }

    /// A responder of our own uses our device; one elsewhere decides for itself.
    fn default_peer_device(&self) -> String {
        if self.device == "soft" || self.peer.is_none() { self.device.clone() } else { "auto".into() }
    }

    fn measure(&self, spec: RunSpec, token: Option<Token>) -> u8 {
        let quiet = self.json || !io::stderr().is_terminal();
        let progress = move |text: &str| {
            if !quiet {
                eprintln!("verbs-bench: {text}");
            }
        };
        let record = match &self.peer {
            Some(peer) => session::requester::run(&spec, &with_default_port(peer), token.as_ref(), &progress),
            None => match LocalResponder::start() {
                Ok(responder) => {
                    let record = session::requester::run(
                        &spec,
                        responder.address(),
                        Some(responder.token()),
                        &progress,
                    );
                    if !record.outcome.is_completed() {
                        responder.dismiss();
                    }
                    record
                }
                Err(fault) => session::requester::not_started(&spec, &fault),
            },
        };
        self.print(&record)
    }

    fn print(&self, record: &RunRecord) -> u8 {
        if self.json {
            match serde_json::to_string_pretty(record) {
                Ok(json) => println!("{json}"),
                Err(error) => complain(format!("the record cannot be written as JSON: {error}")),
            }
        } else {
            print!("{}", table::render(record));
        }
        if let outcome @ (Outcome::Failed { .. } | Outcome::Skipped { .. }) = &record.outcome {
            complain(outcome);
            return EXIT_FAILED;
        }
        0
    }
}

fn read_spec(from: &str) -> Result<RunSpec, String> {
    let text = if from == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| format!("standard input: {error}"))?;
        text
    } else {
        fs::read_to_string(from).map_err(|error| format!("spec file {from}: {error}"))?
    };
    let mut reader = serde_json::Deserializer::from_str(&text);
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| format!("spec {from}: field `{}`: {}", error.path(), error.inner()))
}

/// The flag that sets a field of the spec, as a user would type it.
fn flag_of(field: &str) -> String {
    match field {
        "msg_bytes" => "--size".into(),
        "max_inline_bytes" => "--inline".into(),
        "requester" => "--device, --ib-port".into(),
        "responder" => "--peer-device".into(),
        field => format!("--{}", field.replace('_', "-")),
    }
}
