//! One run by two verbs-bench processes: a responder that listens, a requester that measures and gives the record.

use std::{
    net::SocketAddr,
    process::Command,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use schema::{Outcome, RunRecord, RunSpec, SCHEMA_VERSION, Side, spec::Stop};
use serde::Deserialize;

use super::{
    Executor, Interrupt, VerbsBench,
    child::{Child, Event, Listen},
    failure::{Failure, SAME_RELEASE, Started, last_words},
    token::Token,
};
use crate::scenario::{Hosts, Place};

/// How long a process may take to start to listen, or to end when it has nothing left to do.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the responder of a failed run may take to say what it saw.
const FAREWELL: Duration = Duration::from_secs(1);
/// What a run may take beyond its plan before it is given up: registering and checking large buffers takes time, and
/// verbs-bench has deadlines of its own that speak earlier and know more.
const MARGIN: Duration = Duration::from_secs(60);
/// The slowest that a run which ends by count is waited for.
const SLOWEST_MESSAGE: Duration = Duration::from_millis(2);

/// Makes runs with verbs-bench processes.
pub struct Processes {
    verbs_bench: VerbsBench,
    hosts: Hosts,
    patience: Duration,
    margin: Duration,
}

/// What `verbs-bench serve --json` says first.
#[derive(Deserialize)]
struct Hello {
    listening: SocketAddr,
}

/// How a process ended, and what it said last.
type End = (std::process::ExitStatus, String);

/// Why a run gave no record.
enum Stopped {
    Interrupted,
    Failed(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Stopped::Failed(failure)
    }
}

impl Processes {
    /// Makes runs between these hosts.
    pub fn new(verbs_bench: VerbsBench, hosts: Hosts) -> Self {
        Processes { verbs_bench, hosts, patience: PATIENCE, margin: MARGIN }
    }

    fn command(&self, place: &Place) -> Command {
        match place {
            Place::Local => Command::new(&self.verbs_bench.program),
            Place::Netns(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name]).arg(&self.verbs_bench.program);
                command
            }
        }
    }

    fn responder(&self, spec: &RunSpec, token: &Token) -> Command {
        let mut command = self.command(&self.hosts.responder);
        command.args(["serve", "--listen", &SocketAddr::new(self.hosts.address, 0).to_string()]);
        command.arg("--token-file").arg(token.file());
        command.args(["--sessions", "1", "--json", "--exit-with-parent"]).arg(own_pid());
        if spec.responder.device != "auto" {
            command.args(["--device", &spec.responder.device]);
        }
        command
    }

    fn requester(&self, peer: SocketAddr, token: &Token) -> Command {
        let mut command = self.command(&self.hosts.requester);
        command.args(["run", "--spec", "-", "--peer", &peer.to_string()]);
        command.arg("--token-file").arg(token.file());
        command.args(["--json", "--exit-with-parent"]).arg(own_pid());
        command
    }

    fn run(&self, spec: &RunSpec, started: &Started, interrupt: &Interrupt) -> Result<RunRecord, Stopped> {
        let token = Token::draw().map_err(|error| {
            Failure::launch(Side::Requester, format!("writing the token file: {error}"), "check TMPDIR")
        })?;
        let (events, heard) = channel();
        let interrupted = events.clone();
        let _watch = interrupt.watch(move || {
            let _ = interrupted.send(Event::Interrupted); // the run is over: no one listens
        });
        let start = |command, side, listen, input| {
            Child::spawn(command, side, listen, input, events.clone())
                .map_err(|error| not_started(side, &error))
        };
        let mut responder =
            start(self.responder(spec, &token), Side::Responder, Listen::FirstLine, Vec::new())?;
        let hello = self.wait_for_hello(&heard, &mut responder)?;
        let input = serde_json::to_vec(spec)
            .map_err(|error| Failure::launch(Side::Requester, format!("writing the spec: {error}"), ""))?;
        let mut requester =
            start(self.requester(hello.listening, &token), Side::Requester, Listen::End, input)?;
        let deadline = started.instant + planned_time(spec) + self.margin;
        let stdout = wait_for_record(&heard, deadline)?;
        let (status, stderr) = requester.finish(self.patience).map_err(lost(Side::Requester))?;
        let responder_end = if status.success() {
            Some(responder.finish(self.patience).map_err(lost(Side::Responder))?)
        } else {
            own_end(&mut responder).map_err(lost(Side::Responder))?
        };
        let record = read_record(&stdout, spec).map_err(|what| {
            if status.success() && !stdout.is_empty() {
                what
            } else {
                Failure::ended(Side::Requester, status, &stderr)
            }
        })?;
        if status.code().is_none() {
            return Err(Failure::ended(Side::Requester, status, &stderr).into());
        }
        Ok(with_responder_end(record, responder_end))
    }

    fn wait_for_hello(&self, heard: &Receiver<Event>, responder: &mut Child) -> Result<Hello, Stopped> {
        match heard.recv_timeout(self.patience) {
            Ok(Event::FirstLine(line)) => serde_json::from_str(&line).map_err(|error| {
                let said = last_words(&line);
                let cause = format!("verbs-bench serve did not say where it listens: {error}: {said}");
                Failure::launch(Side::Responder, cause, SAME_RELEASE).into()
            }),
            Ok(Event::Interrupted) => Err(Stopped::Interrupted),
            Ok(Event::Closed(..)) => {
                let (status, stderr) = responder.finish(self.patience).map_err(lost(Side::Responder))?;
                Err(Failure::ended(Side::Responder, status, &stderr).into())
            }
            Err(_) => {
                let cause = format!("verbs-bench serve did not listen within {} s", self.patience.as_secs());
                Err(Failure::launch(Side::Responder, cause, "see what keeps it: run it by hand").into())
            }
        }
    }
}

impl Executor for Processes {
    fn execute(&mut self, spec: &RunSpec, interrupt: &Interrupt) -> Option<RunRecord> {
        let started = Started::now();
        match self.run(spec, &started, interrupt) {
            Ok(record) => Some(record),
            Err(Stopped::Failed(failure)) => Some(failure.record(spec, &started)),
            Err(Stopped::Interrupted) => None,
        }
    }
}

/// Ours, for a child that shall not outlive us.
fn own_pid() -> String {
    std::process::id().to_string()
}

fn not_started(side: Side, error: &std::io::Error) -> Failure {
    let advice =
        "check that verbs-bench (and, for a network namespace, `ip` of iproute2) is there and executable";
    Failure::launch(side, format!("starting verbs-bench: {error}"), advice)
}

fn lost(side: Side) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::launch(side, format!("waiting for verbs-bench: {error}"), "")
}

/// What the spec's phases take, generously where they end by count.
fn planned_time(spec: &RunSpec) -> Duration {
    let measure = match spec.stop {
        Stop::DurationNs(duration) => Duration::from_nanos(duration.get()),
        Stop::Iterations(count) => {
            SLOWEST_MESSAGE.checked_mul(count.try_into().unwrap_or(u32::MAX)).unwrap_or(Duration::MAX)
        }
    };
    let deadlines = Duration::from_nanos(spec.deadline_ns.get()) * 4;
    let point = measure.saturating_add(Duration::from_nanos(spec.warmup_ns.get())).saturating_add(deadlines);
    point.saturating_mul(spec.msg_bytes.len() as u32).min(Duration::from_secs(7 * 24 * 3_600))
}

fn wait_for_record(heard: &Receiver<Event>, deadline: Instant) -> Result<Vec<u8>, Stopped> {
    loop {
        match heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Closed(Side::Requester, stdout)) => return Ok(stdout),
            Ok(Event::Interrupted) => return Err(Stopped::Interrupted),
            // The responder ended first: the requester notices by itself and says what it means.
            Ok(Event::Closed(Side::Responder, _) | Event::FirstLine(..)) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let cause = "verbs-bench gave no record in the time planned for the run and a minute more; it was killed";
                let advice = "was it stopped, or the machine suspended or overloaded?";
                return Err(Failure::launch(Side::Requester, cause, advice).into());
            }
        }
    }
}

/// Reads standard output, which must be one record of this very spec.
fn read_record(stdout: &[u8], spec: &RunSpec) -> Result<RunRecord, Failure> {
    let garbage = |cause: String| Failure::launch(Side::Requester, cause, SAME_RELEASE);
    let mut json = serde_json::Deserializer::from_slice(stdout);
    let record: RunRecord = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| garbage(format!("what verbs-bench printed is not a record: {error}")))?;
    json.end().map_err(|error| garbage(format!("verbs-bench printed more than a record: {error}")))?;
    if record.schema_version != SCHEMA_VERSION {
        let found = record.schema_version;
        return Err(garbage(format!(
            "verbs-bench writes schema version {found}, this build reads {SCHEMA_VERSION}"
        )));
    }
    if record.spec != *spec {
        return Err(garbage("verbs-bench gave a record of another spec than it was asked".into()));
    }
    Ok(record)
}

/// How the responder of a failed run ended by itself; one that never met its requester waits for ever, and is ended.
fn own_end(responder: &mut Child) -> std::io::Result<Option<End>> {
    match responder.ends_within(FAREWELL)? {
        Some(_) => responder.finish(Duration::ZERO).map(Some),
        None => responder.kill().map(|_| None),
    }
}

/// Adds how the responder ended to the cause of a failed run, which the requester can't know.
fn with_responder_end(mut record: RunRecord, end: Option<End>) -> RunRecord {
    if let Outcome::Failed { cause, .. } = &mut record.outcome
        && let Some((status, stderr)) = end
        && !status.success()
    {
        let (why, _) = super::failure::explain(status, &stderr);
        cause.push_str(&format!(" (responder: {why})"));
    }
    record
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use schema::{Nanos, Stage, Test};

    use super::*;

    /// Runs with a shell script for verbs-bench that has little time.
    fn run(script: &str, interrupt: &Interrupt) -> (Option<RunRecord>, RunSpec) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("verbs-bench");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let verbs_bench = VerbsBench { program, version: String::new() };
        let hosts =
            Hosts { requester: Place::Local, responder: Place::Local, address: [127, 0, 0, 1].into() };
        let mut processes =
            Processes { verbs_bench, hosts, patience: Duration::from_millis(300), margin: Duration::ZERO };
        let mut spec = RunSpec::new(Test::Bandwidth);
        (spec.stop, spec.warmup_ns, spec.deadline_ns) =
            (Stop::DurationNs(Nanos(1_000_000)), Nanos(0), Nanos(50_000_000));
        (processes.execute(&spec, interrupt), spec)
    }

    fn cause(script: &str) -> String {
        let record = run(script, &Interrupt::default()).0.unwrap();
        match record.outcome {
            Outcome::Failed { stage: Stage::Launch, cause, .. } => cause,
            other => panic!("{other}"),
        }
    }

    const HELLO: &str = r#"if [ $1 = serve ]; then echo '{"listening":"127.0.0.1:1"}'; exit 0; fi"#;

    #[test]
    fn a_responder_that_never_listens_is_given_up() {
        assert!(cause("exec sleep 600").contains("did not listen within"));
    }

    #[test]
    fn a_requester_that_never_ends_is_given_up() {
        assert!(cause(&format!("{HELLO}\nexec sleep 600")).contains("gave no record in the time planned"));
    }

    #[test]
    fn a_record_of_another_spec_is_refused() {
        let mut other =
            RunRecord::start(RunSpec::new(Test::Latency), schema::Fabric::Soft, 0, Outcome::Completed);
        let json = serde_json::to_string(&other).unwrap();
        assert!(cause(&format!("{HELLO}\necho '{json}'")).contains("another spec"));
        other.schema_version = 99;
        let json = serde_json::to_string(&other).unwrap();
        assert!(cause(&format!("{HELLO}\necho '{json}'")).contains("schema version 99"));
        assert!(cause(&format!("{HELLO}\necho '{json}' trailing")).contains("more than a record"));
    }

    #[test]
    fn an_end_of_the_responder_is_added_to_the_cause_of_a_failure() {
        let spec = RunSpec::new(Test::Bandwidth);
        let failed = Outcome::Failed {
            stage: Stage::Measure,
            side: Side::Requester,
            cause: "no progress".into(),
            advice: String::new(),
        };
        let record = RunRecord::start(spec, schema::Fabric::Soft, 0, failed);
        let killed = <std::process::ExitStatus as std::os::unix::process::ExitStatusExt>::from_raw(9);
        let with = with_responder_end(record, Some((killed, String::new())));
        assert!(
            with.outcome.to_string().contains("no progress (responder: verbs-bench was killed by signal 9")
        );
    }

    #[test]
    fn an_interrupt_leaves_no_record() {
        let interrupt = Interrupt::default();
        interrupt.raise();
        assert_eq!(run("exec sleep 600", &interrupt).0, None);
    }
}
