//! The exported .hlog in another implementation of HdrHistogram: the Python package `hdrhistogram`.

use std::{process::Command, time::Duration};

use e2e::{Scenario, finish, programs::PATIENCE, programs::repository};
use schema::Campaign;
use serde::Deserialize;

#[derive(Debug, PartialEq, Deserialize)]
struct Read {
    count: u64,
    p99_9: u64,
}

#[test]
#[ignore = "needs the Python package hdrhistogram: run by scripts/test.sh"]
fn python_reads_the_same_counts_and_tails() {
    // Of 2,000 samples, p99.9 is the 1,998th for everyone; other counts are rounded differently by the two implementations.
    let scenario = Scenario::with(&[("duration = \"60ms\"", "iterations = 2000")]);
    finish(&mut scenario.harness(&["run", "depth.toml", "--json"]), Duration::from_secs(120))
        .json::<serde_json::Value>();
    let export = |options: &[&str]| finish(scenario.harness(&["export"]).args(options), PATIENCE).expect(0);
    export(&["--format", "hlog", "--out", "runs.hlog"]);
    let campaign: Campaign = export(&["--format", "json"]).json();

    let python = std::env::var_os("E2E_PYTHON").unwrap_or_else(|| "python3".into());
    let mut reader = Command::new(python);
    reader.arg(repository().join("tests/fixtures/read_hlog.py")).arg(scenario.path("runs.hlog"));
    let read: Vec<Read> = finish(&mut reader, PATIENCE)
        .expect(0)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("one JSON object a line"))
        .collect();

    let stored: Vec<Read> = campaign
        .runs
        .iter()
        .flat_map(|run| &run.record.points)
        .map(|point| {
            let histogram = point.histogram.decode().expect("the histogram reads back");
            Read { count: histogram.len(), p99_9: histogram.value_at_quantile(0.999) }
        })
        .collect();
    assert!(stored.len() >= 6 && stored.iter().all(|histogram| histogram.count > 0));
    assert_eq!(read, stored);
}
