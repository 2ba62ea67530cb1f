//! A node that stops, and a node that is cut off: nothing tells but silence. Its pairs could not run, the others are measured.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use e2e::{
    cluster::rack_of_reads,
    finish,
    programs::{await_end, rdma_harness},
};
use rustix::process::{Pid, Signal, getpid, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Agents start, and rounds are made, beside whatever else the machine does; and silence takes 15 s to be one.
const PATIENCE: Duration = Duration::from_secs(240);

/// Every pair of three nodes, both ways: six rounds.
const SUITE: &str = r#"question = "Is one of these simulated nodes slower than the others?"
[[scenarios]]
file = "link.toml"
metrics = ["p50"]
[pattern]
kind = "pairs"
seed = 1
at_once = 1
[agents]
audit = false
"#;

/// A controller, and what it says as it says it.
struct Controller {
    folder: TempDir,
    child: Child,
    said: Receiver<String>,
    stderr: JoinHandle<String>,
    stdout: JoinHandle<String>,
}

impl Controller {
    fn start(arguments: &[&str]) -> Self {
        let folder = rack_of_reads(SUITE);
        let mut command = rdma_harness(&["cluster", "run", "rack.toml", "--json", "--store", "store.db"]);
        command.args(arguments).current_dir(folder.path()).stdin(Stdio::null());
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = piped.expect("rdma-harness starts");
        let (tell, said) = channel();
        let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            for line in stderr.lines().map_while(Result::ok) {
                text.push_str(&format!("{line}\n"));
                let _ = tell.send(line); // whoever has heard enough listens no more
            }
            text
        });
        let mut stdout = child.stdout.take().expect("stdout is piped");
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).expect("what it prints is text");
            text
        });
        Controller { folder, child, said, stderr, stdout }
    }

    /// The next line with these words.
    #[track_caller]
    fn line(&self, words: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let line = self.said.recv_timeout(until.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|_| panic!("it does not say `{words}`"));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// Its report, and all it said. Some pairs could not run; nobody is called slow for it.
    #[track_caller]
    fn report(self) -> (Value, String) {
        let Controller { folder, child, stderr, stdout, .. } = self;
        let code = await_end(child, Instant::now(), PATIENCE).code;
        let said = stderr.join().expect("reading does not panic");
        assert_eq!(code, Some(3), "{said}");
        let report: Value = serde_json::from_str(&stdout.join().expect("reading does not panic"))
            .unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!(report["verdict"], "could_not_run", "{said}");
        assert_eq!(report["findings"], Value::Array(Vec::new()), "{said}");
        drop(folder);
        (report, said)
    }
}

fn states(report: &Value) -> Vec<&str> {
    let nodes = report["nodes"].as_array().expect("a report has nodes").iter();
    nodes.map(|node| node["state"]["is"].as_str().expect("a node has a state")).collect()
}

/// A process of ours that is killed when the test ends, however it does.
struct Ours(Pid);

impl Ours {
    /// The agent of a node, a child of this process.
    #[track_caller]
    fn agent(parent: u32, node: &str) -> Ours {
        let is_its = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == node.as_bytes())
        };
        let tasks = fs::read_dir(format!("/proc/{parent}/task")).expect("the controller lives").flatten();
        let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let pids = children.flat_map(|line| {
            line.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()
        });
        let pid = pids.into_iter().find(is_its).unwrap_or_else(|| panic!("{node} has no agent"));
        Ours(Pid::from_raw(pid as i32).expect("a pid is positive"))
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.0, signal).expect("our own agent can be signaled");
    }

    fn runs(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.as_raw_nonzero())).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if self.runs() {
            let _ = kill_process(self.0, Signal::KILL); // it may have gone just now
        }
    }
}

#[test]
fn a_node_that_stops_is_noticed_by_its_silence_and_goes_after_its_controller() {
    let controller = Controller::start(&["--launcher", "local", "--nodes", "3"]);
    controller.line("round 1 of 6");
    let agent = Ours::agent(controller.child.id(), "node3");
    agent.signal(Signal::STOP);
    let (report, said) = controller.report();
    assert_eq!(states(&report), ["present", "present", "lost"], "{said}");
    assert!(said.contains("node3 is lost: it was silent for"), "{said}");
    let not = report["counts"]["could_not_run"].as_u64().expect("a number");
    assert!((1..=4).contains(&not), "of six runs, four are with it: {not}\n{said}");
    // Its link is closed: woken up, it turns its host back and goes. The kernel wakes a stopped process that loses its parent.
    let until = Instant::now() + PATIENCE;
    while agent.runs() {
        assert!(Instant::now() < until, "the agent outlives its controller");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A network namespace with one cable into it; gone with this value.
struct Far {
    name: String,
    cable: String,
    near: String,
    far: String,
}

impl Far {
    #[track_caller]
    fn new() -> Far {
        let id = getpid().as_raw_nonzero();
        let third = id.get() % 250 + 1;
        let address = |last: u8| format!("10.231.{third}.{last}");
        let far = Far {
            name: format!("rh-far-{id}"),
            cable: format!("rhc{id}"),
            near: address(1),
            far: address(2),
        };
        let Far { name, cable, near, far: there } = &far;
        for line in [
            format!("netns add {name}"),
            format!("link add {cable} type veth peer name eth0 netns {name}"),
            format!("addr add {near}/24 dev {cable}"),
            format!("link set {cable} up"),
            format!("-n {name} addr add {there}/24 dev eth0"),
            format!("-n {name} link set eth0 up"),
            format!("-n {name} link set lo up"),
        ] {
            far.ip(&line);
        }
        far
    }

    #[track_caller]
    fn ip(&self, line: &str) {
        let done = finish(Command::new("ip").args(line.split(' ')), PATIENCE);
        assert_eq!(done.code, Some(0), "ip {line} (a network namespace takes root): {}", done.stderr);
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        for line in [format!("link del {}", self.cable), format!("netns del {}", self.name)] {
            let _ = Command::new("ip").args(line.split(' ')).status(); // as far as it was made
        }
    }
}

#[test]
fn a_node_that_is_cut_off_costs_its_own_pairs_and_goes_by_itself() {
    let far = Far::new();
    let listen = format!("{}:0", far.near);
    let controller = Controller::start(&["--launcher", "join", "--nodes", "3", "--listen", &listen]);
    let invitation = controller.line("agent --connect ");
    let words: Vec<&str> = invitation.split_whitespace().skip_while(|word| *word != "--connect").collect();
    let [_, target, _, token] = words[..] else { panic!("{invitation}") };
    let agent = |rank: &str, mut command: Command| {
        command.args(["agent", "--connect", target, "--token-file", token, "--rank", rank]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("an agent starts")
    };
    let near = [agent("0", rdma_harness(&[])), agent("1", rdma_harness(&[]))];
    let mut inside = Command::new("ip");
    inside.args(["netns", "exec", &far.name]).arg(e2e::programs::program("rdma-harness"));
    let inside = agent("2", inside);
    let gone = Ours(Pid::from_child(&inside));
    controller.line("round 1 of 6");
    far.ip(&format!("link set {} down", far.cable));
    let (report, said) = controller.report();
    assert_eq!(states(&report), ["present", "present", "lost"], "{said}");
    let not = report["counts"]["could_not_run"].as_u64().expect("a number");
    assert!((1..=4).contains(&not), "of six runs, four are with it: {not}\n{said}");
    for agent in near {
        await_end(agent, Instant::now(), PATIENCE).expect(0);
    }
    // Nobody can tell it that it is over: it goes because it hears nothing.
    await_end(inside, Instant::now(), PATIENCE).expect(0);
    assert!(!gone.runs());
}
