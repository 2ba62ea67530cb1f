//! One run by two verbs-bench processes, each started by the agent of its side: a responder that listens, a requester that
//! measures and gives the record.

use std::{
    net::{IpAddr, SocketAddr},
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    time::{Duration, Instant},
};

use schema::{HostEvidence, RunRecord, RunSpec, Side};

use super::{
    Executor, Task,
    ends::{
        Fates, MARGIN, PATIENCE, does_not_listen, farewell, gave_no_record, listening, not_started,
        planned_time, read_record, serve_order,
    },
    failure::{Failure, Started},
    knobs::{Knobs, settled},
};
use crate::{
    agent::{
        Pair,
        link::Event,
        protocol::{End, Order, Report},
        token,
    },
    evidence,
    interrupt::Interrupt,
};

/// Makes runs with verbs-bench processes.
pub struct Processes {
    pub(super) agents: Pair,
    /// What the hosts are to be like, and are like now.
    pub(super) knobs: Knobs,
    /// Agents that are gone, by side, and why.
    pub(super) agents_gone: [Option<String>; 2],
    /// Where the responder listens and the requester finds it.
    address: IpAddr,
    /// Number of the last run that was begun.
    run: u32,
    /// Why no further run can be made.
    pub(super) lost: Option<String>,
    patience: Duration,
    margin: Duration,
}

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

/// What is worth an answer while a run lasts.
enum News {
    /// The responder's first line.
    Said(String),
    /// A process ended.
    Ended(Side, End),
}

impl Processes {
    /// Makes runs through these agents, which meet at this address.
    pub fn new(agents: Pair, address: IpAddr) -> Self {
        Processes {
            agents,
            knobs: Knobs::default(),
            agents_gone: [None, None],
            address,
            run: 0,
            lost: None,
            patience: PATIENCE,
            margin: MARGIN,
        }
    }

    /// Lets the agents go; says which of them could not leave its host as it was, and why.
    pub fn close(mut self) -> Vec<String> {
        let mut complaints = Vec::new();
        for side in [Side::Requester, Side::Responder] {
            let name = self.agents.name(side);
            if self.agents_gone[side as usize].is_none()
                && let Some(said) = self.agents.close(side)
            {
                complaints.push(format!("{name}: {said}"));
            }
        }
        complaints
    }

    fn run(
        &mut self,
        spec: &RunSpec,
        started: &Started,
        fates: &mut Fates,
        interrupt: &Interrupt,
    ) -> Result<RunRecord, Stopped> {
        let token = token::draw().map_err(|error| {
            Failure::launch(Side::Requester, format!("drawing a token: {error}"), "check getrandom(2)")
        })?;
        let run = self.run;
        let interrupted = self.agents.events();
        let _watch = interrupt.watch(move || {
            let _ = interrupted.send(Event::Interrupted); // the agents are gone: no one listens
        });
        let serve = serve_order(run, &token, self.address, spec);
        self.start(Side::Responder, &serve, fates);
        let peer = self.wait_until_it_listens(fates)?;
        let measure = Order::Measure { run, token, peer, spec: Box::new(spec.clone()), hold: false };
        self.start(Side::Requester, &measure, fates);
        let end = self.wait_for_record(fates, started.instant + planned_time(spec) + self.margin)?;
        let responder = self.last_of_responder(fates, farewell(&end, self.patience))?;
        Ok(read_record(spec, &end, responder.as_ref())?)
    }

    fn start(&self, side: Side, order: &Order, fates: &mut Fates) {
        fates.started[side as usize] = true;
        self.agents.order(side, order);
    }

    fn wait_until_it_listens(&mut self, fates: &mut Fates) -> Result<SocketAddr, Stopped> {
        let deadline = Instant::now() + self.patience;
        match self.hear(fates, deadline)? {
            Some(News::Said(line)) => Ok(listening(&line)?),
            Some(News::Ended(side, end)) => {
                Err(Failure::ended(side, ExitStatus::from_raw(end.status), &end.stderr).into())
            }
            None => Err(does_not_listen(self.patience).into()),
        }
    }

    fn wait_for_record(&mut self, fates: &mut Fates, deadline: Instant) -> Result<End, Stopped> {
        loop {
            match self.hear(fates, deadline)? {
                Some(News::Ended(Side::Requester, end)) => return Ok(end),
                // The responder ended first: the requester notices by itself and says what it means.
                Some(News::Ended(Side::Responder, _) | News::Said(_)) => {}
                None => return Err(gave_no_record().into()),
            }
        }
    }

    /// How the responder ended by itself; none if it had to be stopped.
    fn last_of_responder(&mut self, fates: &mut Fates, patience: Duration) -> Result<Option<End>, Stopped> {
        let deadline = Instant::now() + patience;
        while fates.ends[Side::Responder as usize].is_none() {
            if self.hear(fates, deadline)?.is_none() {
                return Ok(None);
            }
        }
        Ok(fates.ends[Side::Responder as usize].clone())
    }

    /// The next news of this run; none at the deadline.
    fn hear(&mut self, fates: &mut Fates, deadline: Instant) -> Result<Option<News>, Stopped> {
        loop {
            let Ok(event) = self.agents.hear(deadline) else { return Ok(None) };
            match event {
                Event::Interrupted => return Err(Stopped::Interrupted),
                Event::Gone(side, why) => return Err(self.lose(side, &why).into()),
                Event::Report(_, Report::Said { run, line }) if run == self.run => {
                    return Ok(Some(News::Said(line)));
                }
                Event::Report(side, Report::Ended { run, end, evidence }) if run == self.run => {
                    fates.evidence[side as usize] = Some(*evidence);
                    fates.ends[side as usize] = Some(end.clone());
                    return Ok(Some(News::Ended(side, end)));
                }
                Event::Report(side, Report::NotStarted { run, cause }) if run == self.run => {
                    fates.started[side as usize] = false;
                    return Err(not_started(side, &cause).into());
                }
                Event::Report(..) => {} // of a run that is over
            }
        }
    }

    /// Ends what still runs of this run, so that the next one begins with nothing left.
    fn settle(&mut self, fates: &mut Fates) {
        for side in [Side::Requester, Side::Responder] {
            if fates.runs(side) {
                self.agents.order(side, &Order::Stop { run: self.run });
            }
        }
        let deadline = Instant::now() + self.patience.max(PATIENCE);
        while self.lost.is_none() && fates.open() {
            match self.hear(fates, deadline) {
                Ok(Some(_)) | Err(Stopped::Interrupted) => {}
                Ok(None) => {
                    self.lost = Some("an agent does not end the process of a run".into());
                }
                Err(Stopped::Failed(_)) => {}
            }
        }
    }

    /// Notes that an agent is gone, and with it the campaign.
    pub(super) fn lose(&mut self, side: Side, why: &str) -> Failure {
        let name = self.agents.name(side);
        let said = self.agents.close(side).unwrap_or_else(|| why.to_owned());
        let cause = format!("{name} is gone: {said}");
        self.lost.get_or_insert_with(|| cause.clone());
        self.agents_gone[side as usize] = Some(cause.clone());
        Failure::launch(
            side,
            cause,
            "it turns its host back by itself unless it was killed; see `rdma-harness tune status` there, and `rdma-harness tune recover` if anything is left",
        )
    }
}

impl Executor for Processes {
    fn execute(&mut self, task: &Task<'_>, interrupt: &Interrupt) -> Option<RunRecord> {
        let spec = task.spec;
        let started = Started::now();
        if let Err(failure) = self.make_ready(task.variant) {
            return Some(failure.record(spec, &started));
        }
        let started = Started::now();
        self.run += 1;
        let mut fates = Fates::default();
        let result = self.run(spec, &started, &mut fates, interrupt);
        self.settle(&mut fates);
        // What can't be verified or turned back is in the record, and in why there is no next run.
        let stood = self.verify();
        let over = !task.keep || self.lost.is_some() || interrupt.is_raised();
        let restored = if over { self.turn_back().0 } else { Vec::new() };
        let mut record = match result {
            Ok(record) => record,
            Err(Stopped::Failed(failure)) => failure.record(spec, &started),
            Err(Stopped::Interrupted) => return None,
        };
        for evidence in fates.evidence.into_iter().flatten() {
            let tuning = settled(evidence.side, &stood, &restored);
            record.evidence.push(HostEvidence { tuning, ..evidence });
        }
        evidence::judge(&mut record);
        Some(record)
    }

    fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use schema::{Nanos, Outcome, Stage, Test, spec::Stop};

    use super::{super::testing, *};
    use crate::agent::Setup;

    /// Runs with a shell script for verbs-bench that has little time.
    fn run(script: &str, interrupt: &Interrupt) -> (Option<RunRecord>, RunSpec) {
        let (_folder, program) = testing::script(script);
        let patience = Duration::from_millis(300);
        let setup = Setup { verbs_bench: Some(program), patience, ..Setup::live() };
        let agents = testing::agents([setup.clone(), setup]);
        let address = [127, 0, 0, 1].into();
        let mut processes = Processes { patience, margin: Duration::ZERO, ..Processes::new(agents, address) };
        let mut spec = RunSpec::new(Test::Bandwidth);
        (spec.stop, spec.warmup_ns, spec.deadline_ns) =
            (Stop::DurationNs(Nanos(1_000_000)), Nanos(0), Nanos(50_000_000));
        (processes.execute(&Task { spec: &spec, variant: 0, keep: false }, interrupt), spec)
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
    fn an_interrupt_leaves_no_record() {
        let interrupt = Interrupt::default();
        interrupt.raise();
        assert_eq!(run("exec sleep 600", &interrupt).0, None);
    }
}
