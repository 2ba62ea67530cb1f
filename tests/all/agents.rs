//! Tuned campaigns through their agents, on copies of a host's files: what is turned, proved, kept and turned back, whoever
//! dies in between. The measurement itself is real, on the software NIC.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{Scenario, finish, programs::await_end};
use schema::{Campaign, CampaignRun, KnobState, Outcome, Side, Stage};

pub(crate) const LIMIT: Duration = Duration::from_secs(120);
/// In the environment of everything that a test starts, to find what outlives it.
const MARK: &str = "E2E_AGENTS";
const BACKLOG: &str = "proc/sys/net/core/netdev_max_backlog";
/// Where the journal lies, in a tree.
const STATE: &str = "run/rdma-harness";

/// `plain` and `tuned`, of which the second lasts as long as a test needs to interfere.
pub(crate) const SCENARIO: &str = r#"question = "Does a longer backlog change anything for a device that does not use it?"
[hosts.requester]
device = "soft"
cpu = "none"
[hosts.responder]
cpu = "none"
[design]
blocks = 1
seed = 3
order = "as_written"
warmup = "5ms"
cooldown = "0ms"
[[workloads]]
name = "w"
test = "bandwidth"
op = "write"
size = "4Ki"
[[variants]]
name = "plain"
baseline = true
duration = "50ms"
[[variants]]
name = "tuned"
duration = "50ms"
[variants.tune.sysctl]
"net.core.netdev_max_backlog" = 5000
"#;

/// The tuned run lasts this long where it is interfered with.
const LONG: (&str, &str) = ("name = \"tuned\"\nduration = \"50ms\"", "name = \"tuned\"\nduration = \"6s\"");

/// A host's files, to be tuned.
pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Tree(host::testing::copy("bare-vm"))
    }

    /// The files of another host of the same kind.
    pub(crate) fn of_another_boot() -> Self {
        let tree = Tree::new();
        let boot_id = "5d4c3b2a-0000-4000-8000-0000000000ff\n";
        fs::write(tree.path().join("proc/sys/kernel/random/boot_id"), boot_id).unwrap();
        tree
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn backlog(&self) -> String {
        fs::read_to_string(self.path().join(BACKLOG)).unwrap().trim().to_owned()
    }

    /// Every file with its mode and its bytes, but for the journal.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut files = BTreeMap::new();
        collect(self.path(), &self.path().join(STATE), &mut files);
        files
    }

    /// Waits until the backlog is this.
    #[track_caller]
    pub(crate) fn wait_for(&self, value: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.backlog() != value {
            assert!(Instant::now() < deadline, "the backlog is {} and never {value}", self.backlog());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn collect(folder: &Path, but: &Path, files: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let metadata = fs::symlink_metadata(&entry).unwrap();
        if metadata.is_symlink() {
            let target = fs::read_link(&entry).unwrap().into_os_string().into_encoded_bytes();
            files.insert(entry, (0, target));
        } else if metadata.is_dir() && entry != but {
            collect(&entry, but, files);
        } else if metadata.is_file() {
            let bytes = fs::read(&entry).unwrap();
            files.insert(entry, (metadata.permissions().mode(), bytes));
        }
    }
}

/// `rdma-harness` whose agents take this tree for their host.
fn harness(scenario: &Scenario, tree: &Tree, arguments: &[&str]) -> Command {
    let mut command = scenario.harness(arguments);
    command.env("RDMA_HARNESS_SYSROOT", tree.path()).env(MARK, mark(tree));
    command
}

pub(crate) fn start(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

fn mark(tree: &Tree) -> String {
    tree.path().display().to_string()
}

/// Processes of this test.
fn alive(tree: &Tree) -> Vec<String> {
    let mark = format!("{MARK}={}", mark(tree));
    let of_test = |pid: &PathBuf| {
        fs::read(pid.join("environ"))
            .is_ok_and(|text| text.split(|byte| *byte == 0).any(|word| word == mark.as_bytes()))
    };
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(of_test);
    processes.filter_map(|pid| fs::read_to_string(pid.join("cmdline")).ok()).collect()
}

#[track_caller]
fn assert_nothing_lives_on(tree: &Tree) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !alive(tree).is_empty() {
        assert!(Instant::now() < deadline, "outlives its test: {:?}", alive(tree));
        thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
pub(crate) fn campaign(scenario: &Scenario) -> Campaign {
    finish(&mut scenario.harness(&["export", "--format", "json"]), LIMIT).expect(0).json()
}

/// The states of what a side turned in a run, and the targets.
pub(crate) fn knobs(run: &CampaignRun, side: Side) -> Vec<(KnobState, String)> {
    let evidence = run.record.evidence.iter().find(|evidence| evidence.side == side);
    let evidence = evidence.unwrap_or_else(|| panic!("no evidence of the {side}: {}", run.record.outcome));
    evidence.tuning.iter().map(|knob| (knob.state, knob.target.clone())).collect()
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

/// The agents that a controller has started.
fn agents_of(controller: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{controller}/task/{controller}/children")).unwrap();
    children.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn hosts_are_tuned_for_the_runs_that_say_so_and_for_no_others() {
    let (scenario, tree) = (Scenario::of(&SCENARIO.replace("blocks = 1", "blocks = 6")), Tree::new());
    let before = tree.snapshot();
    let ran = finish(&mut harness(&scenario, &tree, &["run", "depth.toml"]), LIMIT);
    assert!(matches!(ran.code, Some(0 | 1 | 4)), "{ran:?}");
    assert_eq!(tree.snapshot(), before);
    let campaign = campaign(&scenario);
    assert_eq!(campaign.runs.len(), 18);
    for run in &campaign.runs {
        assert!(run.record.outcome.is_completed(), "{}", run.record.outcome);
        for side in [Side::Requester, Side::Responder] {
            let turned = knobs(run, side);
            if run.variant == "plain" {
                assert_eq!(turned, []);
            } else {
                assert_eq!(turned.len(), 1, "{turned:?}");
                assert_eq!(turned[0].0, KnobState::Verified);
                assert!(turned[0].1.contains("netdev_max_backlog"), "{turned:?}");
            }
        }
        assert!(run.record.evidence.iter().all(|evidence| evidence.place == "local"));
    }
    assert_nothing_lives_on(&tree);
}

#[test]
fn the_plan_shows_who_turns_what_and_touches_nothing() {
    let slow = SCENARIO.replace(
        "[variants.tune.sysctl]\n\"net.core.netdev_max_backlog\" = 5000",
        "[variants.tune.huge_pages]\n\"0:2Mi\" = 8",
    );
    let (scenario, tree) = (Scenario::of(&slow), Tree::new());
    let before = tree.snapshot();
    let shown =
        finish(&mut harness(&scenario, &tree, &["run", "depth.toml", "--dry-run"]), LIMIT).expect(0).stdout;
    for word in ["turned once a block and variant", "tuned", "both", "huge_pages 0:2Mi", "instant"] {
        assert!(shown.contains(word), "no `{word}` in:\n{shown}");
    }
    assert_eq!(tree.snapshot(), before);
}

#[test]
fn a_host_that_cannot_be_tuned_so_is_said_before_anything_is_touched() {
    let read_only = |file: &Path| fs::set_permissions(file, fs::Permissions::from_mode(0o444)).unwrap();
    let absent = |file: &Path| fs::remove_file(file).unwrap();
    for spoil in [&read_only as &dyn Fn(&Path), &absent] {
        let (scenario, tree) = (Scenario::of(SCENARIO), Tree::new());
        spoil(&tree.path().join(BACKLOG));
        let before = tree.snapshot();
        let refused = finish(&mut harness(&scenario, &tree, &["run", "depth.toml"]), LIMIT).expect(3);
        assert!(refused.stderr.contains("net.core.netdev_max_backlog"), "{}", refused.stderr);
        assert!(refused.stderr.contains("nothing was written"), "{}", refused.stderr);
        assert_eq!(tree.snapshot(), before);
        let kept = finish(&mut scenario.harness(&["runs", "--json"]), LIMIT).expect(0);
        assert_eq!(kept.json::<Vec<serde_json::Value>>(), Vec::<serde_json::Value>::new());
    }
}

#[test]
fn an_agent_of_another_release_is_refused_by_name() {
    let scenario = Scenario::of("");
    let stranger = scenario.path("agent.sh");
    let hello = r#"{"hello":{"protocol":1,"schema_version":1,"release":"0.0.7","boot_id":null,"netns":null,"hostname":null,"verbs_bench":{"Ok":"x"}}}"#;
    fs::write(&stranger, format!("#!/bin/sh\nread order\necho '{hello}'\ncat > /dev/null\n")).unwrap();
    fs::set_permissions(&stranger, fs::Permissions::from_mode(0o755)).unwrap();
    let agent = format!("[hosts.responder]\nagent = \"{}\"\n", stranger.display());
    fs::write(scenario.path("depth.toml"), SCENARIO.replace("[hosts.responder]\n", &agent)).unwrap();
    let refused = finish(&mut scenario.harness(&["run", "depth.toml"]), LIMIT).expect(3);
    for word in ["the agent of the responder (local)", "0.0.7", "install the same release on both hosts"] {
        assert!(refused.stderr.contains(word), "no `{word}` in: {}", refused.stderr);
    }
    assert!(!scenario.path("store.db").exists());
}

#[test]
fn a_killed_controller_leaves_hosts_as_they_were_and_no_process_behind() {
    let scenario = Scenario::of(&SCENARIO.replace(LONG.0, LONG.1));
    let tree = Tree::new();
    let before = tree.snapshot();
    let mut controller = start(harness(&scenario, &tree, &["run", "depth.toml"]));
    tree.wait_for("5000");
    controller.kill().unwrap();
    controller.wait().unwrap();
    tree.wait_for("1000");
    assert_nothing_lives_on(&tree);
    assert_eq!(tree.snapshot(), before);
    let ended = finish(&mut harness(&scenario, &tree, &["run", "depth.toml", "--resume"]), LIMIT);
    assert!(matches!(ended.code, Some(0 | 1 | 4)), "{ended:?}");
    assert_eq!(campaign(&scenario).runs.len(), 3);
    assert_eq!(tree.snapshot(), before);
}

#[test]
fn interrupted_in_a_tuned_run_it_turns_back_before_it_goes() {
    for name in ["INT", "TERM"] {
        let scenario = Scenario::of(&SCENARIO.replace(LONG.0, LONG.1));
        let tree = Tree::new();
        let before = tree.snapshot();
        let controller = start(harness(&scenario, &tree, &["run", "depth.toml"]));
        tree.wait_for("5000");
        signal(controller.id(), name);
        let ended = await_end(controller, Instant::now(), LIMIT).expect(3);
        assert_eq!(tree.snapshot(), before, "{}", ended.stderr);
        assert!(ended.stderr.contains("1 of 3 runs are kept"), "{}", ended.stderr);
        assert_nothing_lives_on(&tree);
    }
}

#[test]
fn a_killed_agent_fails_the_run_and_what_it_left_is_in_the_way_until_it_is_recovered() {
    let scenario = Scenario::of(&SCENARIO.replace(LONG.0, LONG.1));
    let tree = Tree::new();
    let before = tree.snapshot();
    let controller = start(harness(&scenario, &tree, &["run", "depth.toml"]));
    tree.wait_for("5000");
    let agents = agents_of(controller.id());
    assert_eq!(agents.len(), 2);
    for agent in agents {
        signal(agent, "KILL");
    }
    let ended = await_end(controller, Instant::now(), LIMIT).expect(3);
    assert!(ended.stderr.contains("is gone") && ended.stderr.contains("tune recover"), "{}", ended.stderr);
    assert_eq!(tree.backlog(), "5000", "a killed agent can't turn back");
    assert_nothing_lives_on(&tree);
    let kept = campaign(&scenario).runs;
    assert_eq!(kept.len(), 2);
    assert!(
        matches!(&kept[1].record.outcome, Outcome::Failed { stage: Stage::Launch, .. }),
        "{}",
        kept[1].record.outcome
    );

    let again = ["run", "depth.toml", "--resume", "--retry-failed"];
    let refused = finish(&mut harness(&scenario, &tree, &again), LIMIT).expect(3);
    assert!(refused.stderr.contains("tune recover"), "{}", refused.stderr);
    assert_eq!(campaign(&scenario).runs.len(), 2);
    let untuned =
        SCENARIO.replace("[variants.tune.sysctl]\n\"net.core.netdev_max_backlog\" = 5000", "tx_depth = 7");
    let refused =
        finish(&mut harness(&Scenario::of(&untuned), &tree, &["run", "depth.toml"]), LIMIT).expect(3);
    assert!(
        refused.stderr.contains("tune recover"),
        "a host that a crash left tuned was measured: {}",
        refused.stderr
    );

    let root = tree.path().display().to_string();
    let recovered = finish(&mut e2e::rdma_harness(&["tune", "recover", "--sysroot", &root]), LIMIT).expect(0);
    assert_eq!(tree.snapshot(), before, "{}", recovered.stdout);
    let ended = finish(&mut harness(&scenario, &tree, &again), LIMIT);
    assert!(matches!(ended.code, Some(0 | 1 | 4)), "{ended:?}");
    assert!(campaign(&scenario).runs.iter().all(|run| run.record.outcome.is_completed()));
    assert_eq!(tree.snapshot(), before);
}

#[test]
fn a_baseline_that_someone_has_tuned_meanwhile_is_not_run() {
    let changes = SCENARIO.replace(
        "name = \"plain\"\nbaseline = true\nduration = \"50ms\"",
        "name = \"plain\"\nbaseline = true\nduration = \"2s\"",
    );
    let (scenario, tree) = (Scenario::of(&changes), Tree::new());
    let controller = start(harness(&scenario, &tree, &["run", "depth.toml"]));
    while !alive(&tree).iter().any(|command| command.contains("--peer")) {
        thread::sleep(Duration::from_millis(10));
    }
    fs::write(tree.path().join(BACKLOG), "7777\n").unwrap();
    await_end(controller, Instant::now(), LIMIT).expect(3);
    let runs = campaign(&scenario).runs;
    assert!(
        runs[0].record.outcome.is_completed(),
        "the run in flight was under way: {}",
        runs[0].record.outcome
    );
    let Outcome::Failed { stage, cause, .. } = &runs[1].record.outcome else { panic!("it was run tuned") };
    assert_eq!(*stage, Stage::Tune);
    assert!(cause.contains("was `1000` and is `7777`"), "{cause}");
    assert_eq!(tree.backlog(), "7777", "it is someone else's");
}

#[test]
fn an_agent_refuses_what_is_no_order_and_says_who_it_is() {
    let ask = |orders: &str| {
        let mut child = start_agent();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), orders.as_bytes()).unwrap();
        await_end(child, Instant::now(), LIMIT)
    };
    let hello = "{\"hello\":{\"protocol\":2,\"silence_ms\":null,\"place\":\"local\"}}\n";
    let answered = ask(hello).expect(0);
    let report: serde_json::Value = serde_json::from_str(&answered.stdout).unwrap();
    assert!(
        report["hello"]["verbs_bench"]["Ok"].as_str().is_some_and(|text| text.contains("verbs-bench")),
        "{report}"
    );
    let refused = ask("{\"run_program\":{\"path\":\"/bin/sh\"}}\n").expect(3);
    assert!(refused.stderr.contains("not a message of this protocol"), "{}", refused.stderr);
}

fn start_agent() -> Child {
    let mut command = e2e::rdma_harness(&["agent"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}
