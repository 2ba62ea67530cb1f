//! A cluster through the programs: agents of this host on the software NIC, a slow one among them, agents and controllers that are
//! killed, and a night of what was measured.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{
    Finished,
    cluster::rack_of_reads,
    finish,
    programs::{await_end, rdma_harness},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Agents start, and rounds are made, beside whatever else the machine does.
const PATIENCE: Duration = Duration::from_secs(240);

/// Every pair of four nodes, both ways: six rounds, or twelve with one pair at a time.
const SUITE: &str = r#"question = "Is one of these simulated nodes slower than the others?"
[[scenarios]]
file = "link.toml"
metrics = ["p50"]
[pattern]
kind = "pairs"
seed = 1
[rules]
smallest_latency_change = "50%"
[agents]
audit = false
"#;

/// Nodes by name; the third has a worse end of every link.
const SLOW: &str = "node1\nnode2\nnode3 soft=latency=10ms\nnode4\nnode5\nnode6\n";

struct Site(TempDir);

impl Site {
    fn new(suite: &str) -> Self {
        let folder = rack_of_reads(suite);
        fs::write(folder.path().join("slow.hosts"), SLOW).expect("the folder can be written to");
        Site(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn harness(&self, arguments: &[&str]) -> Command {
        let mut command = rdma_harness(arguments);
        command.current_dir(self.path()).args(["--store", "store.db"]);
        command
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        let mut command = self.harness(&["cluster", "run", "rack.toml"]);
        finish(command.args(arguments), PATIENCE)
    }

    /// Begins, and waits until a round of this number has begun.
    fn begin(&self, arguments: &[&str]) -> Child {
        let mut command = self.harness(&["cluster", "run", "rack.toml"]);
        let piped =
            command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        piped.spawn().expect("rdma-harness starts")
    }

    /// Everything in the store reads back, and it is so much.
    #[track_caller]
    fn checked(&self) -> Value {
        let checked: Value =
            finish(&mut self.harness(&["store", "check", "--json"]), PATIENCE).expect(0).json();
        assert_eq!(checked["problems"], Value::Array(Vec::new()));
        checked
    }

    /// Waits until so many rounds are kept.
    fn await_rounds(&self, child: &mut Child, rounds: usize) {
        let until = Instant::now() + PATIENCE;
        let pairs = 2 * rounds as u64;
        while Instant::now() < until {
            assert!(child.try_wait().expect("a child can be waited for").is_none(), "it ended too early");
            if self.path().join("store.db").exists() {
                let looked = finish(&mut self.harness(&["store", "check", "--json"]), PATIENCE);
                if looked.code == Some(0) && looked.json::<Value>()["pair_runs"].as_u64() >= Some(pairs) {
                    return;
                }
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("no {rounds} rounds within {PATIENCE:?}");
    }
}

/// The children of a process whose command line has all of these words.
fn children(parent: u32, words: &[&str]) -> Vec<Pid> {
    let tasks = format!("/proc/{parent}/task");
    let mut found = Vec::new();
    for task in fs::read_dir(tasks).into_iter().flatten().flatten() {
        let pids = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for pid in pids.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()) {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let has = |word: &&str| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes());
            if words.iter().all(has) {
                found.extend(Pid::from_raw(pid));
            }
        }
    }
    found
}

fn gone(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
}

fn sentences(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("a report has findings").iter();
    findings.map(|finding| finding["sentence"].as_str().expect("a sentence")).collect()
}

#[test]
fn nothing_is_said_of_nodes_that_are_alike_and_a_night_is_kept_of_them() {
    let site = Site::new(&format!("{SUITE}[history]\nlevels = [\"node\", \"pair\"]\n"));
    for night in 1..=2 {
        let ended = site.run(&["--nodes", "4", "--json"]).expect(0);
        let report: Value = ended.json();
        assert_eq!(
            (&report["verdict"], sentences(&report).len()),
            (&Value::from("fine"), 0),
            "{}",
            ended.stderr
        );
        assert_eq!(
            (&report["head"]["id"], &report["counts"]["runs"]),
            (&Value::from(night), &Value::from(12))
        );
    }
    let checked = site.checked();
    // Each of four nodes sends and receives, and each of twelve pairs is a series of its own.
    assert_eq!(
        (&checked["clusters"], &checked["nights"], &checked["values"]),
        (&2.into(), &2.into(), &40.into())
    );
    let told = finish(&mut site.harness(&["history", "--suite", "cluster-rack"]), PATIENCE).expect(0).stdout;
    assert!(told.contains("cluster-rack"), "{told}");
}

#[test]
fn a_node_with_a_worse_link_is_named_and_measured_again() {
    let site = Site::new(SUITE);
    let ended = site.run(&["--hostfile", "slow.hosts", "--json"]).expect(1);
    let report: Value = ended.json();
    let said = sentences(&report);
    assert!(matches!(said[..], [one] if one.contains("node3") && one.contains("host")), "{said:?}");
    let finding = &report["findings"][0];
    assert_eq!((&finding["certainty"], &finding["subject"]["nodes"]), (&"confirmed".into(), &vec![2].into()));
    assert!(finding["retest"]["bad"].as_u64() >= Some(2), "{finding}");
    // Progress is sparse where nobody looks: no line a pair.
    assert!(ended.stderr.lines().count() < 12, "{}", ended.stderr);
}

#[test]
fn an_agent_that_is_killed_costs_its_own_pairs() {
    let site = Site::new(SUITE);
    let mut child = site.begin(&["--nodes", "4", "--json"]);
    site.await_rounds(&mut child, 1);
    let agents = children(child.id(), &["agent", "node2"]);
    assert_eq!(agents.len(), 1, "{agents:?}");
    kill_process(agents[0], Signal::KILL).expect("our own agent can be killed");
    let ended = await_end(child, Instant::now(), PATIENCE).expect(3);
    let report: Value = ended.json();
    assert_eq!(
        (&report["verdict"], sentences(&report).len()),
        (&"could_not_run".into(), 0),
        "{}",
        ended.stderr
    );
    assert_eq!(report["nodes"][1]["state"]["is"], "lost");
    let others = ["node1", "node3", "node4"].map(|name| ended.stderr.contains(&format!("{name} is lost")));
    assert_eq!((others, ended.stderr.contains("node2 is lost")), ([false; 3], true), "{}", ended.stderr);
    // Twelve ways there are, six of them without it.
    let not = report["counts"]["could_not_run"].as_u64().expect("a number");
    assert!((1..=6).contains(&not), "{not}");
    assert_eq!(report["counts"]["runs"], 12);
    site.checked();
}

#[test]
fn a_controller_that_is_killed_leaves_whole_rounds_and_goes_on() {
    let site = Site::new(SUITE);
    let mut child = site.begin(&["--nodes", "4"]);
    site.await_rounds(&mut child, 2);
    let agents = children(child.id(), &["agent"]);
    assert_eq!(agents.len(), 4, "{agents:?}");
    child.kill().expect("our own child can be killed");
    child.wait().expect("it can be waited for");
    let until = Instant::now() + PATIENCE;
    while !agents.iter().all(|agent| gone(*agent)) {
        assert!(Instant::now() < until, "agents outlive their controller");
        thread::sleep(Duration::from_millis(20));
    }
    let kept = site.checked()["pair_runs"].as_u64().expect("a number");
    assert!(kept >= 4, "{kept}");

    let other = site.run(&["--nodes", "3", "--resume"]).expect(2).stderr;
    assert!(other.contains("node4 not asked for now"), "{other}");
    let ended = site.run(&["--nodes", "4", "--resume", "--json"]).expect(0);
    let report: Value = ended.json();
    assert_eq!((&report["head"]["id"], &report["counts"]["runs"]), (&1.into(), &12.into()));
    assert!(ended.stderr.contains("of them made before"), "{}", ended.stderr);
    // On a machine that is busy something may have stood out, and was measured again.
    assert!(site.checked()["pair_runs"].as_u64() >= Some(12));
    let none = site.run(&["--nodes", "4", "--resume"]).expect(2).stderr;
    assert!(none.contains("no cluster of suite `rack` is unfinished"), "{none}");
}

#[test]
fn ctrl_c_ends_agents_keeps_what_is_done_and_says_how_to_go_on() {
    let site = Site::new(SUITE);
    let mut child = site.begin(&["--nodes", "4"]);
    site.await_rounds(&mut child, 1);
    let agents = children(child.id(), &["agent"]);
    let pid = Pid::from_raw(child.id() as i32).expect("a pid is positive");
    kill_process(pid, Signal::INT).expect("our own child can be signaled");
    let ended = await_end(child, Instant::now(), PATIENCE).expect(3);
    assert!(ended.stderr.contains("--resume"), "{}", ended.stderr);
    assert!(agents.len() == 4 && agents.iter().all(|agent| gone(*agent)), "{agents:?}");
    site.run(&["--nodes", "4", "--resume"]).expect(0);
}

#[test]
fn what_can_not_be_is_refused_before_anything_is_made() {
    let site = Site::new(&SUITE.replace("\"pairs\"", "\"leaf\""));
    let ended = site.run(&["--nodes", "4"]).expect(2);
    assert!(ended.stderr.contains("--topology"), "{}", ended.stderr);
    let ended = site.run(&["--hostfile", "none.hosts"]).expect(2);
    assert!(ended.stderr.contains("none.hosts"), "{}", ended.stderr);
    assert!(!site.path().join("store.db").exists());
}

#[test]
fn sixty_four_agents_are_one_round() {
    let suite = SUITE.replace("\"pairs\"", "\"screen\"\nat_once = 32\ndirections = \"forward\"");
    let site = Site::new(&suite);
    let ended = site.run(&["--nodes", "64", "--json"]);
    let report: Value = ended.json();
    let could_not = &report["counts"]["could_not_run"];
    assert_eq!((&report["counts"]["present"], could_not), (&64.into(), &0.into()), "{}", ended.stderr);
    let took = &report["rounds"];
    let first_line = BufReader::new(ended.stderr.as_bytes()).lines().next();
    eprintln!(
        "{first_line:?}: {} ns of the controller in a round, {} at most",
        took["median_controller_ns"], took["max_controller_ns"]
    );
}
