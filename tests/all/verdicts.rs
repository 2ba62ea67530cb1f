//! The truth of verdicts, from the scenario to the exit code, on campaigns that are really measured: what the software NIC's
//! model puts in is found, what it does not put in is not, and a machine that changes under way gets no verdict.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use e2e::{Scenario, finish, scenario::gate};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(120);
/// As often as a busy machine may spoil a campaign that must find what is there.
const ATTEMPTS: u32 = 3;

/// A latency test of half round trips in place of the bandwidth test.
const LATENCY: [(&str, &str); 4] = [
    (
        "question = \"Does the link carry less than before?\"",
        "question = \"Is the link slower than before?\"",
    ),
    ("test = \"bandwidth\"", "test = \"latency\""),
    ("size = \"64Ki\"", "size = \"8\""),
    ("metric = \"bandwidth\"\nmargin = \"2%\"", "metric = \"p50\"\nmargin = \"3%\""),
];

/// Runs a scenario to its end and returns its comparison.
#[track_caller]
fn compared(scenario: &Scenario) -> Value {
    let ran = finish(&mut scenario.harness(&["run", "depth.toml", "--json"]), LIMIT);
    let comparison: Value = ran.json();
    let wanted = match verdict(&comparison) {
        "improved" | "negligible" | "equivalent" => 0,
        "regressed" => 1,
        "unstable" | "inconclusive" => 4,
        _ => 3,
    };
    assert_eq!(ran.code, Some(wanted), "the exit code says what the verdict says: {ran:?}");
    comparison
}

fn verdict(comparison: &Value) -> &str {
    comparison["verdict"].as_str().expect("a comparison has a verdict")
}

/// A regression that was put in is found with its size: in one of a few attempts, since a busy machine may rightly get no
/// verdict, and never the other way about.
#[track_caller]
fn finds(put_in: f64, changes: &[(&str, &str)]) {
    let mut said = Vec::new();
    for _ in 0..ATTEMPTS {
        let comparison = compared(&Scenario::shaped(changes));
        let (verdict, gate) = (verdict(&comparison), gate(&comparison));
        let change = gate["effect"]["change"].as_f64();
        if verdict == "regressed" {
            assert!(
                change.is_some_and(|change| (change - put_in).abs() < 0.01),
                "{put_in:+} was put in: {gate}"
            );
            return;
        }
        assert!(!matches!(verdict, "improved" | "negligible" | "equivalent"), "{verdict} at {change:?}");
        said.push(format!("{verdict} at {change:?}: {}", gate["control"]));
    }
    panic!("{put_in:+} was not found in {ATTEMPTS} attempts:\n{}", said.join("\n"));
}

#[test]
fn a_loss_of_three_percent_of_bandwidth_is_found() {
    let slower = ("rate=1Gbps\"\nqp_timeout = 15", "rate=970Mbps\"");
    finds(-0.03, &[slower]);
}

#[test]
fn a_rise_of_five_percent_of_the_median_is_found() {
    let models = [
        ("latency=50us,rate=1Gbps", "latency=20us"),
        ("latency=50us,rate=1Gbps\"\nqp_timeout = 15", "latency=21us\""),
    ];
    finds(0.05, &[&LATENCY[..], &models].concat());
}

#[test]
fn twenty_campaigns_without_a_difference_give_no_false_verdict() {
    let mut tally = Vec::new();
    for n in 0..20 {
        let seed = format!("seed = {n}");
        let mut changes =
            vec![("seed = 11", seed.as_str()), ("duration = \"250ms\"", "duration = \"120ms\"")];
        if n % 2 == 1 {
            changes.extend(LATENCY);
            changes.extend([("latency=50us,rate=1Gbps", "latency=20us"); 2]);
        }
        let comparison = compared(&Scenario::shaped(&changes));
        let verdict = verdict(&comparison).to_owned();
        let gate = gate(&comparison);
        assert!(!matches!(&*verdict, "improved" | "regressed"), "campaign {n}: {verdict} by nothing: {gate}");
        tally.push(verdict);
    }
    let settled =
        tally.iter().filter(|verdict| matches!(verdict.as_str(), "equivalent" | "negligible")).count();
    eprintln!("{settled} of 20 were shown to be the same: {tally:?}");
    assert!(settled >= 5, "a harness that never commits itself makes no mistakes either: {tally:?}");
}

/// A loop on a CPU that wants all of it; ends with the test.
struct Hog(Child);

impl Hog {
    fn on(cpu: u32) -> Self {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
        Hog(command.stdin(Stdio::null()).spawn().expect("taskset of util-linux starts"))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_load_that_begins_half_way_leaves_no_verdict() {
    // Without a model the loops want their whole CPU, and the load takes half of it from the tenth run of eighteen on.
    let scenario = Scenario::shaped(&[
        ("device = \"soft\"", "device = \"soft\"\ncpu = \"0\"\n[hosts.responder]\ncpu = \"1\""),
        ("soft_model = \"latency=50us,rate=1Gbps\"", "signal_interval = 1"),
        ("soft_model = \"latency=50us,rate=1Gbps\"", "signal_interval = 1"),
        ("margin = \"2%\"", "margin = \"1%\""),
    ]);
    let mut run = scenario
        .harness(&["run", "depth.toml", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rdma-harness starts");
    let mut hogs = Vec::new();
    for line in BufReader::new(run.stderr.take().expect("a pipe")).lines().map_while(Result::ok) {
        if line.starts_with("run 9 of 18:") {
            hogs = [0, 0, 1].map(Hog::on).into();
        }
    }
    assert_eq!(hogs.len(), 3, "the ninth run was told of");
    assert_eq!(run.wait().expect("it ends").code(), Some(4), "{}", scenario.comparison());
    let comparison = scenario.comparison();
    assert!(matches!(verdict(&comparison), "unstable" | "inconclusive"), "{comparison}");
    let speed = |half: std::ops::Range<u32>| -> f64 {
        let runs = scenario.campaign().runs.into_iter().filter(|run| half.contains(&run.sequence));
        runs.filter_map(|run| run.record.points[0].bandwidth_bits_per_sec).sum()
    };
    let (quiet, loaded) = (speed(0..9), speed(9..18));
    assert!(loaded < 0.8 * quiet, "the load was felt: {quiet} bit/s before it, {loaded} after");
}
