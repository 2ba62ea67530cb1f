//! Two guests, each with its own kernel and its own rxe0: the responder runs in the other one.

use std::{env, time::Duration};

use e2e::{finish, verbs_bench};
use schema::{Bytes, RunRecord, record::Fabric};

const LIMIT: Duration = Duration::from_secs(120);

fn run(arguments: &[&str]) -> RunRecord {
    let variable =
        |name| env::var(name).unwrap_or_else(|_| panic!("{name} is not set; see scripts/guest/two-hosts.sh"));
    let (peer, token) = (variable("E2E_PEER"), variable("E2E_TOKEN_FILE"));
    let mut command =
        verbs_bench(&["run", "--json", "--device", "rxe0", "--peer", &peer, "--token-file", &token]);
    finish(command.args(arguments), LIMIT).completed()
}

/// Both sides report, from two kernels, and every byte that crossed was right.
fn assert_two_hosts(record: &RunRecord) {
    assert_eq!(record.fabric, Fabric::Verbs);
    let (requester, responder) = (record.requester.as_ref().unwrap(), record.responder.as_ref().unwrap());
    assert!(requester.host.boot_id.is_some());
    assert_ne!(requester.host.boot_id, responder.host.boot_id);
    assert_ne!(requester.host.hostname, responder.host.hostname);
    for (side, address) in [(requester, "10.0.0.2"), (responder, "10.0.0.1")] {
        let gid = side.gid.as_ref().expect("RoCE needs a GID");
        assert!(gid.gid.ends_with(address) && gid.gid_type == "RoCE v2", "{gid:?}");
    }
    for point in &record.points {
        assert!(point.data_check.expect("checked").checked_bytes.get() >= point.msg_bytes.get());
        assert_eq!(point.data_check.expect("checked").wrong_bytes, Bytes(0));
    }
}

#[test]
#[ignore = "needs two rxe guests: run by scripts/test.sh"]
fn latency_between_two_hosts() {
    let record = run(&["--test", "latency", "--size", "8", "--iterations", "500"]);
    assert_two_hosts(&record);
    assert_eq!(record.points[0].latency_ns.count, 500);
}

#[test]
#[ignore = "needs two rxe guests: run by scripts/test.sh"]
fn bandwidth_between_two_hosts() {
    let record = run(&["--test", "bandwidth", "--size", "64Ki", "--iterations", "200", "--tx-depth", "16"]);
    assert_two_hosts(&record);
    assert!(record.points[0].bandwidth_bits_per_sec.unwrap() > 1e6);
}
