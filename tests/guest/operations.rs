//! Every operation, transport, posting API and way of waiting that rxe has, with the data checked; and the refusals by name
//! of what it lacks.

use std::{process::Command, time::Duration};

use e2e::{Finished, finish, verbs_bench};
use schema::{Op, RunRecord, Transport, record::Fabric};

/// Emulation is slow; a guest's own limit ends what hangs.
const LIMIT: Duration = Duration::from_secs(240);
const PAIR: [&str; 6] = ["run", "--device", "rxe0", "--peer-device", "rxe1", "--json"];

fn run(arguments: &[&str]) -> Finished {
    finish(verbs_bench(&PAIR).args(arguments), LIMIT)
}

/// Completed on the device, every byte that was compared right, and on a reliable transport nothing lost.
fn assert_whole(record: &RunRecord, what: &str) {
    assert_eq!(record.fabric, Fabric::Verbs, "{what}");
    for point in &record.points {
        let check = point.data_check.unwrap_or_else(|| panic!("{what}: not checked"));
        assert!(check.checked_bytes.get() > 0 && check.wrong_bytes.get() == 0, "{what}: {check:?}");
        let sequences = check.sequences.unwrap_or_else(|| panic!("{what}: no sequences"));
        assert!(sequences.checked_qps > 0 && sequences.wrong_qps == 0, "{what}: {sequences:?}");
        let counts = point.counts.unwrap_or_else(|| panic!("{what}: no counts"));
        assert!(counts.requester_sent >= point.messages, "{what}: {counts:?}");
        if record.spec.transport == Transport::Rc {
            assert!(matches!(counts.lost(), None | Some(0)), "{what}: {counts:?}");
        }
        if record.spec.op.consumes_receives() {
            assert!(counts.responder_received.is_some(), "{what}: {counts:?}");
        }
    }
}

/// Runs every operation the transport carries as this test, in ways that `extra` says.
fn every_operation(test: &str, transport: Transport, extra: &[&str]) {
    for op in Op::ALL.iter().filter(|op| op.is_carried_by(transport)) {
        let mut arguments = vec![
            "--test",
            test,
            "--op",
            op.word(),
            "--transport",
            transport.word(),
            "-n",
            "300",
            "--warmup",
            "20ms",
        ];
        arguments.extend(if op.is_atomic() { ["--size", "8"] } else { ["--size", "1000"] });
        arguments.extend(extra);
        let what = format!("{test} of {op} over {transport} {extra:?}");
        let record = run(&arguments).completed();
        assert_whole(&record, &what);
        let point = &record.points[0];
        // A datagram or an unreliable message may be lost; a reliable one may not.
        if transport == Transport::Rc {
            assert_eq!(point.messages, 300, "{what}");
        } else {
            assert!(point.messages > 0, "{what}");
        }
        let granted = record.granted.as_ref().unwrap();
        assert_eq!(
            (granted.transport, granted.post_api),
            (Some(transport), Some(record.spec.post_api)),
            "{what}"
        );
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn every_operation_of_the_reliable_connection() {
    every_operation("bandwidth", Transport::Rc, &["-t", "32"]);
    every_operation("latency", Transport::Rc, &[]);
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn every_operation_of_the_unreliable_transports() {
    for transport in [Transport::Uc, Transport::Ud] {
        every_operation("bandwidth", transport, &["-t", "8"]);
        every_operation("latency", transport, &[]);
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn every_operation_through_the_extended_verbs() {
    every_operation(
        "bandwidth",
        Transport::Rc,
        &["-t", "32", "--post-api", "extended", "-l", "4", "-Q", "2"],
    );
    every_operation("latency", Transport::Rc, &["--post-api", "extended"]);
    every_operation("bandwidth", Transport::Ud, &["-t", "8", "--post-api", "extended", "-I", "64"]);
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn every_way_of_waiting() {
    for wait in ["event", "hybrid:50us"] {
        for arguments in [
            &["--test", "bandwidth", "--op", "write", "-t", "16"][..],
            &["--test", "bandwidth", "--op", "send", "-t", "16"],
            &["--test", "latency", "--op", "send"],
            &["--test", "latency", "--op", "read"],
        ] {
            let record =
                run(&[arguments, &["--size", "1000", "-n", "200", "--warmup", "10ms", "--wait", wait]]
                    .concat());
            assert_whole(&record.completed(), &format!("{arguments:?} {wait}"));
        }
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn rdma_cm_connects() {
    for op in ["write", "send", "read"] {
        let arguments =
            ["--op", op, "--connect-by", "rdma_cm", "-q", "3", "-t", "16", "-s", "4096", "-n", "300"];
        assert_whole(&run(&arguments).completed(), &format!("{op} by rdma_cm"));
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn an_open_load_achieves_what_it_asks_for() {
    let arguments = ["--op", "write", "-s", "64", "--rate", "500/s", "--arrivals", "poisson", "-D", "2s"];
    let record = run(&arguments).completed();
    assert_whole(&record, "open load");
    let pace = record.points[0].pace.as_ref().expect("a pace");
    let ratio = pace.achieved_messages_per_sec / pace.asked_messages_per_sec;
    assert!((0.9..=1.1).contains(&ratio), "{pace:?}");
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn two_threads_of_four_qps_both_ways_for_a_minute_lose_nothing() {
    let arguments = [
        "--op",
        "send",
        "--threads",
        "2",
        "-q",
        "4",
        "--bidirectional",
        "-s",
        "4096",
        "-t",
        "16",
        "--rx-depth",
        "64",
        "-D",
        "60s",
        "--cpu",
        "none",
        "--peer-cpu",
        "none",
        "-u",
        "18",
    ];
    let record = run(&arguments).completed();
    assert_whole(&record, "two threads, four QPs, both ways");
    let point = &record.points[0];
    let counts = point.counts.unwrap();
    assert_eq!(Some(counts.requester_sent), counts.responder_received);
    assert_eq!(Some(counts.responder_sent), counts.requester_received);
    assert!(counts.responder_sent > 0 && point.reverse.as_ref().is_some_and(|reverse| reverse.messages > 0));
    // It begins with the first completion after WarmUp and ends with the first after a minute.
    assert!(point.duration_ns.get() >= 59_000_000_000, "{}", point.duration_ns);
    eprintln!("{counts:?}");
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn a_thousand_queue_pairs_come_and_go() {
    let record = run(&["--op", "write", "-q", "1000", "-t", "2", "-s", "64", "-n", "4000"]).completed();
    assert_whole(&record, "1,000 QPs");
    assert_eq!(record.points[0].messages, 4000);
    // What the kernel still holds for anyone: nothing.
    let held = Command::new("rdma").args(["resource", "show", "qp"]).output().expect("rdma of iproute2");
    let text = String::from_utf8_lossy(&held.stdout).into_owned();
    assert!(!text.contains("verbs-bench"), "{text}");
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn what_rxe_lacks_is_refused_by_name_before_anything_is_made() {
    for (arguments, word) in [
        (&["--post-api", "extended", "--completion-timestamps"][..], "completion_timestamps"),
        (&["--wait", "event", "--comp-vector", "4000"], "comp_vector"),
        (&["--op", "read", "--outstanding-reads", "255"], "outstanding_reads"),
        (&["--tx-depth", "32768", "--threads", "64", "--cpu", "none", "--peer-cpu", "none"], "tx_depth"),
    ] {
        let record = run(arguments).failed();
        let text = record.outcome.to_string();
        assert!(text.contains(word), "{arguments:?}: {text}");
        assert!(record.granted.is_none(), "{arguments:?}: something was made");
    }
    // What no device can do is refused before the device is opened.
    let finished = run(&["--op", "read", "--transport", "uc"]).expect(2);
    assert!(finished.stderr.contains("uc does not carry read"), "{}", finished.stderr);
}
