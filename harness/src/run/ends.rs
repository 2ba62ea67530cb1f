//! What the two processes of a run are started by, how long they may take, and what their ends make: a record, or a failure.

use std::{
    net::{IpAddr, SocketAddr},
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    time::Duration,
};

use schema::{HostEvidence, Outcome, RunRecord, RunSpec, SCHEMA_VERSION, Side, spec::Stop};
use serde::Deserialize;

use super::failure::Failure;
use crate::agent::{
    ended::{SAME_RELEASE, explain, last_words},
    protocol::{End, Order},
    serve::named_cpus,
};

/// How long a process may take to start to listen, or to end when it has nothing left to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How long the responder of a failed run may take to say what it saw.
const FAREWELL: Duration = Duration::from_secs(1);
/// What a run may take beyond its plan before it is given up: registering and checking large buffers takes time, and
/// verbs-bench has deadlines of its own that speak earlier and know more.
pub(crate) const MARGIN: Duration = Duration::from_secs(60);
/// The slowest that a run which ends by count is waited for.
const SLOWEST_MESSAGE: Duration = Duration::from_millis(2);

/// What became of the two processes of one run so far.
#[derive(Default)]
pub(crate) struct Fates {
    /// Whether a side was asked to start one.
    pub(crate) started: [bool; 2],
    /// How it ended.
    pub(crate) ends: [Option<End>; 2],
    /// What its host did meanwhile.
    pub(crate) evidence: [Option<HostEvidence>; 2],
}

impl Fates {
    /// Whether the process of a side may still run.
    pub(crate) fn runs(&self, side: Side) -> bool {
        self.started[side as usize] && self.ends[side as usize].is_none()
    }

    /// Whether any may.
    pub(crate) fn open(&self) -> bool {
        self.runs(Side::Requester) || self.runs(Side::Responder)
    }
}

/// Starts the responder of a run.
pub(crate) fn serve_order(run: u32, token: &str, listen: IpAddr, spec: &RunSpec) -> Order {
    Order::Serve {
        run,
        token: token.to_owned(),
        listen,
        device: spec.responder.device.clone(),
        poll_cpus: named_cpus(&spec.responder.cpu),
    }
}

/// What `verbs-bench serve --json` says first.
#[derive(Deserialize)]
struct Hello {
    listening: SocketAddr,
}

/// Where the responder listens, by its first line.
pub(crate) fn listening(line: &str) -> Result<SocketAddr, Failure> {
    let hello: Result<Hello, _> = serde_json::from_str(line);
    hello.map(|hello| hello.listening).map_err(|error| {
        let said = last_words(line);
        let cause = format!("verbs-bench serve did not say where it listens: {error}: {said}");
        Failure::launch(Side::Responder, cause, SAME_RELEASE)
    })
}

/// The responder said nothing in time.
pub(crate) fn does_not_listen(patience: Duration) -> Failure {
    let cause = format!("verbs-bench serve did not listen within {} s", patience.as_secs());
    Failure::launch(Side::Responder, cause, "see what keeps it: run it by hand")
}

/// A process could not be started.
pub(crate) fn not_started(side: Side, cause: &str) -> Failure {
    let advice = "check that verbs-bench is there and executable";
    Failure::launch(side, format!("starting verbs-bench: {cause}"), advice)
}

/// The requester did not end in time.
pub(crate) fn gave_no_record() -> Failure {
    let cause = "verbs-bench gave no record in the time planned for the run and a minute more; it was killed";
    let advice = "was it stopped, or the machine suspended or overloaded?";
    Failure::launch(Side::Requester, cause, advice)
}

/// How long the responder may still take when the requester has ended so. One that never met its requester waits for ever;
/// one that was served has nothing left to do.
pub(crate) fn farewell(requester: &End, patience: Duration) -> Duration {
    if ExitStatus::from_raw(requester.status).success() { patience } else { FAREWELL }
}

/// What the spec's phases take, generously where they end by count.
pub(crate) fn planned_time(spec: &RunSpec) -> Duration {
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

/// The record of a run whose requester ended so, and whose responder did, if it did by itself.
pub(crate) fn read_record(spec: &RunSpec, end: &End, responder: Option<&End>) -> Result<RunRecord, Failure> {
    let status = ExitStatus::from_raw(end.status);
    let record = parse_record(end.stdout.as_bytes(), spec).map_err(|what| {
        if status.success() && !end.stdout.is_empty() {
            what
        } else {
            Failure::ended(Side::Requester, status, &end.stderr)
        }
    })?;
    if status.code().is_none() {
        return Err(Failure::ended(Side::Requester, status, &end.stderr));
    }
    Ok(with_responder_end(record, responder))
}

/// Reads standard output, which must be one record of this very spec.
fn parse_record(stdout: &[u8], spec: &RunSpec) -> Result<RunRecord, Failure> {
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

/// Adds how the responder ended to the cause of a failed run, which the requester can't know.
fn with_responder_end(mut record: RunRecord, end: Option<&End>) -> RunRecord {
    if let Outcome::Failed { cause, .. } = &mut record.outcome
        && let Some(end) = end
        && end.status != 0
    {
        let (why, _) = explain(ExitStatus::from_raw(end.status), &end.stderr);
        cause.push_str(&format!(" (responder: {why})"));
    }
    record
}

#[cfg(test)]
mod tests {
    use schema::{Stage, Test};

    use super::*;

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
        let killed = End { status: 9, stdout: String::new(), stderr: String::new() };
        let with = with_responder_end(record, Some(&killed));
        assert!(
            with.outcome.to_string().contains("no progress (responder: verbs-bench was killed by signal 9")
        );
    }
}
