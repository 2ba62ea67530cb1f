//! Nights through the programs, on the software NIC in fast motion: what changed is found, what was changed is named, and a
//! night that is stopped anywhere goes on.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{
    Finished, Rack, finish,
    programs::{PATIENCE, await_end},
    rack::{RATE, SCENARIO, SUITE},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::{Pid, Signal, kill_process};
use schema::Campaign;
use serde_json::Value;

/// The rate of the model, less 5 %.
const SLOWER: &str = "rate=3800Mbps";

const NIGHTS: u32 = 20;
/// The first night with another firmware.
const FIRMWARE: u32 = 10;
/// The first night on a slower link.
const LOSS: u32 = 15;

/// What was found: by which question, how sure, which way, and since which night.
fn findings(report: &Value) -> Vec<(String, String, String, i64)> {
    let word = |finding: &Value, key: &str| finding[key].as_str().expect("a word").to_owned();
    let findings = report["findings"].as_array().expect("a report has findings").iter();
    findings
        .map(|finding| {
            let since = finding["since"].as_i64().expect("a night");
            (word(finding, "found_by"), word(finding, "certainty"), word(finding, "trend"), since)
        })
        .collect()
}

/// The parts of a night, campaign by campaign.
fn parts(report: &Value) -> Vec<&str> {
    let campaigns = report["night"]["campaigns"].as_array().expect("a night has campaigns");
    campaigns.iter().map(|campaign| campaign["part"].as_str().expect("a word")).collect()
}

#[test]
fn twenty_nights_find_a_loss_the_night_it_comes_and_name_a_firmware_that_changed() {
    let rack = Rack::new();
    let other = rack.verbs_bench_with_firmware("20.32.1010");
    for night in 1..=NIGHTS {
        if night == LOSS {
            rack.write("link.toml", &SCENARIO.replace(RATE, SLOWER));
        }
        let mut harness = rack.harness(&["nightly", "rack.toml", "--json"]);
        if night >= FIRMWARE {
            harness.env("VERBS_BENCH", &other);
        }
        let ended = finish(&mut harness, PATIENCE);
        let report: Value = ended.json();
        assert_eq!(ended.code, Some(i32::from(night >= LOSS)), "night {night}: {}", ended.stderr);
        let changed: Vec<&str> = report["configuration_changes"]
            .as_array()
            .expect("a report has them")
            .iter()
            .map(|change| change["what"].as_str().expect("a name"))
            .collect();
        let firmware = ["requester.firmware", "responder.firmware"];
        assert_eq!(changed, firmware[..if night == FIRMWARE { 2 } else { 0 }], "night {night}");
        if night < LOSS {
            assert_eq!(findings(&report), [], "night {night}");
        }
        if night == LOSS {
            the_loss_is_found(&report);
            the_loss_is_shown(&rack);
        }
    }
    a_pinned_night_tells_the_loss_and_the_firmware_apart(&rack);
}

/// By the fence, with both series in one finding, and confirmed by runs made again the same night.
fn the_loss_is_found(report: &Value) {
    let id = report["night"]["id"].as_i64().expect("a number");
    let found = ("fence".to_owned(), "confirmed".to_owned(), "regressed".to_owned(), id);
    assert_eq!(findings(report), [found]);
    assert_eq!(parts(report), ["first", "confirm"]);
    let members = report["findings"][0]["members"].as_array().expect("a finding has members");
    assert_eq!(members.len(), 2);
    for member in members {
        let change = member["change"]["change"].as_f64().expect("a change");
        // 1/0.95 of the time on the wire, beside 2 us there and back.
        assert!((0.04..0.06).contains(&change), "{member}");
    }
}

/// As a failure in JUnit XML, and first on the dashboard, beside the report of its campaigns.
fn the_loss_is_shown(rack: &Rack) {
    let junit =
        finish(&mut rack.harness(&["history", "export", "--format", "junit"]), PATIENCE).expect(0).stdout;
    assert_eq!(junit.matches("<failure").count(), 2, "{junit}");
    let alone = finish(&mut rack.harness(&["compare"]), PATIENCE).expect(2);
    assert!(alone.stderr.contains("has one variant, so there is nothing to compare"), "{alone:?}");
    finish(&mut rack.harness(&["history", "dashboard", "--out", "site"]), PATIENCE).expect(0);
    let page = fs::read_to_string(rack.path("site/index.html")).expect("the page is there");
    assert!(page.contains("Regressed") && page.contains("link/read"), "the page does not tell it");
    let reports =
        fs::read_dir(rack.path(&format!("site/night-{LOSS}"))).expect("the night's reports are there");
    assert_eq!(reports.count(), 2, "one of the first runs, one of those made again");
}

fn a_pinned_night_tells_the_loss_and_the_firmware_apart(rack: &Rack) {
    let baseline = |arguments: &[&str]| finish(rack.harness(&["baseline"]).args(arguments), PATIENCE);
    let before_both = (FIRMWARE - 1).to_string();
    baseline(&["set", "good", "--night", &before_both]).expect(0);
    assert!(baseline(&["show"]).expect(0).stdout.contains("good"));
    let worse = baseline(&["diff", "good"]).expect(1).stdout;
    for words in ["against `good`", "+5.", "differs: requester.firmware unknown → 20.32.1010"] {
        assert!(worse.contains(words), "no `{words}` in:\n{worse}");
    }
    baseline(&["diff", "good", "--night", &(LOSS - 1).to_string()]).expect(0);
    baseline(&["remove", "good"]).expect(0);
    let gone = baseline(&["diff", "good"]).expect(2).stderr;
    assert!(gone.contains("no night of suite `rack` is pinned as `good`; pinned: none"), "{gone}");
}

#[test]
fn a_suite_that_cannot_be_run_is_refused_before_anything_is_touched() {
    for (file, from, to, words) in [
        ("rack.toml", "runs = 5", "runs = 2", &["rack.toml:2", "runs", "median", "^"][..]),
        ("rack.toml", "link.toml", "lnik.toml", &["rack.toml:4", "scenarios[0].file", "lnik.toml", "^"]),
        ("rack.toml", "nights_to_start", "nights_to_strat", &["rack.toml:7", "nights_to_start", "^"]),
        (
            "rack.toml",
            "metrics = [\"p50\"]",
            "metrics = [\"bandwidth\"]",
            &["rack.toml:5", "no workload", "^"],
        ),
        ("link.toml", "op = \"read\"", "op = \"raed\"", &["link.toml:16", "raed", "^"]),
    ] {
        let rack = Rack::new();
        let text = if file == "rack.toml" { SUITE } else { SCENARIO };
        assert!(text.contains(from), "{from}");
        rack.write(file, &text.replace(from, to));
        for more in [&[][..], &["--dry-run"]] {
            let mut harness = rack.harness(&["nightly", "rack.toml"]);
            let refused = finish(harness.args(more), PATIENCE).expect(2);
            for word in words {
                assert!(refused.stderr.contains(word), "{to}: no `{word}` in:\n{}", refused.stderr);
            }
        }
        assert!(!rack.path("store.db").exists(), "{to}: a store was made");
    }
    let rack = Rack::new();
    let scenario = finish(&mut rack.harness(&["run", "link.toml"]), PATIENCE).expect(2);
    assert!(scenario.stderr.contains("rdma-harness nightly"), "{}", scenario.stderr);
}

#[test]
fn a_dry_run_says_what_would_run_and_makes_nothing() {
    let rack = Rack::new();
    let shown = finish(&mut rack.harness(&["nightly", "rack.toml", "--dry-run"]), PATIENCE).expect(0);
    for words in ["link/default: 5 runs, 5 of each workload", "p50 of read at 64Ki", "2 series"] {
        assert!(shown.stdout.contains(words), "no `{words}` in:\n{}", shown.stdout);
    }
    assert!(!rack.path("store.db").exists());
}

/// A night at work, and the runs it has said on stderr.
struct AtWork {
    child: Child,
    said: BufReader<std::process::ChildStderr>,
    text: String,
}

impl AtWork {
    fn start(rack: &Rack, arguments: &[&str]) -> Self {
        let mut harness = rack.harness(&["nightly", "rack.toml"]);
        let harness =
            harness.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = harness.spawn().expect("rdma-harness starts");
        let said = BufReader::new(child.stderr.take().expect("a pipe"));
        AtWork { child, said, text: String::new() }
    }

    /// Reads on until a line has these words.
    #[track_caller]
    fn until(&mut self, words: &str) {
        let started = Instant::now();
        while !self.text.lines().any(|line| line.contains(words)) {
            let read = self.said.read_line(&mut self.text).expect("stderr can be read");
            assert!(read > 0 && started.elapsed() < PATIENCE, "`{words}` was not said:\n{}", self.text);
        }
    }

    fn interrupt(self) -> Finished {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).expect("it is running");
        let AtWork { mut child, mut said, mut text } = self;
        let rest = thread::spawn(move || {
            let mut rest = String::new();
            let _ = said.read_to_string(&mut rest);
            rest
        });
        child.stderr = None;
        let ended = await_end(child, Instant::now(), PATIENCE);
        text.push_str(&rest.join().expect("it reads to the end"));
        Finished { stderr: text, ..ended }
    }
}

#[test]
fn while_one_night_runs_a_second_is_refused_and_one_that_is_interrupted_goes_on() {
    let rack = Rack::new();
    rack.write("link.toml", &SCENARIO.replace("duration = \"60ms\"", "duration = \"600ms\""));
    let mut first = AtWork::start(&rack, &[]);
    first.until("run 2 of 5");
    let second = finish(&mut rack.harness(&["nightly", "rack.toml"]), PATIENCE).expect(3);
    assert!(second.stderr.contains("another rdma-harness is measuring into"), "{}", second.stderr);
    let stopped = first.interrupt().expect(3);
    assert!(stopped.stderr.contains("night 1 was stopped; what is done is kept"), "{}", stopped.stderr);
    assert!(stopped.stderr.contains("nightly rack.toml --store store.db --resume"), "{}", stopped.stderr);
    let elsewhere = finish(&mut rack.harness(&["run", "link.toml", "--resume"]), PATIENCE).expect(2);
    assert!(!elsewhere.stderr.contains("panicked"), "{}", elsewhere.stderr);

    let rest = finish(&mut rack.harness(&["nightly", "rack.toml", "--resume"]), PATIENCE).expect(0);
    assert!(!rest.stderr.contains("of 5:"), "runs that were kept are made again:\n{}", rest.stderr);
    only_night_is_whole(&rack, 1);
    let again = finish(&mut rack.harness(&["nightly", "rack.toml", "--resume"]), PATIENCE).expect(2);
    assert!(again.stderr.contains("no night of suite `rack` is unfinished"), "{}", again.stderr);
}

#[test]
fn kill_9_anywhere_loses_at_most_the_run_in_flight() {
    let seed = u64::from(std::process::id());
    eprintln!("moments drawn from seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let rack = Rack::new();
    let (mut begun, mut kills) = (false, 0);
    for _ in 0..8 {
        let resume: &[&str] = if begun { &["--resume"] } else { &[] };
        let mut at_work = AtWork::start(&rack, resume);
        thread::sleep(Duration::from_millis(random.random_range(50..700)));
        at_work.child.kill().expect("it can be killed");
        let ended = at_work.child.wait().expect("it can be waited for").success();
        let _ = at_work.said.read_to_string(&mut at_work.text);
        begun |= at_work.text.contains("(campaign ");
        if ended {
            break;
        }
        kills += 1;
    }
    assert!(kills > 0, "it was never killed");
    // A night that was killed at its very end is whole, and there is nothing to go on with.
    let rest: &[&str] = if begun { &["--resume"] } else { &[] };
    let ended = finish(rack.harness(&["nightly", "rack.toml"]).args(rest), PATIENCE);
    assert!(matches!(ended.code, Some(0 | 2)), "{ended:?}");
    only_night_is_whole(&rack, 1);
}

/// The newest campaign has every run once, and the history this many nights, each with a value of five runs for both series.
#[track_caller]
fn only_night_is_whole(rack: &Rack, nights: usize) {
    let campaign: Campaign =
        finish(&mut rack.harness(&["export", "--format", "json"]), PATIENCE).expect(0).json();
    let made: Vec<u32> = campaign.runs.iter().map(|run| run.sequence).collect();
    assert_eq!(made, [0, 1, 2, 3, 4], "a run is missing, or was made twice");
    let report: Value = finish(&mut rack.harness(&["history", "--json"]), PATIENCE).json();
    assert_eq!(report["nights"].as_array().map(Vec::len), Some(nights));
    for series in report["series"].as_array().expect("a report has series") {
        assert_eq!(series["points"][0]["runs"], 5, "{series}");
    }
}
