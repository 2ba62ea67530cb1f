//! The program with a fake verbs-bench: what it prints, keeps and exits with, and what becomes of processes that misbehave.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use reports::testing::Sample;
use schema::{Campaign, CampaignState, Outcome, RunRecord, Side, Stage};
use serde_json::Value;

const SCENARIO: &str = r#"question = "Deeper?"
[hosts.requester]
device = "soft"
[design]
blocks = 6
seed = 1
cooldown = "0s"
duration = "100ms"
[[workloads]]
name = "write"
test = "bandwidth"
op = "write"
[[variants]]
name = "shallow"
baseline = true
tx_depth = 1
[[variants]]
name = "deep"
tx_depth = 128
"#;

/// A folder with a scenario, a fake verbs-bench and a store.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Bench { folder: tempfile::tempdir().unwrap() };
        fs::write(bench.file("deeper.toml"), SCENARIO).unwrap();
        let fake = bench.file("verbs-bench");
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/verbs-bench.sh"), &fake).unwrap();
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
        bench.write_records();
        bench
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The records the fake gives, without the spec, which it puts in front.
    fn write_records(&self) {
        let campaign = Sample { blocks: 1, noise: 1e-6, latencies: 100, ..Sample::default() }.campaign();
        for (variant, file) in [("base", "shallow.json"), ("deep", "deep.json")] {
            let run = campaign.runs.iter().find(|run| run.variant == variant).unwrap();
            fs::write(self.file(file), rest(&run.record, &["spec"])).unwrap();
        }
        fs::write(self.file("bare.json"), rest(&campaign.runs[0].record, &["spec", "outcome", "points"]))
            .unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rdma-harness"));
        command.current_dir(self.folder.path()).env("VERBS_BENCH", self.file("verbs-bench"));
        command.args(arguments).args(["--store", "store.db"]);
        command
    }

    fn harness(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The same while the fake misbehaves.
    fn misbehaving(&self, how: &str, arguments: &[&str]) -> Output {
        self.command(arguments).env("FAKE", how).output().unwrap()
    }

    fn start(&self, how: &str, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.env("FAKE", how).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn campaign(&self) -> Campaign {
        serde_json::from_slice(&self.harness(&["export", "--format", "json"]).stdout).unwrap()
    }

    /// Waits until the fake has left a file, and gives its text.
    fn wait_for(&self, name: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match fs::read_to_string(self.file(name)) {
                Ok(text) if text.ends_with('\n') => return text,
                _ if Instant::now() > deadline => panic!("{name} never came"),
                _ => thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

/// A record as JSON without some keys and without its opening brace.
fn rest(record: &RunRecord, without: &[&str]) -> String {
    let Value::Object(mut object) = serde_json::to_value(record).unwrap() else { unreachable!() };
    object.retain(|key, _| !without.contains(&key.as_str()));
    serde_json::to_string(&object).unwrap().split_off(1) + "\n"
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("killed: {}", text(&output.stderr)))
}

#[test]
fn a_scenario_ends_in_a_verdict_a_report_and_a_store() {
    let bench = Bench::new();
    let output = bench.harness(&["run", "deeper.toml", "--report", "out"]);
    let stdout = text(&output.stdout);
    assert_eq!(code(&output), 0, "{stdout}{}", text(&output.stderr));
    assert!(stdout.contains("bandwidth") && stdout.contains("out/report.html"), "{stdout}");
    for file in ["out/report.html", "out/report.md", "out/report.json"] {
        assert!(bench.file(file).metadata().unwrap().len() > 100, "{file}");
    }
    let campaign = bench.campaign();
    assert_eq!((campaign.runs.len(), campaign.state), (18, CampaignState::Finished));
    let tokens = fs::read_to_string(bench.file("tokens")).unwrap();
    assert_eq!(tokens.lines().count(), 36);
    assert!(tokens.lines().all(|token| !Path::new(token).exists()), "tokens die with their run");
    let calls = fs::read_to_string(bench.file("calls")).unwrap();
    assert!(calls.lines().all(|call| call.contains("--exit-with-parent")), "{calls}");
}

#[test]
fn a_run_whose_thread_moved_is_kept_named_and_not_used() {
    let bench = Bench::new();
    let output = bench.misbehaving("straying", &["run", "deeper.toml", "--report", "out"]);
    assert_eq!(code(&output), 4, "five pairs are no verdict: {}", text(&output.stderr));
    let why = "thread-cpu (requester): pinned to CPU 2, seen on CPU 7";
    assert!(text(&output.stdout).contains(why), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("invalid: thread-cpu"), "{}", text(&output.stderr));
    let campaign = bench.campaign();
    let invalid: Vec<_> = campaign.runs.iter().filter(|run| !run.record.is_valid()).collect();
    assert_eq!(invalid.len(), 1);
    assert_eq!(
        (invalid[0].variant.as_str(), &invalid[0].record.invalid[..]),
        ("deep", &[why.to_owned()][..])
    );
    assert!(!invalid[0].record.points.is_empty(), "its numbers are kept");
    for run in &campaign.runs {
        let sides: Vec<Side> = run.record.evidence.iter().map(|evidence| evidence.side).collect();
        assert_eq!(sides, [Side::Requester, Side::Responder]);
        assert!(run.record.judgements.iter().any(|judgement| judgement.check == "residency"));
    }
    let comparison: Value = serde_json::from_slice(&bench.harness(&["compare", "--json"]).stdout).unwrap();
    assert_eq!(comparison["unusable"][0]["kind"], "excluded");
    let gate = comparison["cells"].as_array().unwrap().iter().find(|cell| cell["gated"] == true).unwrap();
    assert_eq!(gate["pairs"].as_array().unwrap().len(), 5);
    for file in ["out/report.html", "out/report.md"] {
        assert!(fs::read_to_string(bench.file(file)).unwrap().contains(why), "{file}");
    }
    assert!(text(&bench.harness(&["export", "--format", "csv"]).stdout).contains(",invalid,"));
    assert!(text(&bench.harness(&["runs", "1"]).stdout).contains("invalid: thread-cpu"));
}

#[test]
fn json_is_one_document_and_nothing_else() {
    let bench = Bench::new();
    let output = bench.harness(&["run", "deeper.toml", "--json"]);
    let comparison: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(comparison["verdict"], "improved");
    let again: Value = serde_json::from_slice(&bench.harness(&["compare", "1", "--json"]).stdout).unwrap();
    assert_eq!(again, comparison);
}

#[test]
fn the_other_commands_read_what_was_kept() {
    let bench = Bench::new();
    assert_eq!(code(&bench.harness(&["runs"])), 2);
    assert_eq!(code(&bench.harness(&["run", "deeper.toml"])), 0);
    assert!(text(&bench.harness(&["runs"]).stdout).contains("18 of 18"));
    assert_eq!(text(&bench.harness(&["runs", "1"]).stdout).lines().count(), 19);
    assert_eq!(code(&bench.harness(&["compare"])), 0);
    assert_eq!(code(&bench.harness(&["compare", "2"])), 2);
    assert_eq!(code(&bench.harness(&["report", "--out", "r"])), 0);
    assert!(bench.file("r/report.html").exists());
    assert_eq!(code(&bench.harness(&["export", "--format", "csv", "--out", "runs.csv"])), 0);
    assert!(fs::read_to_string(bench.file("runs.csv")).unwrap().lines().count() > 18);
    let hlog = text(&bench.harness(&["export", "--format", "hlog", "--variant", "deep"]).stdout);
    assert!(hlog.contains("#[Histogram log format version 1.3]"), "{hlog}");
    assert_eq!(hlog.lines().filter(|line| line.contains("/deep/")).count(), 6, "{hlog}");
    let unknown = bench.harness(&["export", "--format", "csv", "--variant", "deeep"]);
    assert_eq!(code(&unknown), 2);
    assert!(text(&unknown.stderr).contains("shallow, deep"));
}

#[test]
fn plan_and_dry_run_touch_nothing() {
    let bench = Bench::new();
    let plan = text(&bench.harness(&["plan", "deeper.toml"]).stdout);
    assert!(plan.contains("Deeper?") && plan.contains("seed 1") && plan.contains("18 runs"), "{plan}");
    assert_eq!(text(&bench.harness(&["run", "deeper.toml", "--dry-run"]).stdout), plan);
    assert!(!bench.file("store.db").exists() && !bench.file("calls").exists());
}

#[test]
fn a_wrong_scenario_is_refused_before_anything_runs() {
    let bench = Bench::new();
    fs::write(bench.file("wrong.toml"), SCENARIO.replace("tx_depth = 128", "tx_depth = 0")).unwrap();
    let output = bench.harness(&["run", "wrong.toml"]);
    assert_eq!(code(&output), 2);
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("variants[1].tx_depth: 0 is outside") && stderr.contains("wrong.toml:19:12"),
        "{stderr}"
    );
    assert!(!bench.file("store.db").exists() && !bench.file("calls").exists());
}

#[test]
fn each_misbehaviour_is_a_failure_with_its_own_cause_and_ends_a_hopeless_campaign() {
    for (how, side, stage, wanted) in [
        ("garbage", Side::Requester, Stage::Launch, "is not a record"),
        ("silent", Side::Requester, Stage::Launch, "exit code 3: verbs-bench: something broke"),
        ("refused", Side::Requester, Stage::Preflight, "refused the run"),
        ("killed", Side::Requester, Stage::Launch, "killed by signal 9"),
        ("chatty", Side::Responder, Stage::Launch, "did not say where it listens"),
        ("stillborn", Side::Responder, Stage::Launch, "no device"),
        ("failing", Side::Responder, Stage::Connect, "no path"),
    ] {
        let bench = Bench::new();
        let output = bench.misbehaving(how, &["run", "deeper.toml"]);
        assert_eq!(code(&output), 3, "{how}");
        assert!(text(&output.stderr).contains(wanted), "{how}: {}", text(&output.stderr));
        let campaign = bench.campaign();
        assert_eq!((campaign.runs.len(), campaign.state), (3, CampaignState::Unfinished), "{how}");
        match &campaign.runs[0].record.outcome {
            Outcome::Failed { stage: found, side: on, cause, .. } => {
                assert_eq!((*found, *on), (stage, side), "{how}");
                assert!(cause.contains(wanted), "{how}: {cause}");
            }
            other => panic!("{how}: {other}"),
        }
        assert_eq!(code(&bench.harness(&["run", "deeper.toml", "--resume", "--retry-failed"])), 0, "{how}");
        assert_eq!(bench.campaign().runs.len(), 18, "{how}");
    }
}

#[test]
fn a_verbs_bench_that_cannot_be_loaded_or_found_is_said_at_once() {
    let bench = Bench::new();
    let output = bench.misbehaving("unlinked", &["run", "deeper.toml"]);
    assert_eq!(code(&output), 3);
    assert!(text(&output.stderr).contains("apt-get install libnuma1"), "{}", text(&output.stderr));
    let output = bench.harness(&["run", "deeper.toml", "--verbs-bench", "/nowhere/verbs-bench"]);
    assert_eq!(code(&output), 3);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("/nowhere/verbs-bench"), "{stderr}");
    assert_eq!(stderr.matches("No such file").count(), 1, "a cause is said once: {stderr}");
    assert!(!bench.file("store.db").exists());
}

#[test]
fn interrupted_in_a_run_it_ends_its_children_keeps_the_others_and_goes_on() {
    let bench = Bench::new();
    let mut child = bench.start("hanging", &["run", "deeper.toml"]);
    let fake = bench.wait_for("hanging");
    signal(&child, "INT");
    let deadline = Instant::now() + Duration::from_secs(10);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it did not stop");
        thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 3);
    assert!(text(&output.stderr).contains("0 of 18 runs are kept"), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--resume"), "{}", text(&output.stderr));
    assert!(!Path::new("/proc").join(fake.trim()).exists(), "the child lives on");
    assert_eq!(code(&bench.harness(&["run", "deeper.toml", "--resume"])), 0);
    assert_eq!(bench.campaign().runs.len(), 18);
}

#[test]
fn killed_at_any_moment_the_store_opens_and_resume_completes_with_the_same_order() {
    let bench = Bench::new();
    let mut child = bench.start("slow", &["run", "deeper.toml"]);
    thread::sleep(Duration::from_millis(1_500));
    child.kill().unwrap();
    child.wait().unwrap();
    let before = bench.campaign();
    assert!(before.runs.len() < 18, "it was too fast to be killed");
    let output = bench.harness(&["run", "deeper.toml", "--resume"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let after = bench.campaign();
    assert_eq!((after.id, after.runs.len()), (before.id, 18));
    assert_eq!(after.runs[..before.runs.len()], before.runs);
    assert!(after.runs.iter().enumerate().all(|(n, run)| run.sequence as usize == n));
    assert_eq!(code(&bench.harness(&["run", "deeper.toml", "--resume"])), 2, "nothing is left to resume");
}

#[test]
fn resume_refuses_a_changed_scenario() {
    let bench = Bench::new();
    let mut child = bench.start("hanging", &["run", "deeper.toml"]);
    bench.wait_for("hanging");
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(bench.file("deeper.toml"), SCENARIO.replace("128", "64")).unwrap();
    let output = bench.harness(&["run", "deeper.toml", "--resume"]);
    assert_eq!(code(&output), 2);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("-tx_depth = 128") && stderr.contains("+tx_depth = 64"), "{stderr}");
}

#[test]
fn two_at_once_are_refused() {
    let bench = Bench::new();
    let mut first = bench.start("hanging", &["run", "deeper.toml"]);
    bench.wait_for("hanging");
    let output = bench.harness(&["run", "deeper.toml"]);
    assert_eq!(code(&output), 3);
    assert!(text(&output.stderr).contains("another rdma-harness is measuring"), "{}", text(&output.stderr));
    signal(&first, "TERM");
    first.wait().unwrap();
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}
