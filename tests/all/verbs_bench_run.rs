//! `verbs-bench run`, `serve` and `devices` as a user types them; what a record must hold whatever was measured.

use std::{fs, process::Stdio, time::Instant};

use e2e::{
    Serving, finish,
    programs::{PATIENCE, await_end},
    verbs_bench,
};
use schema::{
    Bytes, LatencyKind, LatencySummary, Nanos, RunRecord, RunSpec, Side, Stop, record::Fabric, spec::Test,
};

const QUICK: [&str; 7] = ["run", "--device", "soft", "--warmup", "20ms", "--duration", "200ms"];

fn record(arguments: &[&str]) -> RunRecord {
    finish(verbs_bench(&QUICK).args(arguments).arg("--json"), PATIENCE).completed()
}

/// What one number of a record says about another.
fn assert_consistent(record: &RunRecord) {
    assert_eq!(record.schema_version, schema::SCHEMA_VERSION);
    assert_eq!(record.points.iter().map(|p| p.msg_bytes).collect::<Vec<_>>(), record.spec.msg_bytes);
    for point in &record.points {
        let histogram = point.histogram.decode().expect("the histogram reads back");
        assert_eq!(LatencySummary::of(point.latency_ns.kind, &histogram).as_ref(), Some(&point.latency_ns));
        assert!(point.messages > 0 && point.duration_ns.get() > 0);
        assert!(point.data_check.expect("checked").checked_bytes.get() >= point.msg_bytes.get());
        assert_eq!(point.data_check.expect("checked").wrong_bytes, Bytes(0));
        let in_intervals: u64 = point.intervals.iter().map(|interval| interval.messages).sum();
        assert!(in_intervals > 0 && in_intervals <= point.messages, "{in_intervals} of {}", point.messages);
    }
    let granted = record.granted.as_ref().expect("it came that far");
    assert!(granted.max_send_wr >= record.spec.tx_depth);
    for (side, expected) in [(&record.requester, Side::Requester), (&record.responder, Side::Responder)] {
        let side = side.as_ref().expect("both sides report");
        assert_eq!(side.side, expected);
        assert!(side.clock.ticks_per_sec > 1e6, "{:?}", side.clock);
        assert!(
            side.placement.pages_by_node.iter().map(|(_, pages)| pages).sum::<u64>() > 0,
            "{:?}",
            side.placement
        );
        assert!(side.host.boot_id.is_some() && !side.versions.verbs_bench.is_empty());
    }
}

#[test]
fn bandwidth_is_bytes_over_time() {
    let record = record(&["--test", "bandwidth", "--size", "64Ki", "--size", "256"]);
    assert_consistent(&record);
    assert_eq!((record.fabric, record.fabric_label.as_str()), (Fabric::Soft, "soft (raw: no link model)"));
    for point in &record.points {
        let seconds = point.duration_ns.get() as f64 / 1e9;
        let rate = point.messages as f64 / seconds;
        let (messages_per_sec, bits) =
            (point.messages_per_sec.unwrap(), point.bandwidth_bits_per_sec.unwrap());
        assert!((messages_per_sec / rate - 1.0).abs() < 1e-6, "{messages_per_sec} against {rate}");
        assert!((bits / (rate * 8.0 * point.msg_bytes.get() as f64) - 1.0).abs() < 1e-6);
        assert_eq!(point.latency_ns.kind, LatencyKind::PostToCompletion);
        assert!(seconds > 0.19, "asked for 200 ms, measured {seconds} s");
    }
}

#[test]
fn latency_has_both_its_kinds_and_no_bandwidth() {
    let record = record(&["--test", "latency", "--soft-model", "latency=5us"]);
    assert_consistent(&record);
    let point = &record.points[0];
    assert_eq!((point.test, point.msg_bytes), (Test::Latency, Bytes(8)));
    assert_eq!(point.latency_ns.kind, LatencyKind::HalfRoundTrip);
    assert_eq!(point.completion_latency_ns.as_ref().unwrap().kind, LatencyKind::PostToCompletion);
    assert!(point.completion_histogram.is_some());
    assert_eq!((point.bandwidth_bits_per_sec, point.messages_per_sec), (None, None));
    assert!(record.fabric_label.contains("latency=5us"), "{}", record.fabric_label);
}

#[test]
fn a_count_is_kept_exactly() {
    let run = [
        "run",
        "--device",
        "soft",
        "--test",
        "bandwidth",
        "-n",
        "10007",
        "-t",
        "16",
        "-l",
        "4",
        "-Q",
        "8",
        "--json",
    ];
    let record = finish(&mut verbs_bench(&run), PATIENCE).completed();
    assert_consistent(&record);
    assert_eq!(record.points[0].messages, 10_007);
    assert_eq!(record.spec.stop, Stop::Iterations(10_007));
}

#[test]
fn perftest_letters_mean_what_the_words_mean() {
    let letters = record(&[
        "-s", "4Ki", "-t", "32", "-l", "4", "-Q", "8", "-q", "2", "-m", "1024", "-I", "16", "-S", "3",
    ]);
    assert_consistent(&letters);
    let words = record(&[
        "--size",
        "4096",
        "--tx-depth",
        "32",
        "--post-list",
        "4",
        "--signal-interval",
        "8",
        "--qp-count",
        "2",
        "--path-mtu",
        "1024",
        "--inline",
        "16",
        "--service-level",
        "3",
    ]);
    assert_eq!(letters.spec, words.spec);
    let spec = &letters.spec;
    assert_eq!((spec.tx_depth, spec.post_list, spec.signal_interval, spec.qp_count), (32, 4, 8, 2));
    assert_eq!((spec.path_mtu, spec.max_inline_bytes, spec.service_level), (Some(1024), 16, 3));
}

#[test]
fn a_spec_on_stdin_is_run_as_it_is() {
    let mut spec = RunSpec::new(Test::Bandwidth);
    spec.requester.device = "soft".into();
    spec.responder.device = "soft".into();
    spec.stop = Stop::DurationNs(Nanos(100_000_000));
    spec.warmup_ns = Nanos(10_000_000);
    let mut run = verbs_bench(&["run", "--spec", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("verbs-bench starts");
    serde_json::to_writer(run.stdin.take().expect("stdin is a pipe"), &spec).expect("the spec is taken");
    let record = await_end(run, Instant::now(), PATIENCE).completed();
    assert_eq!(record.spec, spec);
}

#[test]
fn a_responder_of_ones_own_serves_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "0123456789abcdef0123456789abcdef").unwrap();
    let token = token.to_str().unwrap();
    let serving = Serving::start(&["--device", "soft", "--token-file", token, "--sessions", "2"]);
    for _ in 0..2 {
        assert_consistent(&record(&["--peer", serving.address(), "--token-file", token]));
    }
    serving.finish(PATIENCE).expect(0);
}

#[test]
fn two_sides_of_one_host_do_not_share_a_cpu() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let record = record(&["--test", "bandwidth"]);
    let cpu =
        |side: &Option<schema::SideRecord>| side.as_ref().unwrap().placement.cpu_pinned.expect("auto pins");
    assert_ne!(cpu(&record.requester), cpu(&record.responder));
}

#[test]
fn the_table_is_for_people() {
    let text =
        finish(verbs_bench(&QUICK).args(["--test", "bandwidth", "-s", "64Ki"]), PATIENCE).expect(0).stdout;
    for word in ["64Ki", "soft", "Gb/s"] {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_err());
}

#[test]
fn no_device_is_said_with_the_way_out() {
    if fs::read_dir("/sys/class/infiniband").is_ok_and(|mut devices| devices.next().is_some()) {
        return;
    }
    let listed = finish(&mut verbs_bench(&["devices"]), PATIENCE).expect(3);
    assert!(listed.stderr.contains("--device soft"), "{}", listed.stderr);
    let run = finish(&mut verbs_bench(&["run", "--test", "latency", "--json"]), PATIENCE).failed();
    assert!(run.outcome.to_string().contains("--device soft"), "{}", run.outcome);
}

#[test]
fn the_device_s_own_time_splits_the_latency() {
    let timestamps = ["--post-api", "extended", "--completion-timestamps", "-s", "64", "-t", "1"];
    let record = record(&[&timestamps[..], &["--soft-model", "latency=20us,ack_latency=10us"]].concat());
    let nic_time = record.points[0].nic_time.as_ref().expect("asked for");
    assert_eq!(nic_time.nic_latency_ns.kind, LatencyKind::PostToDevice);
    assert_eq!(nic_time.software_latency_ns.count, nic_time.nic_latency_ns.count);
    // The model's completion is 30 us after the post; what the poll adds is software.
    let nic = nic_time.nic_latency_ns.p50.unwrap();
    assert!((29_000..=33_000).contains(&nic), "{nic} ns");
    assert!(nic_time.correlation_ns < 1_000_000.0 && nic_time.device_ticks_per_sec > 1e6, "{nic_time:?}");
}
