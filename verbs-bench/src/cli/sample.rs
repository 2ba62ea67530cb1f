//! Records with known numbers, for the tests of what is printed.

use schema::{
    Arrivals, Bytes, EncodedHistogram, Fabric, LatencyKind, LatencySummary, Nanos, Op, Outcome, Pace, Point,
    PostApi, RunRecord, RunSpec, Test, Transport,
    histogram::new_latency_histogram,
    record::{Counts, NicTime, PaceReport, Probe, Reverse},
};

/// 11,000 samples: all of `typical_ns` but eleven of ten times that. Below 2 us, where a histogram keeps every ns.
pub(super) fn latencies(kind: LatencyKind, typical_ns: u64) -> (LatencySummary, EncodedHistogram) {
    let mut histogram = new_latency_histogram();
    histogram.record_n(typical_ns, 10_989).expect("in range");
    histogram.record_n(10 * typical_ns, 11).expect("in range");
    let summary = LatencySummary::of(kind, &histogram).expect("it has samples");
    (summary, EncodedHistogram::encode(&histogram, 0))
}

/// A point of one second.
pub(super) fn point(test: Test, msg_bytes: u64, messages: u64) -> Point {
    let kind = match test {
        Test::Bandwidth => LatencyKind::PostToCompletion,
        Test::Latency => LatencyKind::HalfRoundTrip,
    };
    let (latency_ns, histogram) = latencies(kind, 200);
    let rate = (test == Test::Bandwidth).then_some(messages as f64);
    Point {
        test,
        op: Op::Write,
        msg_bytes: Bytes(msg_bytes),
        messages,
        duration_ns: Nanos(1_000_000_000),
        bandwidth_bits_per_sec: rate.map(|rate| rate * msg_bytes as f64 * 8.0),
        messages_per_sec: rate,
        latency_ns,
        histogram,
        completion_latency_ns: None,
        completion_histogram: None,
        intervals: Vec::new(),
        data_check: None,
        reverse: None,
        counts: None,
        pace: None,
        nic_time: None,
    }
}

fn record(spec: RunSpec, points: Vec<Point>) -> RunRecord {
    let mut record = RunRecord::start(spec, Fabric::Soft, 0, Outcome::Completed);
    record.points = points;
    record
}

fn soft(test: Test) -> RunSpec {
    let mut spec = RunSpec::new(test);
    spec.requester.device = "soft".into();
    spec.responder.device = "soft".into();
    spec
}

/// 64 B at ten million a second and 64 KiB at 180,000.
pub(super) fn bandwidth() -> RunRecord {
    let points = vec![point(Test::Bandwidth, 64, 10_000_000), point(Test::Bandwidth, 65_536, 180_000)];
    record(soft(Test::Bandwidth), points)
}

/// 8 B in 200 ns, own completions in 150 ns.
pub(super) fn latency() -> RunRecord {
    let mut point = point(Test::Latency, 8, 11_000);
    let (summary, histogram) = latencies(LatencyKind::PostToCompletion, 150);
    point.completion_latency_ns = Some(summary);
    point.completion_histogram = Some(histogram);
    record(soft(Test::Latency), vec![point])
}

/// Two directions, two threads, a Poisson schedule found by a search, losses, and the NIC's time apart from ours.
pub(super) fn everything() -> RunRecord {
    let mut spec = soft(Test::Bandwidth);
    (spec.op, spec.transport, spec.post_api) = (Op::Send, Transport::Ud, PostApi::Extended);
    (spec.threads, spec.qp_count, spec.bidirectional) = (2, 4, true);
    spec.msg_bytes = vec![Bytes(1_024)];
    let p99_at_most_ns = Nanos(50_000);
    spec.pace = Pace::Search { p99_at_most_ns, arrivals: Arrivals::Poisson, seed: 7 };
    let mut point = point(Test::Bandwidth, 1_024, 250_000);
    let (latency_ns, histogram) = latencies(LatencyKind::IntendedToCompletion, 180);
    point.reverse = Some(Reverse {
        messages: 249_000,
        duration_ns: Nanos(1_000_000_000),
        bandwidth_bits_per_sec: 249_000.0 * 8_192.0,
        messages_per_sec: 249_000.0,
        latency_ns,
        histogram,
    });
    point.latency_ns.kind = LatencyKind::IntendedToCompletion;
    point.counts = Some(Counts {
        requester_sent: 250_000,
        responder_received: Some(249_990),
        responder_sent: 249_000,
        requester_received: Some(248_999),
    });
    let probe = |asked: f64, p99_ns, held| Probe {
        asked_messages_per_sec: asked,
        achieved_messages_per_sec: asked,
        p99_ns,
        held,
    };
    point.pace = Some(PaceReport {
        asked_messages_per_sec: 250_000.0,
        achieved_messages_per_sec: 249_990.0,
        late_messages: 12,
        max_lateness_ns: Nanos(3_500),
        probes: vec![probe(500_000.0, Some(90_000), false), probe(250_000.0, Some(40_000), true)],
    });
    let (nic_latency_ns, nic_histogram) = latencies(LatencyKind::PostToDevice, 150);
    let (software_latency_ns, software_histogram) = latencies(LatencyKind::DeviceToPoll, 50);
    point.nic_time = Some(NicTime {
        nic_latency_ns,
        nic_histogram,
        software_latency_ns,
        software_histogram,
        device_ticks_per_sec: 1e9,
        correlation_ns: 40.0,
    });
    record(spec, vec![point])
}

/// Compares with a file of `golden/`; with UPDATE_GOLDEN set, writes it.
pub(super) fn golden(name: &str, text: &str) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, text).expect("the golden file can be written");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == text, "{name} differs; UPDATE_GOLDEN=1 writes it. Now:\n{text}");
}
