//! Several threads and many QPs on each side: one result, nothing lost, and one failure that ends all.

use e2e::{finish, programs::PATIENCE, verbs_bench};
use schema::{Bytes, RunRecord};

// Not pinned: the machine may have fewer cores than two sides of two threads.
const FREE: [&str; 8] = ["run", "--device", "soft", "--cpu", "none", "--peer-cpu", "none", "--json"];

fn measure(arguments: &[&str]) -> RunRecord {
    finish(verbs_bench(&FREE).args(arguments), PATIENCE).completed()
}

#[test]
fn two_threads_are_one_result() {
    let record =
        measure(&["--threads", "2", "-q", "3", "-s", "64", "--duration", "300ms", "--interval", "50ms"]);
    let point = &record.points[0];
    let in_intervals: u64 = point.intervals.iter().map(|interval| interval.messages).sum();
    assert!(in_intervals > 0 && in_intervals <= point.messages, "{in_intervals} of {}", point.messages);
    assert_eq!(point.histogram.decode().unwrap().len(), point.messages);
    let rate = point.messages as f64 / (point.duration_ns.get() as f64 / 1e9);
    assert!((point.messages_per_sec.unwrap() / rate - 1.0).abs() < 1e-9);
    assert!(point.intervals.iter().all(|interval| interval.p50_ns <= interval.max_ns));
    assert_eq!(point.data_check.unwrap().sequences.unwrap().checked_qps, 6);
    assert!(point.data_check.unwrap().checked_bytes >= Bytes(6 * 64));
}

#[test]
fn a_count_is_shared_out_exactly() {
    for (op, threads) in [("write", "2"), ("send", "3"), ("fetch_add", "2")] {
        let record = measure(&["--op", op, "--threads", threads, "-q", "2", "-n", "10007", "-t", "16"]);
        assert_eq!(record.points[0].messages, 10_007, "{op}");
    }
}

#[test]
fn two_threads_times_four_qps_both_ways_lose_nothing() {
    for op in ["send", "write_imm"] {
        let record = measure(&[
            "--op",
            op,
            "--threads",
            "2",
            "-q",
            "4",
            "--bidirectional",
            "-s",
            "256",
            "-s",
            "4Ki",
            "--duration",
            "200ms",
        ]);
        for point in &record.points {
            let counts = point.counts.unwrap();
            assert_eq!(counts.lost(), Some(0), "{op}: {counts:?}");
            assert_eq!(Some(counts.requester_sent), counts.responder_received);
            assert_eq!(Some(counts.responder_sent), counts.requester_received);
            assert!(counts.responder_sent > 0);
        }
    }
}

#[test]
fn one_thread_that_fails_ends_the_run_and_is_the_one_reported() {
    let fault = ["--threads", "3", "--duration", "60s", "--soft-fault", "error=RETRY_EXC_ERR@5000"];
    let record = finish(verbs_bench(&FREE).args(fault), PATIENCE).failed();
    let text = record.outcome.to_string();
    assert!(text.contains("RETRY_EXC_ERR"), "{text}");
    assert_eq!(record.points, []);
}

#[test]
fn a_thousand_qps_between_two_processes() {
    let record = measure(&["-q", "500", "--threads", "2", "-t", "2", "-s", "64", "--duration", "100ms"]);
    let point = &record.points[0];
    assert_eq!(point.data_check.unwrap().sequences.unwrap().checked_qps, 1_000);
    assert_eq!(point.data_check.unwrap().wrong_bytes, Bytes(0));
    assert!(point.messages > 1_000);
}

#[test]
fn fewer_cpus_than_threads_are_refused() {
    let refused = finish(
        &mut verbs_bench(&["run", "--device", "soft", "--json", "--threads", "2", "--cpu", "0"]),
        PATIENCE,
    );
    let text = format!("{}{}", refused.stdout, refused.stderr);
    assert_ne!(refused.code, Some(0));
    assert!(text.contains("cpu") && text.contains("threads"), "{text}");
}
