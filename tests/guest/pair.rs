//! rxe0 and rxe1 of one guest, joined by a veth pair: real verbs, a real link that can be shaped and taken down.

use std::{fs, path::Path, process::Command, time::Duration};

use e2e::{
    Finished, Scenario, finish,
    programs::{artifacts, repository},
    scenario::replaced,
    verbs_bench,
};
use schema::{Bytes, Campaign, CampaignState, Outcome, RunRecord, SideRecord, record::Fabric};

/// Emulation is slow; a guest's own limit ends what hangs.
const LIMIT: Duration = Duration::from_secs(120);
const PAIR: [&str; 6] = ["run", "--device", "rxe0", "--peer-device", "rxe1", "--json"];

fn run(arguments: &[&str]) -> Finished {
    finish(verbs_bench(&PAIR).args(arguments), LIMIT)
}

fn sides(record: &RunRecord) -> [&SideRecord; 2] {
    [record.requester.as_ref().unwrap(), record.responder.as_ref().unwrap()]
}

/// What a measurement between the two devices must say, whatever its numbers.
fn assert_real(record: &RunRecord) {
    assert_eq!((record.fabric, record.fabric_label.as_str()), (Fabric::Verbs, "verbs"));
    for (side, (device, netdev, address)) in
        sides(record).into_iter().zip([("rxe0", "veth0", "10.0.0.1"), ("rxe1", "veth1", "10.0.0.2")])
    {
        assert_eq!((side.device.name.as_str(), side.device.link_layer.as_str()), (device, "Ethernet"));
        let gid = side.gid.as_ref().expect("RoCE needs a GID");
        assert_eq!((gid.gid_type.as_str(), gid.netdev.as_deref()), ("RoCE v2", Some(netdev)));
        assert!(gid.gid.ends_with(address), "{gid:?}");
        assert!(side.versions.libibverbs.is_some());
    }
    for point in &record.points {
        assert!(point.messages > 0);
        assert!(point.data_check.expect("checked").checked_bytes.get() >= point.msg_bytes.get());
        assert_eq!(point.data_check.expect("checked").wrong_bytes, Bytes(0));
    }
}

/// RoCE frames that have left by an interface.
fn frames_sent(netdev: &str) -> u64 {
    fs::read_to_string(format!("/sys/class/net/{netdev}/statistics/tx_packets"))
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn bandwidth_crosses_the_wire() {
    let before = frames_sent("veth0");
    let record = run(&["--test", "bandwidth", "--size", "64Ki", "--iterations", "500"]).completed();
    assert_real(&record);
    let point = &record.points[0];
    assert!(point.bandwidth_bits_per_sec.unwrap() > 1e6, "{:?}", point.bandwidth_bits_per_sec);
    // 64 KiB in packets of 4096 bytes; the check of the bytes and the warm-up come on top.
    assert!(frames_sent("veth0") - before >= 500 * 16);
    assert_eq!(record.granted.as_ref().unwrap().path_mtu, 4096);
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn latency_is_half_a_round_trip() {
    let record =
        run(&["--test", "latency", "--size", "8", "--size", "4Ki", "--iterations", "2000"]).completed();
    assert_real(&record);
    for point in &record.points {
        let latency = &point.latency_ns;
        assert_eq!(latency.count, 2000);
        assert!(
            latency.min > 100 && latency.p50.unwrap() >= latency.min && latency.max >= latency.p99.unwrap()
        );
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn every_byte_of_every_queue_pair_is_checked() {
    // An ACK timeout of a second: emulated, the messages in flight wait for longer than the default of 67 ms.
    let sizes = ["-s", "256Ki", "-s", "1", "-s", "4097", "-q", "3", "-t", "2", "-n", "60", "-u", "18"];
    let record = run(&[&["--test", "bandwidth"], &sizes[..]].concat()).completed();
    assert_real(&record);
    let slots = u64::from(record.granted.as_ref().unwrap().slots_per_qp);
    for point in &record.points {
        // Before the measurement and after it.
        let checked = 2 * 3 * slots * point.msg_bytes.get();
        assert_eq!(point.data_check.expect("checked").checked_bytes.get(), checked);
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn many_shapes_of_the_window_complete() {
    for shape in [
        ["-t", "1", "-l", "1", "-Q", "1", "-I", "0"],
        ["-t", "64", "-l", "8", "-Q", "16", "-I", "0"],
        ["-t", "60", "-l", "7", "-Q", "21", "-I", "0"],
        ["-t", "32", "-l", "4", "-Q", "4", "-I", "64"],
    ] {
        let record = run(&["--test", "bandwidth", "-s", "64", "-n", "3000"]
            .into_iter()
            .chain(shape)
            .collect::<Vec<_>>())
        .completed();
        assert_real(&record);
        assert_eq!(record.points[0].messages, 3000, "{shape:?}");
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn pages_lie_on_the_node_that_was_asked_for() {
    for node in [0, 1] {
        let text = node.to_string();
        let cpu = (2 * node).to_string();
        let placed = ["--memory-node", &text, "--peer-memory-node", &text, "--cpu", &cpu];
        let record =
            run(&[&["--test", "bandwidth", "--iterations", "200"], &placed[..]].concat()).completed();
        for side in sides(&record) {
            let placement = &side.placement;
            assert_eq!(placement.memory_node_bound, Some(node));
            assert!(!placement.pages_by_node.is_empty());
            assert!(
                placement.pages_by_node.iter().all(|(found, pages)| *found == node && *pages > 0),
                "{placement:?}"
            );
        }
        assert_eq!(sides(&record)[0].placement.cpu_pinned, Some(2 * node));
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn devices_lists_both_with_their_gids() {
    let listed = finish(&mut verbs_bench(&["devices"]), LIMIT).expect(0).stdout;
    for word in ["rxe0", "rxe1", "10.0.0.1", "10.0.0.2", "RoCE v2", "veth0"] {
        assert!(listed.contains(word), "no `{word}` in:\n{listed}");
    }
    let json: serde_json::Value = finish(&mut verbs_bench(&["devices", "--json"]), LIMIT).expect(0).json();
    assert!(json.to_string().contains("rxe1"), "{json}");
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn path_mtu_scenario_is_run_stored_exported_and_rendered() {
    // The shipped scenario, on the two devices of the guest, and short enough for emulation.
    let shipped = fs::read_to_string(repository().join("scenarios/path-mtu.toml")).unwrap();
    let scenario = Scenario::of(&replaced(
        shipped,
        &[
            ("device = \"auto\"", "device = \"rxe0\""),
            ("device = \"auto\"", "device = \"rxe1\""),
            ("blocks = 12", "blocks = 6"),
            ("duration = \"2s\"", "duration = \"500ms\""),
        ],
    ));
    let ran =
        finish(&mut scenario.harness(&["run", "depth.toml", "--report", "report"]), Duration::from_secs(600));
    // Emulation is noisy: that nothing can be told is a fair answer, that nothing could be run is not.
    assert!(matches!(ran.code, Some(0 | 1 | 4)), "{ran:?}");
    for format in ["json", "csv", "hlog"] {
        let out = format!("campaign.{format}");
        finish(&mut scenario.harness(&["export", "--format", format, "--out", &out]), LIMIT).expect(0);
        assert!(fs::metadata(scenario.path(&out)).unwrap().len() > 1000, "{format}");
    }
    let campaign: Campaign =
        serde_json::from_slice(&fs::read(scenario.path("campaign.json")).unwrap()).unwrap();
    assert_eq!((campaign.state, campaign.runs.len()), (CampaignState::Finished, 6 * 3 * 2));
    for run in &campaign.runs {
        assert_real(&run.record);
        assert_eq!(run.record.granted.as_ref().map(|granted| granted.path_mtu), run.record.spec.path_mtu);
    }
    let kept = artifacts("path-mtu");
    for file in
        ["report/report.html", "report/report.md", "report/report.json", "campaign.csv", "campaign.hlog"]
    {
        let text = fs::read_to_string(scenario.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains("mtu-1024"), "{file}");
        assert!(!text.contains("simulated: soft"), "{file} calls a real device simulated");
        fs::write(kept.join(Path::new(file).file_name().unwrap()), text).unwrap();
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn a_port_that_is_down_is_said() {
    let ip =
        |state| assert!(Command::new("ip").args(["link", "set", "veth0", state]).status().unwrap().success());
    ip("down");
    let finished = run(&["--test", "latency"]);
    ip("up");
    let record = finished.failed();
    let text = record.outcome.to_string();
    assert!(text.contains("rxe0") && text.to_lowercase().contains("down"), "{text}");
    assert!(text.contains("ip link"), "no way out in: {text}");
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn a_memlock_limit_is_named_with_its_size() {
    // root is exempt from the limit as long as it holds CAP_IPC_LOCK.
    let bench = verbs_bench(&PAIR);
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock", "prlimit", "--memlock=65536:65536"]);
    command.arg(bench.get_program()).args(bench.get_args()).args(["--test", "bandwidth", "--size", "1Mi"]);
    let record = finish(&mut command, LIMIT).failed();
    let Outcome::Failed { cause, advice, .. } = &record.outcome else { unreachable!("failed() saw to it") };
    let text = format!("{cause}; {advice}");
    assert!(text.contains("memlock") || text.contains("MEMLOCK"), "{text}");
    assert!(text.contains("65536") || text.contains("64Ki"), "{text}");
}
