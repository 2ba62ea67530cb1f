//! Logs of other tools become history, or are refused whole.

use std::{fs, path::Path};

use e2e::programs::{Finished, PATIENCE, finish, rdma_harness, repository};
use serde_json::Value;

fn in_folder(folder: &Path, arguments: &[&str]) -> Finished {
    finish(rdma_harness(arguments).current_dir(folder).args(["--store", "store.db"]), PATIENCE)
}

/// A log that verbs-bench's own perftest mode would print, and perftest does.
fn sample(name: &str) -> String {
    let file = repository().join("harness/src/import/perftest/samples").join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn tables_and_json_of_perftest_become_nights_of_one_series_and_only_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("monday.txt"), sample("write_bw_sweep.txt")).unwrap();
    fs::write(
        folder.path().join("tuesday.txt"),
        sample("write_bw_sweep.txt").replace("11032.72", "10032.72"),
    )
    .unwrap();
    fs::write(folder.path().join("lat.json"), sample("write_lat_before_2024.json")).unwrap();
    let import = |file: &str, at: &str| {
        in_folder(
            folder.path(),
            &["import", "perftest", file, "--at", at, "--requester", "node1", "--responder", "node2"],
        )
    };
    let monday = import("monday.txt", "2024-03-04T02:00:00Z").expect(0);
    assert!(monday.stdout.contains("monday.txt: 3 measurements"), "{monday:?}");
    assert!(monday.stdout.contains("suite imported: 1 nights, 6 values, 2024-03-04T02:00:00Z"), "{monday:?}");
    import("tuesday.txt", "2024-03-05T02:00:00Z").expect(0);
    let json = import("lat.json", "2024-03-05T03:00:00Z").expect(0);
    assert!(json.stdout.contains("p99.9 of 4.03 us is left out"), "{json:?}");
    let again = import("monday.txt", "2024-03-06T02:00:00Z").expect(0);
    assert!(again.stdout.contains("monday.txt: imported before, left out"), "{again:?}");

    let history = in_folder(folder.path(), &["history", "--suite", "imported", "--json"]);
    let report: Value = history.json();
    let name = |series: &Value| {
        format!("{}/{}/{}", series["key"]["workload"], series["key"]["msg_bytes"], series["key"]["metric"])
    };
    let series = report["series"].as_array().unwrap();
    let large = series.iter().find(|series| name(series) == "\"write_bw\"/65536/\"bandwidth\"").unwrap();
    let values: Vec<f64> =
        large["points"].as_array().unwrap().iter().map(|point| point["value"].as_f64().unwrap()).collect();
    assert_eq!(values.len(), 2, "{large}");
    assert!((values[0] / (11_032.72 * 8.0 * 1_048_576.0) - 1.0).abs() < 1e-5, "{values:?}");
    assert_eq!(large["key"]["engine"], "perftest");
    assert_eq!(large["key"]["requester"]["host"], "node1");
}

#[test]
fn one_file_that_is_not_understood_keeps_all_out_and_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.txt"), sample("write_lat.txt")).unwrap();
    fs::write(folder.path().join("torn.txt"), sample("write_lat.txt").replace("3.65 ", "3.65 ?")).unwrap();
    fs::write(folder.path().join("picture.png"), b"\x89PNG\r\n\x1a\n\0").unwrap();
    let refused =
        in_folder(folder.path(), &["import", "perftest", "good.txt", "torn.txt", "picture.png"]).expect(2);
    assert!(refused.stderr.contains("not understood, and nothing was kept"), "{refused:?}");
    assert!(refused.stderr.contains("torn.txt: line 18: `2  "), "{refused:?}");
    assert!(refused.stderr.contains("picture.png: line 1: bytes that are not UTF-8"), "{refused:?}");
    assert!(!folder.path().join("store.db").exists(), "nothing was made");
}

#[test]
fn a_table_of_any_tool_is_history_with_epochs() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (1..=4)
        .map(|day| {
            format!(
                "2026-03-0{day},nccl,8Mi,bandwidth,{}.5,GB/s,{}\n",
                40 + day,
                if day < 3 { "20.31" } else { "20.32" }
            )
        })
        .collect();
    fs::write(
        folder.path().join("t.csv"),
        format!("date,scenario,msg_bytes,metric,value,unit,firmware\n{rows}"),
    )
    .unwrap();
    let arguments = [
        "import",
        "csv",
        "t.csv",
        "--rename",
        "date=time",
        "--rename",
        "firmware=configuration.firmware",
        "--suite",
        "nccl",
    ];
    let dry = in_folder(folder.path(), &[&arguments[..], &["--dry-run"]].concat()).expect(0);
    assert!(dry.stdout.contains("nothing was kept") && !folder.path().join("store.db").exists(), "{dry:?}");
    in_folder(folder.path(), &arguments).expect(0);
    let report: Value = in_folder(folder.path(), &["history", "--suite", "nccl", "--json"]).json();
    let epochs = report["series"][0]["epochs"].as_array().unwrap();
    assert_eq!(epochs.len(), 2, "{report}");
    assert_eq!(epochs[1]["changes"][0]["what"], "firmware");
    assert_eq!(epochs[1]["changes"][0]["to"], "20.32");
}
