//! One agent of this host as a controller far away would drive it: many runs at once through the real programs, started at one
//! moment.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use e2e::{programs::program, rdma_harness};
use rustix::time::{ClockId, clock_gettime};
use schema::{Bytes, Nanos, Outcome, RunRecord, RunSpec, Stop, Test};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);
/// From the moment to a first post, on a machine that is busy with other tests.
const LATEST: Duration = Duration::from_millis(500);

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// `rdma-harness agent`, and what it reports.
struct Agent {
    process: Child,
    /// None once we hung up.
    orders: Option<ChildStdin>,
    reports: Receiver<Value>,
    kept: Vec<Value>,
}

impl Agent {
    fn start() -> Agent {
        let mut command: Command = rdma_harness(&["agent"]);
        command.env("VERBS_BENCH", program("verbs-bench"));
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the agent starts");
        let orders = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().expect("stdout is piped"));
        let (tell, reports) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let report = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "no report": line }));
                if tell.send(report).is_err() {
                    return;
                }
            }
        });
        Agent { process, orders, reports, kept: Vec::new() }
    }

    fn order(&mut self, order: &Value) {
        let orders = self.orders.as_mut().expect("nobody hung up");
        writeln!(orders, "{order}").expect("the agent listens");
    }

    /// The next report of a kind about a run, its content.
    #[track_caller]
    fn hear(&mut self, kind: &str, run: Option<u32>) -> Value {
        let is_it =
            |report: &Value| report.get(kind).is_some_and(|told| run.is_none_or(|run| told["run"] == run));
        if let Some(kept) = self.kept.iter().position(is_it) {
            return self.kept.remove(kept)[kind].take();
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut report = self.reports.recv_timeout(left).unwrap_or_else(|_| {
                panic!("no `{kind}` of run {run:?} came; of what came is left: {:?}", self.kept)
            });
            if is_it(&report) {
                return report[kind].take();
            }
            self.kept.push(report);
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spec(test: Test) -> RunSpec {
    let mut spec = RunSpec::new(test);
    (spec.requester.device, spec.responder.device) = ("soft".into(), "soft".into());
    (spec.msg_bytes, spec.warmup_ns) = (vec![Bytes(4_096)], Nanos(5_000_000));
    spec.stop = Stop::DurationNs(Nanos(20_000_000));
    spec
}

#[test]
fn one_agent_serves_and_measures_three_pairs_that_start_at_one_moment() {
    let mut agent = Agent::start();
    agent.order(&json!({ "clock": {} }));
    let clock = agent.hear("clock", None)["monotonic_ns"].as_u64().expect("a number");
    assert!(clock <= monotonic_ns(), "its clock is that of this host");
    agent.order(&json!({ "hello": { "protocol": 2, "silence_ms": 1_200, "place": "here" } }));
    assert!(agent.hear("hello", None)["verbs_bench"]["Ok"].is_string());
    agent.order(&json!({ "audit": { "device": "soft" } }));
    let token = "ab".repeat(32);
    let pairs = [(0, 10, Test::Latency), (1, 11, Test::Bandwidth), (2, 12, Test::Latency)];
    for (responder, requester, test) in pairs {
        let serve = json!({ "run": responder, "token": token, "listen": "127.0.0.1", "device": "soft", "poll_cpus": [] });
        agent.order(&json!({ "serve": serve }));
        let said = agent.hear("said", Some(responder));
        let line: Value = serde_json::from_str(said["line"].as_str().expect("a line")).expect("JSON");
        let measure = json!({ "run": requester, "token": token, "peer": line["listening"], "spec": spec(test), "hold": true });
        agent.order(&json!({ "measure": measure }));
    }
    for (_, requester, _) in pairs {
        assert_eq!(agent.hear("said", Some(requester))["line"], "{\"holding\":true}\n");
    }
    let moment = monotonic_ns() + 300_000_000;
    for (_, requester, _) in pairs {
        agent.order(&json!({ "start": { "run": requester, "at_monotonic_ns": moment } }));
    }
    for (responder, requester, _) in pairs {
        let ended = agent.hear("ended", Some(requester));
        let stdout = ended["end"]["stdout"].as_str().expect("text");
        let record: RunRecord = serde_json::from_str(stdout).expect("a record and nothing else");
        assert_eq!(record.outcome, Outcome::Completed);
        let first_post = record.start_up.expect("it began").first_post_monotonic_ns;
        let late = Duration::from_nanos(first_post.checked_sub(moment).expect("none began too early"));
        assert!(late < LATEST, "{late:?} late");
        assert_eq!(ended["evidence"]["side"], "requester");
        assert_eq!(agent.hear("ended", Some(responder))["evidence"]["side"], "responder");
    }
    let audited = agent.hear("audited", None);
    assert!(
        audited["facts"]["kernel"].is_string() && audited["facts"]["verbs_bench"].is_string(),
        "{audited}"
    );
    agent.hear("alive", None);
}

#[test]
fn a_link_that_ends_while_runs_stand_ready_leaves_none() {
    let mut agent = Agent::start();
    agent.order(&json!({ "hello": { "protocol": 2, "silence_ms": null, "place": "here" } }));
    agent.hear("hello", None);
    let token = "ab".repeat(32);
    let serve = json!({ "run": 0, "token": token, "listen": "127.0.0.1", "device": "soft", "poll_cpus": [] });
    agent.order(&json!({ "serve": serve }));
    let said = agent.hear("said", Some(0));
    let line: Value = serde_json::from_str(said["line"].as_str().expect("a line")).expect("JSON");
    let measure = json!({ "run": 1, "token": token, "peer": line["listening"], "spec": spec(Test::Latency), "hold": true });
    agent.order(&json!({ "measure": measure }));
    agent.hear("said", Some(1));
    let children = format!("/proc/{0}/task/{0}/children", agent.process.id());
    let children = std::fs::read_to_string(children).expect("the kernel tells children");
    let children: Vec<&str> = children.split_whitespace().collect();
    assert_eq!(children.len(), 2, "a responder and a requester");
    agent.orders = None;
    assert!(agent.process.wait().expect("it ends").success());
    for child in children {
        let command = std::fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        assert!(!command.contains("verbs-bench"), "{command} lives on");
    }
}
