//! Four nodes of one guest, rxe0 to rxe3 on a bridge as on one switch: real verbs by cables that are shaped, and what a cluster says of
//! them.
//!
//! What rxe carries in an emulated guest differs from run to run by a factor of seven (62 to 453 Mb/s, in 12 runs on a busy machine). So
//! every cable is shaped to much less than that, and one pair runs at a time: 18 runs over cables of 8 Mb/s measured 7.67 to 8.32 of the 7.85
//! that are payload, 6 over one of 4 Mb/s 3.93 to 3.96 of 3.93.

use std::{fs, process::Command, time::Duration};

use e2e::{finish, programs::artifacts, rdma_harness};
use serde_json::Value;

/// Emulation is slow; a guest's own limit ends what hangs.
const LIMIT: Duration = Duration::from_secs(400);
/// What a cable carries.
const CABLE: &str = "8mbit";

const SUITE: &str = r#"
question = "Is one of four nodes on a switch slower than the others?"
[[scenarios]]
file = "write.toml"
[pattern]
kind = "pairs"
seed = 1
at_once = 1
[agents]
audit = false
[rules]
smallest_change = "15%"
"#;

/// Four messages outstanding are 260 ms of a cable: it stays busy while the guest does something else. The ACK timeout is four seconds.
const WRITE: &str = r#"
question = "How much does a cable carry?"
[design]
duration = "2s"
warmup = "300ms"
deadline = "20s"
tx_depth = 4
qp_timeout = 20
[[workloads]]
name = "write-64Ki"
test = "bandwidth"
op = "write"
size = "64Ki"
"#;

/// The four cables, unshaped again when dropped.
struct Cables;

impl Cables {
    fn carrying(rates: [&str; 4]) -> Cables {
        for (n, rate) in rates.into_iter().enumerate() {
            for end in ["node", "port"] {
                tc(&format!("qdisc replace dev {end}{n} root netem rate {rate} limit 10000"));
            }
        }
        Cables
    }
}

impl Drop for Cables {
    fn drop(&mut self) {
        for n in 0..4 {
            for end in ["node", "port"] {
                tc(&format!("qdisc del dev {end}{n} root"));
            }
        }
    }
}

fn tc(arguments: &str) {
    let status = Command::new("tc").args(arguments.split(' ')).status().expect("tc starts");
    assert!(status.success(), "tc {arguments}");
}

/// What `cluster run` says, and its exit code.
fn measured(name: &str) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("four.toml", SUITE);
    write("write.toml", WRITE);
    let node = |n: usize| format!("node{n} device=rxe{n} address=127.0.0.1 leaf=switch\n");
    write("hosts", &(0..4).map(node).collect::<String>());
    let arguments = ["cluster", "run", "four.toml", "--launcher", "local", "--hostfile", "hosts", "--json"];
    let mut command = rdma_harness(&arguments);
    let ran = finish(command.current_dir(folder.path()).args(["--store", "store.db"]), LIMIT);
    fs::write(artifacts("cluster").join(format!("{name}.json")), &ran.stdout).unwrap();
    eprintln!("{}", ran.stderr);
    (ran.code, ran.json())
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn four_equal_nodes_are_fine() {
    let _cables = Cables::carrying([CABLE; 4]);
    let (code, report) = measured("equal");
    assert_eq!((code, &report["verdict"]), (Some(0), &"fine".into()), "{report:#}");
    assert_eq!(report["findings"], Value::Array(Vec::new()));
    let counts = &report["counts"];
    assert_eq!(
        (&counts["present"], &counts["runs"], &counts["could_not_run"]),
        (&4.into(), &12.into(), &0.into())
    );
    assert_eq!(report["head"]["fabric"], "verbs");
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn a_node_behind_a_shaped_cable_is_named() {
    let _cables = Cables::carrying([CABLE, CABLE, "4mbit", CABLE]);
    let (code, report) = measured("shaped");
    assert_eq!((code, &report["verdict"]), (Some(1), &"slow".into()), "{report:#}");
    let findings = report["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(finding["subject"]["nodes"], serde_json::json!([2]), "{finding:#}");
        assert_eq!(
            (&finding["certainty"], &finding["kind"]),
            (&"confirmed".into(), &"node".into()),
            "{finding:#}"
        );
        assert!(finding["sentence"].as_str().unwrap().contains("node2"), "{finding:#}");
    }
}
