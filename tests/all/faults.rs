//! What goes wrong while a run lasts: each ends within ten seconds, with exit code 3 and a record that says where, on which
//! side, why, and what to do.

use std::{
    net::TcpListener,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{
    Serving, finish,
    programs::{PATIENCE, await_end},
    verbs_bench,
};
use schema::{Outcome, RunRecord, Side, Stage};

const SOFT: [&str; 6] = ["run", "--device", "soft", "--soft-model", "latency=10us,rate=10Gbps", "--json"];

fn start(arguments: &[&str]) -> Child {
    verbs_bench(&SOFT)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("verbs-bench starts")
}

/// The failure's stage, and all that is said about it.
#[track_caller]
fn failure(record: &RunRecord) -> (Stage, String) {
    let Outcome::Failed { stage, .. } = &record.outcome else { panic!("{:?}", record.outcome) };
    (*stage, record.outcome.to_string())
}

#[track_caller]
fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

#[test]
fn responder_killed_in_the_middle() {
    for test in ["bandwidth", "latency"] {
        let serving = Serving::start(&["--device", "soft"]);
        let run = start(&["--peer", serving.address(), "--test", test, "--duration", "60s"]);
        thread::sleep(Duration::from_millis(1500));
        let killed = Instant::now();
        let _ = serving.kill();
        let record = await_end(run, killed, PATIENCE).failed();
        let (stage, text) = failure(&record);
        assert_eq!(stage, Stage::Measure, "{text}");
        assert_says(&text, &["responder"]);
    }
}

#[test]
fn requester_killed_in_the_middle_and_the_responder_serves_on() {
    let serving = Serving::start(&["--device", "soft"]);
    let mut run = start(&["--peer", serving.address(), "--duration", "60s"]);
    thread::sleep(Duration::from_millis(1000));
    run.kill().unwrap();
    run.wait().unwrap();
    let next = start(&["--peer", serving.address(), "--duration", "100ms"]);
    let next = await_end(next, Instant::now(), PATIENCE);
    assert!(next.took < Duration::from_secs(10), "{:?}", next.took);
    next.completed();
}

#[test]
fn a_peer_that_dies_by_itself() {
    let fault = ["--duration", "60s", "--soft-fault", "peer-death=1s"];
    let record = finish(verbs_bench(&SOFT).args(fault), PATIENCE).failed();
    let (_, text) = failure(&record);
    assert_says(&text, &["responder"]);
}

#[test]
fn a_completion_with_an_error_status_is_named_and_explained() {
    for (status, meaning) in [("RETRY_EXC_ERR", "retr"), ("REM_ACCESS_ERR", "access")] {
        let fault = format!("error={status}@1000");
        let record = finish(verbs_bench(&SOFT).args(["--soft-fault", &fault]), PATIENCE).failed();
        let (_, text) = failure(&record);
        assert_says(&text, &[status, meaning]);
        assert_eq!(record.points, [], "a failed point has no numbers");
    }
}

#[test]
fn a_lost_completion_is_an_error_and_no_hang() {
    for test in [["--test", "bandwidth"], ["--test", "latency"]] {
        let lost = ["--soft-fault", "lost=500", "--deadline", "1s", "--duration", "60s"];
        let record = finish(verbs_bench(&SOFT).args(test).args(lost), PATIENCE).failed();
        failure(&record);
    }
}

#[test]
fn a_run_that_fails_at_its_second_size_keeps_the_first() {
    // Some 2,000 messages of 64 KiB fit in 100 ms of 10 Gb/s, and 10,000 of 8 bytes follow at once.
    let arguments = [
        "-s",
        "64Ki",
        "-s",
        "8",
        "--warmup",
        "10ms",
        "--duration",
        "100ms",
        "--soft-fault",
        "error=FATAL_ERR@5000",
    ];
    let record = finish(verbs_bench(&SOFT).args(arguments), PATIENCE).failed();
    assert_eq!(record.points.len(), 1);
    assert!(record.points[0].messages > 0);
}

#[test]
fn nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap(); // free again at the end of the line
    let record = finish(verbs_bench(&SOFT).args(["--peer", &port.to_string()]), PATIENCE).failed();
    let (stage, text) = failure(&record);
    assert_eq!(stage, Stage::Handshake);
    assert_says(&text, &[&port.to_string(), "verbs-bench serve"]);
}

#[test]
fn the_wrong_token_and_none() {
    let folder = tempfile::tempdir().unwrap();
    let token = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let right = token("right", "0123456789abcdef0123456789abcdef");
    let wrong = token("wrong", "fedcba9876543210fedcba9876543210");
    let serving = Serving::start(&["--device", "soft", "--token-file", &right]);
    let peer = ["--peer", serving.address(), "--duration", "100ms"];
    for token in [vec!["--token-file", &wrong], vec![]] {
        let record = finish(verbs_bench(&SOFT).args(peer).args(token), PATIENCE).failed();
        let (stage, text) = failure(&record);
        assert_eq!(stage, Stage::Handshake);
        assert_says(&text, &["--token-file"]);
        for secret in ["0123456789abcdef", "fedcba9876543210"] {
            assert!(!serde_json::to_string(&record).unwrap().contains(secret), "the record holds a token");
        }
    }
    finish(verbs_bench(&SOFT).args(peer).args(["--token-file", &right]), PATIENCE).completed();
}

#[test]
fn a_device_that_is_not_there() {
    let run = ["run", "--device", "mlx5_99", "--json"];
    let record = finish(&mut verbs_bench(&run), PATIENCE).failed();
    assert!(matches!(record.outcome, Outcome::Failed { side: Side::Requester | Side::Responder, .. }));
    failure(&record);
}
