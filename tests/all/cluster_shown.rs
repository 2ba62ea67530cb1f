//! What is kept of a cluster, shown and written through the program: the list, a node, a pair, a run, the page, every export.

use std::{fs, path::Path, time::Duration};

use e2e::{Finished, cluster::rack_of_reads, finish, programs::PATIENCE, rdma_harness};
use serde_json::Value;

/// Three nodes, each pair once.
const SUITE: &str = r#"question = "Are these simulated nodes alike?"
[[scenarios]]
file = "link.toml"
metrics = ["p50"]
[pattern]
kind = "pairs"
directions = "forward"
seed = 1
[agents]
audit = false
"#;

fn in_folder(folder: &Path, arguments: &[&str], patience: Duration) -> Finished {
    finish(rdma_harness(arguments).current_dir(folder).args(["--store", "store.db"]), patience)
}

#[test]
fn a_kept_cluster_is_listed_shown_reported_and_exported() {
    let folder = rack_of_reads(SUITE);
    let at = folder.path();
    let ran = in_folder(at, &["cluster", "run", "rack.toml", "--nodes", "3"], Duration::from_secs(240));
    // Three nodes are too few to tell which is slow; what the verdict is on a busy machine is not the matter here.
    assert!(matches!(ran.code, Some(0 | 1 | 4)), "{ran:?}");
    let cluster = |arguments: &[&str]| in_folder(at, &[&["cluster"], arguments].concat(), PATIENCE);

    let listed: Value = cluster(&["list", "--json"]).expect(0).json();
    assert_eq!((&listed[0]["suite"], &listed[0]["nodes"]), (&"rack".into(), &3.into()));
    assert!(cluster(&["list"]).expect(0).stdout.contains("finished"));

    let report: Value = cluster(&["show", "--json"]).expect(0).json();
    let names: Vec<&str> =
        report["nodes"].as_array().expect("nodes").iter().filter_map(|node| node["name"].as_str()).collect();
    assert_eq!(names.len(), 3);
    let shown = cluster(&["show", "1"]).expect(0).stdout;
    assert!(shown.contains("SIMULATED") && names.iter().all(|name| shown.contains(name)), "{shown}");
    assert!(cluster(&["show", "--node", names[1]]).expect(0).stdout.contains("8 B p50 latency"));
    let pair = cluster(&["show", "--pair", names[0], names[2]]).expect(0).stdout;
    assert!(pair.contains("run ") && pair.contains("no run"), "one way was measured, the other not: {pair}");
    let record: Value = cluster(&["show", "--run", "0", "--json"]).expect(0).json();
    assert_eq!(record["points"][0]["msg_bytes"], 8);
    let refused = cluster(&["show", "--node", "node99"]).expect(2).stderr;
    assert!(refused.contains("has no node `node99`; it has ") && refused.contains(names[0]), "{refused}");
    assert!(cluster(&["show", "7"]).expect(2).stderr.contains('7'));

    cluster(&["report", "--out", "report"]).expect(0);
    let file = |name: &str| fs::read_to_string(at.join(name)).expect("it was written");
    assert!(file("report/report.html").contains("id=\"packed\""));
    assert!(file("report/report.md").contains("SIMULATED"));
    assert_eq!(file("report/report.json"), cluster(&["show", "--json"]).expect(0).stdout);

    cluster(&["export", "--out", "results"]).expect(0);
    assert_eq!(file("results/runs.csv").lines().count(), 1 + 3);
    assert!(!file("results/metrics.prom").contains("cluster_pair_"));
    let all = cluster(&["export", "--format", "prometheus", "--matrix"]).expect(0).stdout;
    assert_eq!(all.matches("\nrdma_bench_cluster_pair_latency_seconds{").count(), 3);
    assert!(cluster(&["export"]).expect(2).stderr.contains("--out"));
}
