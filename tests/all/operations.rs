//! Every operation over every transport that carries it, through both posting APIs: data in, data out, and what one end
//! sent the other received.

use e2e::{finish, programs::PATIENCE, verbs_bench};
use schema::{Bytes, LatencyKind, Op, Point, PostApi, RunRecord, Transport, record::Counts, spec::Test};

const QUICK: [&str; 9] =
    ["run", "--device", "soft", "--warmup", "5ms", "--duration", "40ms", "--json", "--deadline=10s"];

fn measure(arguments: &[&str]) -> RunRecord {
    finish(verbs_bench(&QUICK).args(arguments), PATIENCE).completed()
}

#[track_caller]
fn counts(point: &Point) -> Counts {
    point.counts.expect("both ends count")
}

/// The data is whole, and where the operation tells what arrived, it is what was sent, but for what may be lost.
#[track_caller]
fn assert_carried(record: &RunRecord, what: &str) {
    for point in &record.points {
        let data = point.data_check.expect("checked by default");
        assert!(data.checked_bytes > Bytes(0), "{what}: nothing was compared");
        assert_eq!(data.wrong_bytes, Bytes(0), "{what}");
        assert_eq!(data.sequences.expect("every QP").wrong_qps, 0, "{what}");
        let counts = counts(point);
        assert!(counts.requester_sent >= point.messages && point.messages > 0, "{what}: {counts:?}");
        assert_eq!(counts.responder_received.is_some(), record.spec.op.consumes_receives(), "{what}");
        let lost = counts.lost().unwrap_or(0);
        assert!(record.spec.transport != Transport::Rc || lost == 0, "{what}: {counts:?}");
    }
    let granted = record.granted.as_ref().expect("it came that far");
    assert_eq!(granted.transport, Some(record.spec.transport), "{what}");
    assert_eq!(granted.post_api, Some(record.spec.post_api), "{what}");
    assert_eq!(granted.outstanding_reads.is_some(), record.spec.op.fetches(), "{what}");
    assert_eq!(
        granted.max_recv_wr > 0,
        record.spec.test == Test::Latency && record.spec.op.consumes_receives(),
        "{what}"
    );
}

fn every_operation(transport: Transport) {
    for op in Op::ALL.iter().filter(|op| op.is_carried_by(transport)) {
        for test in ["bandwidth", "latency"] {
            for api in PostApi::ALL {
                let mut arguments = vec!["--op", op.word(), "--transport", transport.word(), "--test", test];
                arguments.extend(["--post-api", api.word()]);
                if !op.is_atomic() {
                    arguments.extend(["-s", "64"]);
                }
                let record = measure(&arguments);
                assert_carried(&record, &arguments.join(" "));
                let kind = match (test, op.fetches()) {
                    ("bandwidth", _) => LatencyKind::PostToCompletion,
                    (_, true) => LatencyKind::RoundTrip,
                    (_, false) => LatencyKind::HalfRoundTrip,
                };
                assert_eq!(record.points[0].latency_ns.kind, kind, "{arguments:?}");
            }
        }
    }
}

#[test]
fn rc_carries_every_operation() {
    every_operation(Transport::Rc);
}

#[test]
fn uc_carries_writes_and_sends() {
    every_operation(Transport::Uc);
}

#[test]
fn ud_carries_sends() {
    every_operation(Transport::Ud);
}

#[test]
fn several_sizes_share_one_connection() {
    for op in ["write_imm", "send", "read"] {
        let record = measure(&["--op", op, "-s", "8", "-s", "4Ki", "-s", "64", "-q", "2", "-l", "4"]);
        assert_eq!(record.points.len(), 3);
        assert_carried(&record, op);
    }
}

#[test]
fn both_directions_are_measured_checked_and_counted() {
    for op in Op::ALL {
        let mut arguments = vec!["--op", op.word(), "--bidirectional"];
        if !op.is_atomic() {
            arguments.extend(["-s", "256"]);
        }
        let record = measure(&arguments);
        let point = &record.points[0];
        let reverse = point.reverse.as_ref().expect("the responder sends too");
        assert!(reverse.messages > 0 && reverse.latency_ns.count > 0, "{op}");
        assert_eq!(
            point.total_messages_per_sec(),
            point.messages_per_sec.map(|there| there + reverse.messages_per_sec)
        );
        let counts = counts(point);
        assert!(counts.responder_sent >= reverse.messages, "{op}: {counts:?}");
        assert_eq!(
            counts.requester_received,
            op.consumes_receives().then_some(counts.responder_sent),
            "{op}"
        );
        assert_eq!(
            counts.responder_received,
            op.consumes_receives().then_some(counts.requester_sent),
            "{op}"
        );
        assert!(point.data_check.unwrap().sequences.unwrap().checked_qps > 0, "{op}");
    }
}

#[test]
fn what_an_unreliable_transport_loses_is_counted_and_nothing_else_is_wrong() {
    for transport in ["uc", "ud"] {
        let few = ["--op", "send", "--transport", transport, "-s", "64", "--rx-depth", "2", "-t", "64"];
        let record = measure(&few);
        let counts = counts(&record.points[0]);
        assert!(counts.lost().unwrap() > 0, "two receives for a window of 64: {counts:?}");
        assert_eq!(record.points[0].data_check.unwrap().wrong_bytes, Bytes(0));
    }
}

#[test]
fn a_count_is_kept_exactly_by_every_operation() {
    for op in Op::ALL {
        let run = ["run", "--device", "soft", "--op", op.word(), "-n", "3001", "-t", "16", "--json"];
        let record = finish(&mut verbs_bench(&run), PATIENCE).completed();
        assert_eq!(record.points[0].messages, 3_001, "{op}");
    }
}

#[test]
fn threads_sleep_on_events() {
    for (op, wait) in
        [("write", "event"), ("send", "event"), ("read", "hybrid:20us"), ("write_imm", "hybrid:1us")]
    {
        let record = measure(&["--op", op, "--wait", wait, "-s", "64", "--soft-model", "latency=10us"]);
        assert_carried(&record, wait);
    }
    let latency =
        measure(&["--op", "send", "--test", "latency", "--wait", "event", "--soft-model", "latency=10us"]);
    assert_carried(&latency, "latency of sends by events");
}

#[test]
fn what_no_transport_carries_is_refused_by_name() {
    for (op, transport) in [("read", "uc"), ("fetch_add", "ud"), ("write", "ud")] {
        let refused =
            finish(verbs_bench(&QUICK).args(["--op", op, "--transport", transport]), PATIENCE).expect(2);
        assert!(refused.stderr.contains("--transport") && refused.stderr.contains(op), "{}", refused.stderr);
    }
}

#[test]
fn more_outstanding_reads_than_the_devices_bear_are_refused_before_anything_is_made() {
    let refused = finish(verbs_bench(&QUICK).args(["--op", "read", "-o", "200"]), PATIENCE).failed();
    let text = refused.outcome.to_string();
    assert!(text.contains("outstanding_reads") && text.contains("preflight"), "{text}");
    assert_eq!(measure(&["--op", "read", "-o", "3"]).granted.unwrap().outstanding_reads, Some(3));
}
