//! What is exported of a night, read by the tools it is for: Prometheus' promtool and parsers, Apache Otava, the JUnit schema of
//! Ant, Grafana's own types, JSON schemas, a Markdown parser.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use e2e::{Finished, finish, programs::PATIENCE, programs::repository, rdma_harness};
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
fn read_folder<R: serde::de::DeserializeOwned>(folder: &Path) -> R {
    let mut reader = python();
    reader.arg(repository().join("tests/fixtures/check_outputs.py")).arg(folder);
    let read = finish(&mut reader, Duration::from_secs(300)).expect(0).json();
    let check = "\"${PROMTOOL:-promtool}\" check metrics < \"$0\"";
    let said =
        finish(Command::new("sh").args(["-c", check]).arg(folder.join("metrics.prom")), PATIENCE).expect(0);
    assert_eq!(said.stdout.clone() + &said.stderr, "", "promtool has something to say");
    read
}

fn read(folder: &Path) -> Read {
    let read: Read = read_folder(folder);
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

/// What `check_outputs.py` has read of a cluster.
#[derive(Debug, Deserialize)]
struct ReadCluster {
    junit: Junit,
    prometheus: ClusterMetrics,
    open_metrics: ClusterMetrics,
    csv: ClusterRuns,
    matrix: u32,
    markdown: Markdown,
}

#[derive(Debug, PartialEq, Deserialize)]
struct ClusterMetrics {
    exit_code: f64,
    names: Vec<String>,
    nodes: Vec<String>,
    findings: Vec<(String, String, String)>,
    pairs: u32,
}

#[derive(Debug, Deserialize)]
struct ClusterRuns {
    rows: u32,
    why: u32,
}

#[test]
#[ignore = "needs the Python packages of tests/requirements.txt and promtool: run by scripts/test.sh"]
fn every_form_of_a_cluster_is_read_by_the_tool_it_is_for() {
    let read: ReadCluster = read_folder(&golden("clusters"));
    let Junit { tests, failures, errors, skipped } = read.junit;
    assert_eq!((tests, failures, errors, skipped), (12, 2, 2, 2));
    assert_eq!(read.prometheus, read.open_metrics);
    assert_eq!((read.prometheus.exit_code, read.prometheus.pairs), (1.0, 0));
    assert_eq!(read.prometheus.names.len(), 15);
    assert_eq!(read.prometheus.nodes.len(), 7, "one never came and has no number");
    let link = ("link".to_owned(), "node1".to_owned(), "node6".to_owned());
    assert!(read.prometheus.findings.contains(&link), "{:?}", read.prometheus.findings);
    assert_eq!((read.csv.rows, read.csv.why), (118, 37));
    assert_eq!((read.markdown.rows, read.markdown.columns), (20, vec![5, 6, 7]));

    // Names with quotes, ends of lines and markup, and every pair for monitoring.
    let awkward: ReadCluster = read_folder(&golden("clusters/awkward"));
    assert_eq!(awkward.prometheus, awkward.open_metrics);
    assert_eq!((awkward.prometheus.pairs, awkward.matrix), (read.matrix, read.matrix));
    assert_eq!((awkward.junit.tests, awkward.csv.rows, awkward.markdown.rows), (12, 118, 20));
    assert!(awkward.prometheus.nodes.iter().any(|name| name.contains('\n')));
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

fn in_folder(folder: &Path, arguments: &[&str]) -> Finished {
    finish(rdma_harness(arguments).current_dir(folder).args(["--store", "store.db"]), PATIENCE)
}

/// Forty days of two series, five runs each, as another tool would have logged them: node1 is 5 % slower from the 35th day on.
fn logged() -> String {
    let mut text =
        "time,scenario,workload,msg_bytes,metric,value,unit,requester_host,requester_device,responder_host\n"
            .to_owned();
    let wobble = [0.0012, -0.0031, 0.0024, -0.0008, 0.0037, -0.0019, -0.0027];
    for day in 0..40_u64 {
        for (i, host) in ["node1", "node2"].into_iter().enumerate() {
            let level = if host == "node1" && day >= 34 { 97.4 * 0.95 } else { 97.4 };
            for run in 0..5_i32 {
                let off = wobble[(3 * day as usize + i) % wobble.len()] + 0.0004 * f64::from(run - 2);
                let (time, value) = (FIRST_DAY + day * 86_400, level * (1.0 + off));
                text += &format!("{time},rack,write,64Ki,bandwidth,{value:.4},Gb/s,{host},mlx5_0,node3\n");
            }
        }
    }
    text
}

/// 2026-10-01 02:00 UTC, s.
const FIRST_DAY: u64 = 1_790_820_000;

#[test]
#[ignore = "needs the Python packages of tests/requirements.txt and promtool: run by scripts/test.sh"]
fn otava_and_we_find_the_same_step_in_logs_of_another_tool() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("log.csv"), logged()).expect("the folder can be written to");
    in_folder(folder.path(), &["import", "csv", "log.csv", "--suite", "rack"]).expect(0);
    in_folder(folder.path(), &["history", "export", "--out", "results"]).expect(0);
    let read = read(&folder.path().join("results"));
    let Junit { tests, failures, errors, skipped } = read.junit;
    assert_eq!((tests, failures, errors, skipped), (2, 1, 0, 0));
    assert_eq!(read.prometheus.exit_code, 1.0);
    assert_eq!(read.prometheus.states, ["regressed", "steady"]);
    // Of the last night; those of earlier nights are in the store.
    assert_eq!((read.csv.runs, read.csv.rows), (10, 10));
    let [(series, changes)] = &read.otava.iter().collect::<Vec<_>>()[..] else { panic!("{:?}", read.otava) };
    assert!(series.contains("/node1:"), "{series}");
    assert_eq!(**changes, [(FIRST_DAY + 34 * 86_400, "-5".to_owned())]);
    let said = fs::read_to_string(folder.path().join("results/annotations.txt")).expect("it was written");
    assert!(
        said.starts_with("::error title=rack%3A Regressed::since night 35 (2026-11-04), new: "),
        "{said}"
    );
}

#[test]
fn an_earlier_night_is_exported_as_it_was_then() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("log.csv"), logged()).expect("the folder can be written to");
    in_folder(folder.path(), &["import", "csv", "log.csv", "--suite", "rack"]).expect(0);
    let export = |arguments: &[&str]| in_folder(folder.path(), &[&["history", "export"], arguments].concat());
    let then = export(&["--format", "prometheus", "--night", "30"]).expect(0).stdout;
    assert!(then.contains("rdma_bench_night_exit_code{suite=\"rack\"} 0\n"), "{then}");
    let table = export(&["--format", "csv", "--night", "30"]).expect(0).stdout;
    assert_eq!(table.lines().count(), 1 + 30 * 2 * 5);
    let whole = export(&["--format", "otava"]).expect(0).stdout;
    assert_eq!(whole.lines().count(), 1 + 40);
    let refused = export(&["--format", "junit", "--night", "77"]).expect(2);
    assert!(refused.stderr.contains("there is no night 77; there are nights 1 to 40 of rack"), "{refused:?}");
    let refused = export(&["--format", "hlog"]).expect(2);
    assert!(refused.stderr.contains("night 40 was imported and has no histograms"), "{refused:?}");
    assert!(export(&[]).expect(2).stderr.contains("--out"));
}

/// A night of one size and short runs on the software NIC.
const SUITE: &str = "question = \"Is it as it was?\"\n\n[[scenarios]]\nfile = \"writes.toml\"\n";
const WRITES: &str = "question = \"How fast are writes?\"

[hosts.requester]
device = \"soft\"

[hosts.responder]
cpu = \"none\"

[soft]
model = \"latency=20us,rate=8Gbps\"

[design]
seed = 1
duration = \"60ms\"
warmup = \"10ms\"
cooldown = \"1ms\"

[[workloads]]
name = \"write-64Ki\"
test = \"bandwidth\"
op = \"write\"
size = \"64Ki\"
";

#[test]
#[ignore = "needs the Python packages of tests/requirements.txt and promtool: run by scripts/test.sh"]
fn a_night_leaves_its_files_and_its_histograms_are_read_by_another_implementation() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("small.toml"), SUITE).expect("the folder can be written to");
    fs::write(folder.path().join("writes.toml"), WRITES).expect("the folder can be written to");
    let mut night = rdma_harness(&["nightly", "small.toml", "--out", "results", "--store", "store.db"]);
    finish(night.current_dir(folder.path()), Duration::from_secs(120)).expect(0);
    let results = folder.path().join("results");
    let read = read(&results);
    // Too young to be judged, and said to be.
    assert_eq!((read.junit.tests, read.junit.failures, read.junit.skipped), (1, 0, 1));
    assert_eq!(read.csv.runs, 5);
    assert!(read.prometheus.names.contains(&"rdma_bench_last_run_timestamp_seconds".to_owned()));
    for file in ["night.md", "annotations.txt", "junit.xml"] {
        let text = fs::read_to_string(results.join(file)).expect("it was written");
        assert!(text.to_lowercase().contains("simulated"), "{file} does not say so: {text}");
    }
    let mut reader = python();
    reader.arg(repository().join("tests/fixtures/read_hlog.py")).arg(results.join("runs.hlog"));
    assert_eq!(finish(&mut reader, PATIENCE).expect(0).stdout.lines().count(), 5);
    // The same from the store, to the byte.
    in_folder(folder.path(), &["history", "export", "--out", "again"]).expect(0);
    for entry in fs::read_dir(&results).expect("the folder is there") {
        let name = entry.expect("it can be listed").file_name();
        let bytes = |from: &str| fs::read(folder.path().join(from).join(&name)).expect("it was written");
        assert_eq!(bytes("results"), bytes("again"), "{name:?}");
    }
}
