//! What is exported of a night, read by the tools it is for: Prometheus' promtool and parsers, Apache Otava, the JUnit schema of
//! Ant, Grafana's own types, JSON schemas, a Markdown parser.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use e2e::{Finished, finish, programs::PATIENCE, programs::repository};
use serde::Deserialize;
use serde_json::json;

/// What `check_outputs.py` has read.
#[derive(Debug, Deserialize)]
struct Read {
    junit: Junit,
    prometheus: Metrics,
    open_metrics: Metrics,
    csv: Csv,
    /// By series, when Otava sees a change, in seconds since 1970 UTC, and how large it is, in percent.
    otava: BTreeMap<String, Vec<(u64, String)>>,
    bencher: u32,
    benchmark_action: u32,
    annotations: BTreeMap<String, Vec<String>>,
    markdown: Markdown,
}

#[derive(Debug, Deserialize)]
struct Junit {
    tests: u32,
    failures: u32,
    errors: u32,
    skipped: u32,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Metrics {
    exit_code: f64,
    names: Vec<String>,
    series: Vec<(String, String, String)>,
    states: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Csv {
    runs: u32,
    rows: u32,
    series: Vec<(String, String, String)>,
}

#[derive(Debug, Deserialize)]
struct Markdown {
    rows: u32,
    columns: Vec<u32>,
}

fn python() -> Command {
    Command::new(std::env::var_os("E2E_PYTHON").unwrap_or_else(|| "python3".into()))
}

fn promtool(arguments: &[&str], file: &Path) -> Finished {
    let program = std::env::var_os("PROMTOOL").unwrap_or_else(|| "promtool".into());
    finish(Command::new(program).args(arguments).arg(file), PATIENCE)
}

/// Reads everything in a folder, `metrics.prom` by promtool as well.
fn read(folder: &Path) -> Read {
    let mut reader = python();
    reader.arg(repository().join("tests/fixtures/check_outputs.py")).arg(folder);
    let read: Read = finish(&mut reader, Duration::from_secs(300)).expect(0).json();
    let check = "\"${PROMTOOL:-promtool}\" check metrics < \"$0\"";
    let said =
        finish(Command::new("sh").args(["-c", check]).arg(folder.join("metrics.prom")), PATIENCE).expect(0);
    assert_eq!(said.stdout.clone() + &said.stderr, "", "promtool has something to say");
    assert_eq!(read.prometheus, read.open_metrics);
    assert_eq!(read.prometheus.series, read.csv.series, "names read back alike from labels and from columns");
    read
}

fn golden(folder: &str) -> PathBuf {
    repository().join("reports/tests/golden").join(folder)
}

#[test]
#[ignore = "needs the Python packages of tests/requirements.txt and promtool: run by scripts/test.sh"]
fn every_form_is_read_by_the_tool_it_is_for() {
    let read = read(&golden("nights"));
    let Junit { tests, failures, errors, skipped } = read.junit;
    assert_eq!((tests, failures, errors, skipped), (12, 5, 1, 3));
    assert_eq!(read.prometheus.exit_code, 1.0);
    assert_eq!(read.prometheus.names.len(), 16);
    assert_eq!(read.prometheus.states.iter().filter(|state| *state == "regressed").count(), 5);
    // Of two nights; one series was not measured in the second.
    assert_eq!((read.csv.runs, read.csv.rows), (125, 126));
    assert_eq!((read.bencher, read.benchmark_action), (11, 11));
    // Nine members of findings, twelve series, and the heads of two tables.
    assert_eq!((read.markdown.rows, read.markdown.columns), (23, vec![5, 6]));
    assert_eq!(read.annotations["error"].len(), 5);
    // The step of the first series at 2026-11-27 02:00, which is night 117.
    let step = &read.otava["nightly-rate/write/deep/64Ki/bandwidth/node1:mlx5_0/node2:mlx5_0"];
    assert!(step.contains(&(1_795_744_800, "-5".to_owned())), "{step:?}");
}

#[test]
#[ignore = "needs the Python packages of tests/requirements.txt and promtool: run by scripts/test.sh"]
fn quotes_ends_of_lines_and_markup_in_names_confuse_no_tool() {
    let read = read(&golden("nights/awkward"));
    assert_eq!((read.junit.tests, read.junit.failures, read.junit.errors), (12, 5, 1));
    assert_eq!(read.markdown.rows, 23);
    assert!(read.annotations["error"].iter().all(|title| title.starts_with("a \"quoted\" one: ")));
    assert!(read.csv.series.iter().any(|(workload, ..)| workload == "two\nlines\r\nand more"));
}

#[test]
#[ignore = "needs the Python packages of tests/requirements.txt and promtool: run by scripts/test.sh"]
fn grafana_knows_every_key_of_the_dashboard_and_prometheus_takes_its_queries() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rules = folder.path().join("queries.yml");
    let mut check = python();
    check.arg(repository().join("tests/fixtures/check_grafana.py"));
    finish(check.arg(repository().join("docs/grafana-dashboard.json")).arg(&rules), PATIENCE).expect(0);
    promtool(&["check", "rules"], &rules).expect(0);
}

#[test]
#[ignore = "needs promtool: run by scripts/test.sh"]
fn the_alerts_of_the_documentation_fire_when_they_should() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = fs::read_to_string(repository().join("docs/outputs.md")).expect("the page is there");
    let rules =
        page.split("```yaml\n").find(|block| block.starts_with("groups:")).expect("the page has rules");
    let rules = rules.split("```").next().expect("the block ends");
    fs::write(folder.path().join("alerts.yml"), rules).expect("the folder can be written to");
    let alert = |name: &str, at: &str, suites: &[&str]| {
        let fires: Vec<_> = suites
            .iter()
            .map(|suite| match name {
                "RdmaNotMeasured" => json!({ "exp_labels": { "suite": suite, "state": "not_measured" } }),
                _ => json!({ "exp_labels": { "suite": suite } }),
            })
            .collect();
        json!({ "alertname": name, "eval_time": at, "exp_alerts": fires })
    };
    let series = |series: &str, values: &str| json!({ "series": series, "values": values });
    let test = json!({
        "rule_files": ["alerts.yml"],
        "tests": [{
            "interval": "1h",
            "input_series": [
                series("rdma_bench_night_exit_code{suite=\"bad\"}", "1x40"),
                series("rdma_bench_night_exit_code{suite=\"good\"}", "0x40"),
                series("rdma_bench_last_run_timestamp_seconds{suite=\"bad\"}", "0x40"),
                series("rdma_bench_series{suite=\"bad\",state=\"not_measured\"}", "1x40"),
                series("rdma_bench_series{suite=\"good\",state=\"not_measured\"}", "0x40"),
            ],
            "alert_rule_test": [
                alert("RdmaRegression", "1h", &["bad"]),
                alert("RdmaNotMeasured", "1h", &["bad"]),
                alert("RdmaNightMissing", "28h", &[]),
                alert("RdmaNightMissing", "29h", &["bad"]),
            ],
        }],
    });
    let file = folder.path().join("test.yml");
    fs::write(&file, test.to_string()).expect("the folder can be written to");
    promtool(&["test", "rules"], &file).expect(0);
}
