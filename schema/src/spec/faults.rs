//! What is wrong with a RunSpec, as far as it can be known without a device. Each fault names its field; nothing is corrected.

use super::{Compat, ConnectBy, Op, Pace, PostApi, Rate, RunSpec, Stop, Test, Transport, Wait};
use crate::{SCHEMA_VERSION, units::Bytes};

/// The largest message the RC transport carries: 2^31 bytes.
pub const MAX_MSG_BYTES: Bytes = Bytes(1 << 31);

/// The size of an atomic.
const ATOMIC_BYTES: u64 = 8;
/// Width of the GRH's flow label.
const FLOW_LABEL_BITS: u32 = 20;

/// One thing wrong with a [`RunSpec`]: the field, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {what}")]
pub struct SpecFault {
    /// The field as it is spelled in JSON and TOML.
    pub field: &'static str,
    /// What is wrong and what to do.
    pub what: String,
}

/// Where the checks put what they find.
#[derive(Default)]
struct Faults(Vec<SpecFault>);

impl Faults {
    fn add(&mut self, field: &'static str, what: impl Into<String>) {
        self.0.push(SpecFault { field, what: what.into() });
    }

    fn add_if(&mut self, wrong: bool, field: &'static str, what: impl Into<String>) {
        if wrong {
            self.add(field, what);
        }
    }
}

impl RunSpec {
    /// Checks what can be known without a device. Each fault names its field; nothing is corrected.
    pub fn faults(&self) -> Vec<SpecFault> {
        let mut faults = Faults::default();
        let found = &mut faults;
        found.add_if(
            self.schema_version != SCHEMA_VERSION,
            "schema_version",
            format!(
                "is {}, this build reads {SCHEMA_VERSION}; use the same release on both sides",
                self.schema_version
            ),
        );
        self.check_messages(found);
        self.check_times(found);
        self.check_load(found);
        self.check_verb(found);
        self.check_latency_test(found);
        self.check_pace(found);
        self.check_memory(found);
        self.check_waiting(found);
        self.check_compat(found);
        self.check_path(found);
        self.check_sides(found);
        faults.0
    }

    fn check_messages(&self, found: &mut Faults) {
        found.add_if(self.msg_bytes.is_empty(), "msg_bytes", "is empty; give at least one message size");
        for (n, size) in self.msg_bytes.iter().enumerate() {
            if size.get() == 0 {
                found.add("msg_bytes", "0 is not a message size; the smallest is 1");
            } else if *size > MAX_MSG_BYTES {
                found.add("msg_bytes", format!("{size} is above the largest RDMA message, {MAX_MSG_BYTES}"));
            } else if self.op.is_atomic() && size.get() != ATOMIC_BYTES {
                found.add(
                    "msg_bytes",
                    format!("{size} with op {}: an atomic works on {ATOMIC_BYTES} bytes", self.op),
                );
            } else if self.transport == Transport::Ud && size.get() > 4_096 {
                found.add(
                    "msg_bytes",
                    format!("{size} over ud: a datagram is one packet, at most the path MTU (4096)"),
                );
            }
            found.add_if(self.msg_bytes[..n].contains(size), "msg_bytes", format!("{size} is given twice"));
        }
    }

    fn check_times(&self, found: &mut Faults) {
        match self.stop {
            Stop::DurationNs(duration) if duration.get() == 0 => found.add("duration", "0 is no duration"),
            Stop::Iterations(0) => found.add("iterations", "0 measures nothing"),
            _ => {}
        }
        for (field, value) in [("interval", self.interval_ns), ("deadline", self.deadline_ns)] {
            found.add_if(value.get() < 1_000_000, field, format!("{value} is below the smallest, 1ms"));
        }
    }

    fn check_load(&self, found: &mut Faults) {
        for (field, value, most) in [
            ("tx_depth", self.tx_depth, 32_768),
            ("rx_depth", self.rx_depth, 32_768),
            ("post_list", self.post_list, 32_768),
            ("signal_interval", self.signal_interval, 32_768),
            ("cq_poll_batch", self.cq_poll_batch, 4_096),
            ("qp_count", self.qp_count, 16_384),
            ("threads", self.threads, 1_024),
        ] {
            found.add_if(value == 0 || value > most, field, format!("{value} is outside 1..={most}"));
        }
        if self.post_list > self.tx_depth {
            found.add(
                "post_list",
                format!(
                    "{} is more than tx_depth {}; it could never be posted",
                    self.post_list, self.tx_depth
                ),
            );
        }
        if self.signal_interval > self.tx_depth {
            found.add(
                "signal_interval",
                format!(
                    "{} is more than tx_depth {}; the window would fill without a completion to free it",
                    self.signal_interval, self.tx_depth
                ),
            );
        } else if self.post_list <= self.tx_depth && self.window_can_stall() {
            found.add(
                "signal_interval",
                format!(
                    "{} with post_list {} can fill tx_depth {} without a completion to free it; make signal_interval a multiple or a divisor of post_list, or tx_depth larger",
                    self.signal_interval, self.post_list, self.tx_depth
                ),
            );
        }
    }

    fn check_verb(&self, found: &mut Faults) {
        let carried: Vec<_> =
            Op::ALL.iter().filter(|op| op.is_carried_by(self.transport)).map(|op| op.word()).collect();
        found.add_if(
            !self.op.is_carried_by(self.transport),
            "transport",
            format!("{} does not carry {}; it carries {}", self.transport, self.op, carried.join(", ")),
        );
        if let Some(reads) = self.outstanding_reads {
            found.add_if(
                !self.op.fetches(),
                "outstanding_reads",
                format!("has no meaning for op {}", self.op),
            );
            found.add_if(reads == 0, "outstanding_reads", "0 would never fetch anything");
        }
        found.add_if(
            self.connect_by == ConnectBy::RdmaCm && self.transport != Transport::Rc,
            "connect_by",
            format!("rdma_cm here connects rc QPs, not {}", self.transport),
        );
        found.add_if(
            self.completion_timestamps && self.post_api == PostApi::Classic,
            "completion_timestamps",
            "come through the extended API only; set post_api to extended",
        );
    }

    fn check_latency_test(&self, found: &mut Faults) {
        if self.test != Test::Latency {
            return;
        }
        for (field, value) in [
            ("post_list", self.post_list),
            ("signal_interval", self.signal_interval),
            ("qp_count", self.qp_count),
            ("threads", self.threads),
            ("tx_depth", self.tx_depth),
        ] {
            found.add_if(
                value > 1,
                field,
                format!("{value} has no meaning for a latency test, which has one message in flight; leave it at 1"),
            );
        }
        found.add_if(self.bidirectional, "bidirectional", "a latency test already sends both ways, in turn");
        found.add_if(
            self.op.consumes_receives() && self.rx_depth == 1 && self.compat == Compat::None,
            "rx_depth",
            "1 leaves no receive for the next message while the last one's is given back; the least here is 2",
        );
        found.add_if(
            self.pace != Pace::Closed,
            "pace",
            "a latency test is a ping-pong; ask for the latency under an open load with test bandwidth",
        );
        for (field, given) in [
            ("working_set_bytes", self.working_set_bytes.is_some()),
            ("stride_bytes", self.stride_bytes.is_some()),
        ] {
            found.add_if(given, field, "has no meaning for a latency test, which uses one slot");
        }
        found.add_if(
            self.completion_timestamps,
            "completion_timestamps",
            "split the latency under load, of test bandwidth, only",
        );
    }

    fn check_pace(&self, found: &mut Faults) {
        match self.pace {
            Pace::Closed => {}
            Pace::Open { rate, .. } => {
                let zero = match rate {
                    Rate::MessagesPerSec(messages) => messages == 0,
                    Rate::BitsPerSec(bits) => bits.get() == 0,
                };
                found.add_if(zero, "pace", "a rate of 0 never sends");
            }
            Pace::Search { p99_at_most_ns, .. } => {
                found.add_if(p99_at_most_ns.get() == 0, "pace", "no p99 is at most 0");
                found.add_if(
                    matches!(self.stop, Stop::Iterations(_)),
                    "iterations",
                    "a search tries each rate for a time; give a duration",
                );
                found.add_if(self.bidirectional, "bidirectional", "a search loads one direction");
            }
        }
        found.add_if(
            self.pace != Pace::Closed && self.wait != Wait::Poll,
            "wait",
            format!(
                "{} would sleep over the next message of an open load, which keeps its time by polling",
                self.wait
            ),
        );
        found.add_if(
            self.pace != Pace::Closed && self.signal_interval > 1,
            "signal_interval",
            format!(
                "{} leaves messages of an open load without a latency; leave it at 1",
                self.signal_interval
            ),
        );
        found.add_if(
            self.pace != Pace::Closed && self.post_list > 1,
            "post_list",
            format!("{} would hold messages of an open load back; leave it at 1", self.post_list),
        );
    }

    fn check_memory(&self, found: &mut Faults) {
        let largest = self.msg_bytes.iter().copied().max().unwrap_or(Bytes(0));
        if let Some(stride) = self.stride_bytes {
            found.add_if(
                stride < largest,
                "stride_bytes",
                format!("{stride} is less than a message of {largest}"),
            );
            found.add_if(
                !stride.get().is_multiple_of(8),
                "stride_bytes",
                format!("{stride} is not a multiple of 8, which the data check and atomics need"),
            );
        }
        if let Some(set) = self.working_set_bytes {
            let least = self.stride_bytes.unwrap_or(largest);
            found.add_if(
                set < least,
                "working_set_bytes",
                format!("{set} does not hold one message at a stride of {least}"),
            );
        }
        for (field, given) in [
            ("working_set_bytes", self.working_set_bytes.is_some()),
            ("stride_bytes", self.stride_bytes.is_some()),
        ] {
            found.add_if(
                given && self.op.is_atomic(),
                field,
                "has no meaning for atomics, which share one counter a QP",
            );
        }
        found.add_if(
            self.relaxed_ordering && self.op.is_polled_in_memory(self.test),
            "relaxed_ordering",
            "the latency test of writes polls the last byte, which relaxed ordering lets land before the others",
        );
    }

    fn check_waiting(&self, found: &mut Faults) {
        found.add_if(
            self.wait != Wait::Poll && self.op.is_polled_in_memory(self.test),
            "wait",
            "the latency test of writes polls memory, and no event comes from memory; use op write_imm or send",
        );
        found.add_if(
            self.wait == Wait::Poll && self.comp_vector != 0,
            "comp_vector",
            "has no meaning without events; set wait to event or hybrid:TIME",
        );
        found.add_if(
            matches!(self.wait, Wait::Hybrid { spin_ns } if spin_ns.get() == 0),
            "wait",
            "hybrid with no time to poll is `event`",
        );
    }

    fn check_compat(&self, found: &mut Faults) {
        if self.compat == Compat::None {
            return;
        }
        found.add_if(self.threads > 1, "threads", "perftest has one thread");
        found.add_if(self.pace != Pace::Closed, "pace", "perftest's method is a closed loop");
        found.add_if(
            matches!(self.stop, Stop::DurationNs(_)),
            "duration",
            "perftest's method is compared by count; give iterations",
        );
        found.add_if(self.wait != Wait::Poll, "wait", "perftest's method is compared with busy polling");
    }

    fn check_path(&self, found: &mut Faults) {
        if let Some(mtu) = self.path_mtu {
            found.add_if(
                ![256, 512, 1024, 2048, 4096].contains(&mtu),
                "path_mtu",
                format!("{mtu} is not an RDMA path MTU; use 256, 512, 1024, 2048 or 4096"),
            );
        }
        for (field, value, most) in [
            ("service_level", self.service_level, 15),
            ("qp_timeout", self.qp_timeout, 31),
            ("retry_count", self.retry_count, 7),
        ] {
            found.add_if(value > most, field, format!("{value} is outside 0..={most}"));
        }
        found.add_if(
            self.flow_label >> FLOW_LABEL_BITS != 0,
            "flow_label",
            format!("{:#x} has more than {FLOW_LABEL_BITS} bits", self.flow_label),
        );
    }

    fn check_sides(&self, found: &mut Faults) {
        for (field, side) in [("requester", &self.requester), ("responder", &self.responder)] {
            found.add_if(side.port_num == 0, field, "port_num 0 is not a port; ports count from 1");
            if let Some(index) = side.gid_index {
                found.add_if(index > 255, "gid_index", format!("{index} is outside 0..=255"));
            }
            found.add_if(side.device.is_empty(), field, "device is empty; write auto, soft or a device name");
        }
        let soft = self.requester.device == "soft";
        found.add_if(
            soft != (self.responder.device == "soft") && self.responder.device != "auto",
            "responder",
            "one side is the software NIC and the other is not; they cannot talk to each other",
        );
        for (field, given) in
            [("soft_model", self.soft_model.is_some()), ("soft_fault", self.soft_fault.is_some())]
        {
            found.add_if(!soft && given, field, "is given, but the device is not `soft`");
        }
        found.add_if(
            soft && self.connect_by == ConnectBy::RdmaCm,
            "connect_by",
            "the software NIC has no connection manager; use tcp",
        );
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

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Nanos;

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
    fn the_defaults_of_every_verb_on_its_transports_have_no_fault() {
        for (test, op) in
            [Test::Bandwidth, Test::Latency].into_iter().flat_map(|t| Op::ALL.iter().map(move |op| (t, *op)))
        {
            for transport in Transport::ALL.iter().copied().filter(|transport| op.is_carried_by(*transport)) {
                let mut spec = RunSpec::with_op(test, op);
                spec.transport = transport;
                if transport == Transport::Ud {
                    spec.msg_bytes = vec![Bytes(1024)];
                }
                assert_eq!(spec.faults(), [], "{op} over {transport}");
            }
        }
    }

    #[test]
    fn what_can_not_go_together_is_refused_by_its_field() {
        assert_eq!(bandwidth(|s| (s.op, s.transport) = (Op::Read, Transport::Uc)), ["transport"]);
        assert_eq!(bandwidth(|s| s.op = Op::FetchAdd), ["msg_bytes"]);
        assert_eq!(bandwidth(|s| (s.op, s.transport) = (Op::Send, Transport::Ud)), ["msg_bytes"]);
        assert_eq!(bandwidth(|s| s.outstanding_reads = Some(4)), ["outstanding_reads"]);
        assert_eq!(bandwidth(|s| s.completion_timestamps = true), ["completion_timestamps"]);
        assert_eq!(bandwidth(|s| s.comp_vector = 1), ["comp_vector"]);
        assert_eq!(bandwidth(|s| s.stride_bytes = Some(Bytes(64))), ["stride_bytes"]);
        assert_eq!(bandwidth(|s| s.working_set_bytes = Some(Bytes(64))), ["working_set_bytes"]);
        assert_eq!(bandwidth(|s| s.flow_label = 1 << 20), ["flow_label"]);
        assert_eq!(bandwidth(|s| s.compat = Compat::Perftest), ["duration"]);
        let open =
            Pace::Open { rate: Rate::MessagesPerSec(0), arrivals: super::super::Arrivals::Fixed, seed: 1 };
        assert_eq!(bandwidth(|s| (s.pace, s.signal_interval) = (open, 2)), ["pace", "signal_interval"]);
        let mut send = RunSpec::with_op(Test::Latency, Op::Send);
        send.rx_depth = 1;
        assert_eq!(send.faults().first().map(|fault| fault.field), Some("rx_depth"));
        let open =
            Pace::Open { rate: Rate::MessagesPerSec(9), arrivals: super::super::Arrivals::Fixed, seed: 1 };
        assert_eq!(bandwidth(|s| (s.pace, s.wait) = (open, Wait::Event)), ["wait"]);
        let mut latency = RunSpec::new(Test::Latency);
        (latency.wait, latency.relaxed_ordering) = (Wait::Hybrid { spin_ns: Nanos(1) }, true);
        let fields: Vec<_> = latency.faults().into_iter().map(|fault| fault.field).collect();
        assert_eq!(fields, ["relaxed_ordering", "wait"]);
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
