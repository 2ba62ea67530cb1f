//! One step of an allocation: `srun` with an agent on each node. Its exit code is not looked at, since it tells who was killed last;
//! what it says on stderr is kept, for the reasons of those who do not come.

use std::{
    ffi::OsString,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child as Process, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::agent::{identity, join::JoinToken};

/// What every step is started with. One task a node; tasks that end, badly or not, leave the others alone; CPUs are pinned by us, and the
/// allocation's may be in use by the shell that we run in.
const OPTIONS: [&str; 9] = [
    "--ntasks-per-node=1",
    "--kill-on-bad-exit=0",
    "--no-kill",
    "--wait=0",
    "--overlap",
    "--mpi=none",
    "--cpu-bind=none",
    "--label",
    "--export=ALL",
];
/// What srun says where nothing binds CPUs, which is what we ask for.
const NOISE: &str = "lacks support for cpu binding";
/// What it says when it gives a whole step up because of one node.
const FAILED: &str = " failed on node ";
/// The most lines that are kept.
const MOST_LINES: usize = 1000;
/// How often a step that is about to end is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long what a step said last may take to be read.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long srun may take to end when it is told to.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running srun.
pub(in super::super) struct Step {
    process: Process,
    lines: Arc<Mutex<Vec<String>>>,
    reader: JoinHandle<()>,
}

impl Step {
    /// Starts an agent on every node, and hands all of them the token.
    ///
    /// # Errors
    /// When srun can't be started.
    pub(super) fn start(
        srun: &Path,
        nodes: &[&str],
        agent: Vec<OsString>,
        token: &JoinToken,
    ) -> io::Result<Step> {
        let count = nodes.len();
        let mut command = Command::new(srun);
        command.arg(format!("--nodes={count}")).arg(format!("--ntasks={count}"));
        command.arg(format!("--nodelist={}", nodes.join(","))).args(OPTIONS).args(agent);
        for variable in identity::variables_of_others("slurm") {
            command.env_remove(variable); // we may be started by an MPI ourselves
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Ctrl-C on the terminal reaches the controller alone, which then tells its agents.
        let mut process = command.process_group(0).spawn()?;
        let mut stdin = process.stdin.take().expect("stdin is piped");
        let handed = stdin.write_all(token.line().as_bytes());
        let stderr = process.stderr.take().expect("stderr is piped");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        let reader = thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                let mut kept = lock(&kept);
                if !line.is_empty() && !line.contains(NOISE) && kept.len() < MOST_LINES {
                    kept.push(line);
                }
            }
        });
        let step = Step { process, lines, reader };
        match handed {
            // An srun that ended at once says why on stderr.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(step),
        }
    }

    /// Whether srun has ended, however.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// The nodes because of which srun gives the step up, each with what it says.
    pub(super) fn failed_nodes(&self) -> Vec<(String, String)> {
        let failed = |line: &String| {
            let node = line.split_once(FAILED)?.1.split([':', ' ']).next()?;
            Some((node.to_owned(), line.clone()))
        };
        lock(&self.lines).iter().filter_map(failed).collect()
    }

    /// What was said of a node, else what was said last; nothing where nothing was said.
    pub(super) fn words_about(&self, node: &str) -> Option<String> {
        let lines = lock(&self.lines);
        let of_node = |line: &&String| {
            line.split(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)).any(|word| word == node)
        };
        lines.iter().rev().find(of_node).or(lines.last()).cloned()
    }

    /// Waits for the end of a step whose agents were dismissed; gives what they said, by their number in the step.
    pub(in super::super) fn finish(mut self, patience: Duration) -> Vec<(Option<u32>, String)> {
        let deadline = Instant::now() + patience;
        while !self.has_ended() && Instant::now() < deadline {
            thread::sleep(LOOK_EVERY);
        }
        let mut said = Vec::new();
        if !self.has_ended() {
            let seconds = patience.as_secs();
            said.push((
                None,
                format!("srun has not ended {seconds} s after its agents were dismissed, and is ended"),
            ));
            self.stop();
        }
        // What it said last may be on its way; a process of its own that holds the pipe is not waited for.
        let deadline = Instant::now() + LAST_WORDS;
        while !self.reader.is_finished() && Instant::now() < deadline {
            thread::sleep(LOOK_EVERY);
        }
        let of_agent = |line: &String| {
            let (label, words) = line.split_once(": ")?;
            Some((Some(label.trim().parse::<u32>().ok()?), words.to_owned()))
        };
        said.extend(
            lock(&self.lines)
                .iter()
                .filter_map(of_agent)
                .filter(|(_, words)| !words.starts_with("slurmstepd")),
        );
        said
    }

    /// Ends the step, with every agent that it started.
    pub(super) fn stop(&mut self) {
        for signal in [Signal::TERM, Signal::KILL] {
            if self.has_ended() {
                return;
            }
            let _ = kill_process(Pid::from_child(&self.process), signal); // it is not reaped, so the pid is its own
            let deadline = Instant::now() + PATIENCE;
            while !self.has_ended() && Instant::now() < deadline {
                thread::sleep(LOOK_EVERY);
            }
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// A step of a script that takes the place of srun.
    fn step(script: &str) -> (tempfile::TempDir, Step) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("srun");
        fs::write(&file, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let token = JoinToken::drawn().unwrap();
        let agent = ["rdma-harness", "agent"].map(Into::into).to_vec();
        let step = Step::start(&file, &["node1", "node3"], agent, &token).unwrap();
        (folder, step)
    }

    fn until(step: &mut Step, what: impl Fn(&mut Step) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !what(step) {
            assert!(Instant::now() < deadline, "{:?}", lock(&step.lines));
            thread::sleep(LOOK_EVERY);
        }
    }

    #[test]
    fn the_token_goes_through_stdin_and_is_no_argument() {
        let (folder, step) =
            step("read token; echo \"$token\" >\"$0.token\"; echo \"$@\" >\"$0.arguments\"\n");
        assert_eq!(step.finish(Duration::from_secs(60)), []);
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let (token, arguments) = (read("srun.token"), read("srun.arguments"));
        assert_eq!(token.trim().len(), 64);
        assert!(!arguments.contains(token.trim()));
        for option in ["--nodes=2", "--nodelist=node1,node3", "--kill-on-bad-exit=0", "--overlap"] {
            assert!(arguments.contains(option), "{option} in {arguments}");
        }
        assert!(arguments.trim().ends_with("rdma-harness agent"), "{arguments}");
    }

    #[test]
    fn a_step_that_is_given_up_names_the_node_and_is_ended() {
        let script = "read token\n\
            echo 'srun: cluster configuration lacks support for cpu binding' >&2\n\
            echo 'srun: error: Task launch for StepId=2.0 failed on node node3: Communication connection failure' >&2\n\
            exec sleep 600\n";
        let (_folder, mut step) = step(script);
        until(&mut step, |step| !step.failed_nodes().is_empty());
        assert_eq!(step.failed_nodes()[0].0, "node3");
        assert_eq!(step.failed_nodes().len(), 1);
        assert!(step.words_about("node3").unwrap().contains("Communication connection failure"));
        assert!(!step.has_ended());
        step.stop();
        assert!(step.has_ended());
    }

    #[test]
    fn what_agents_say_at_the_end_is_told_by_their_number_whatever_srun_returns() {
        let script = "read token\necho '1: rdma-harness: not turned back: /proc/sys/net/x' >&2\n\
            echo '0: slurmstepd-node1: error: *** STEP 2.0 ON node1 CANCELLED ***' >&2\n\
            echo 'srun: error: node3: task 1: Exited with exit code 3' >&2\nexit 233\n";
        let (_folder, step) = step(script);
        let said = step.finish(Duration::from_secs(60));
        assert_eq!(said, [(Some(1), "rdma-harness: not turned back: /proc/sys/net/x".to_owned())]);
    }

    #[test]
    fn a_step_that_does_not_end_is_ended_and_told_of() {
        let (_folder, step) = step("read token\nexec sleep 600\n");
        let said = step.finish(Duration::from_millis(50));
        assert!(said[0].1.contains("has not ended"), "{said:?}");
    }
}
