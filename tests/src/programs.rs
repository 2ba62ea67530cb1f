//! The programs under test, run to their end or to a time limit that fails the test.

use std::{
    env,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use schema::{Outcome, RunRecord};

/// How long a program may take when a test says nothing else.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A command line of `verbs-bench`.
pub fn verbs_bench(arguments: &[&str]) -> Command {
    command("verbs-bench", arguments)
}

/// A command line of `rdma-harness`.
pub fn rdma_harness(arguments: &[&str]) -> Command {
    command("rdma-harness", arguments)
}

fn command(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program(name));
    command.args(arguments);
    command
}

/// The folder `E2E_BIN_DIR`, or the profile's folder that this test was built into.
pub fn program(name: &str) -> PathBuf {
    let folder = match env::var_os("E2E_BIN_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => profile_folder(&env::current_exe().expect("a test knows its own file")),
    };
    let file = folder.join(name);
    assert!(file.is_file(), "{} is missing; build it first: cargo build --bins", file.display());
    file
}

fn profile_folder(test: &Path) -> PathBuf {
    test.ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name == "deps"))
        .and_then(Path::parent)
        .unwrap_or_else(|| panic!("{} does not lie in a deps folder; set E2E_BIN_DIR", test.display()))
        .to_owned()
}

/// Where a test leaves what a person may want to look at; a temporary folder unless `E2E_ARTIFACTS` is set.
pub fn artifacts(name: &str) -> PathBuf {
    let base = env::var_os("E2E_ARTIFACTS").map_or_else(env::temp_dir, PathBuf::from);
    let folder = base.join(name);
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

/// The root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is a folder of the repository")
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// All of its stdout.
    pub stdout: String,
    /// All of its stderr.
    pub stderr: String,
    /// From start to end.
    pub took: Duration,
}

impl Finished {
    /// Fails with everything that was said unless the exit code is this one.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "wanted exit code {code} after {:?}:\n{}{}",
            self.took,
            self.stdout,
            self.stderr
        );
        self
    }

    /// Stdout as one JSON document of this type, with nothing before or after it.
    #[track_caller]
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| {
            panic!("stdout is not one JSON document: {error}\n{}{}", self.stdout, self.stderr)
        })
    }

    /// The record of a run that completed.
    #[track_caller]
    pub fn completed(self) -> RunRecord {
        let record: RunRecord = self.expect(0).json();
        assert_eq!(record.outcome, Outcome::Completed);
        record
    }

    /// The record of a run that failed: exit code 3, said within ten seconds, in the record and on stderr alike.
    #[track_caller]
    pub fn failed(self) -> RunRecord {
        assert!(self.took < Duration::from_secs(10), "it took {:?} to say:\n{}", self.took, self.stderr);
        let finished = self.expect(3);
        let record: RunRecord = finished.json();
        let Outcome::Failed { cause, .. } = &record.outcome else {
            panic!("exit code 3, but the outcome is {:?}", record.outcome)
        };
        assert!(
            finished.stderr.contains(cause.as_str()),
            "stderr does not say `{cause}`:\n{}",
            finished.stderr
        );
        record
    }
}

/// Runs to the end; a program that takes longer than the limit is killed and fails the test.
#[track_caller]
pub fn finish(command: &mut Command, limit: Duration) -> Finished {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    await_end(
        child.unwrap_or_else(|error| panic!("{command:?} does not start: {error}")),
        Instant::now(),
        limit,
    )
}

/// Waits for a child whose stdout and stderr are pipes.
#[track_caller]
pub fn await_end(mut child: Child, started: Instant, limit: Duration) -> Finished {
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = loop {
        match child.try_wait().expect("a child can be waited for") {
            Some(status) => break Some(status),
            None if started.elapsed() > limit => break None,
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let took = started.elapsed();
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    // A grandchild that outlives its parent would keep the pipes open; it is not waited for.
    let collect =
        |text: mpsc::Receiver<String>| text.recv_timeout(Duration::from_secs(5)).unwrap_or_default();
    let (stdout, stderr) = (collect(stdout), collect(stderr));
    let Some(status) = status else { panic!("not at its end after {limit:?}:\n{stdout}{stderr}") };
    Finished { code: status.code(), stdout, stderr, took }
}

fn drain(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}
