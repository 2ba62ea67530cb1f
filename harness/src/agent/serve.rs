//! The agent's loop: obeys one order after the other, tells what its process does, and cleans up when the link ends.

use std::{
    io::{self, BufReader, Read, Write},
    path::PathBuf,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use host::Sysroot;
use schema::{CpuChoice, SCHEMA_VERSION};

use super::{
    child::Heard,
    device,
    job::Job,
    locate,
    protocol::{Hello, Identity, Order, PROTOCOL, RELEASE, Report},
    tuner::Tuner,
    wire::{MOST_ORDER, ReadError, receive, send},
};
use crate::{
    evidence::{Subject, Watch},
    interrupt::Interrupt,
    words,
};

/// How long a process may take to end when it has nothing left to do.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an agent is given when it is launched.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The host it looks after.
    pub sysroot: Sysroot,
    /// Where the journal of its tuning lies; absent: below `/run` of that host.
    pub state_dir: Option<PathBuf>,
    /// The verbs-bench to start; absent: the one beside this program, else the one in PATH.
    pub verbs_bench: Option<PathBuf>,
    /// How long a process may take to end when it has nothing left to do.
    pub patience: Duration,
    /// What whoever started it calls it, where there are many.
    pub identity: Option<Identity>,
}

impl Setup {
    /// An agent of the host it runs on.
    pub fn live() -> Self {
        Setup {
            sysroot: Sysroot::new("/"),
            state_dir: None,
            verbs_bench: None,
            patience: PATIENCE,
            identity: None,
        }
    }
}

/// Why an agent ended other than by the end of its link.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It does not understand its controller.
    #[error("{0}")]
    Link(#[from] ReadError),
    /// The host is not as it was.
    #[error("{0}")]
    NotRestored(String),
}

/// What an agent waits for.
enum Event {
    Order(Order),
    /// The link ended, in good order or not.
    Gone(Option<ReadError>),
    Heard(u32, Heard),
    Interrupted,
}

/// Serves a controller until the link ends or someone asks to stop; then ends what was started and turns back what was turned.
///
/// # Errors
/// When what comes over the link is not of the protocol, or the host could not be turned back. Clean-up is done in any case.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write,
    setup: Setup,
    interrupt: &Interrupt,
) -> Result<(), ServeError> {
    let (events, heard) = channel();
    let interrupted = events.clone();
    let _watch = interrupt.watch(move || {
        let _ = interrupted.send(Event::Interrupted); // no one listens any more: it is over anyway
    });
    let orders = events.clone();
    thread::spawn(move || read_orders(input, &orders));
    let tuner = Tuner::new(setup.sysroot.clone(), setup.state_dir.clone());
    let place = String::new();
    let mut agent = Agent { setup, place, output, events, silence: None, program: None, job: None, tuner };
    let ended = agent.attend(&heard);
    agent.job = None; // first of all, the process that uses what is tuned
    let fault = agent.tuner.restore().fault;
    ended.and(fault.map_or(Ok(()), |fault| Err(ServeError::NotRestored(fault))))
}

fn read_orders(input: impl Read, events: &Sender<Event>) {
    let mut reader = BufReader::new(input);
    loop {
        let event = match receive(&mut reader, MOST_ORDER) {
            Ok(Some(order)) => Event::Order(order),
            Ok(None) | Err(ReadError::Io(_)) => Event::Gone(None),
            Err(error) => Event::Gone(Some(error)),
        };
        let last = matches!(event, Event::Gone(_));
        if events.send(event).is_err() || last {
            return;
        }
    }
}

struct Agent<W> {
    setup: Setup,
    /// Where it runs, in the controller's words.
    place: String,
    output: W,
    events: Sender<Event>,
    /// Silence after which the controller is taken for gone.
    silence: Option<Duration>,
    /// verbs-bench, once the controller said hello.
    program: Option<PathBuf>,
    /// The process of the current run, and what watches the host around it.
    job: Option<(Job, Watch)>,
    tuner: Tuner,
}

impl<W: Write> Agent<W> {
    /// Until the link ends.
    fn attend(&mut self, heard: &Receiver<Event>) -> Result<(), ServeError> {
        loop {
            let event = match self.silence {
                Some(silence) => match heard.recv_timeout(silence) {
                    Err(RecvTimeoutError::Timeout) => Event::Gone(None),
                    event => event.unwrap_or(Event::Interrupted),
                },
                None => heard.recv().unwrap_or(Event::Interrupted),
            };
            let told = match event {
                Event::Order(order) => self.obey(order),
                Event::Heard(run, heard) => self.hear(run, heard),
                Event::Gone(Some(error)) => return Err(error.into()),
                Event::Gone(None) | Event::Interrupted => return Ok(()),
            };
            if told.is_err() {
                return Ok(()); // no one listens any more, which ends the link as well
            }
        }
    }

    fn obey(&mut self, order: Order) -> io::Result<()> {
        let answer = match order {
            Order::Hello { silence_ms, place, .. } => {
                self.silence = silence_ms.map(Duration::from_millis);
                self.place = place;
                return self.hello();
            }
            Order::Alive {} => return Ok(()),
            Order::Serve { run, token, listen, device, poll_cpus } => {
                let subject = self.subject(&device, poll_cpus);
                return self.start(run, subject, |program, tell| {
                    Job::serve(program, run, &token, (listen, &device), tell)
                });
            }
            Order::Measure { run, token, peer, spec, hold: _ } => {
                let subject = self.subject(&spec.requester.device, named_cpus(&spec.requester.cpu));
                return self.start(run, subject, |program, tell| {
                    Job::measure(program, run, &token, (peer, &spec), tell)
                });
            }
            Order::Start { .. } | Order::Audit { .. } => return Ok(()),
            Order::Clock {} => {
                let monotonic_ns = words::monotonic_ns();
                return send(&mut self.output, &Report::Clock { monotonic_ns });
            }
            Order::Stop { run } => return self.end(run, Duration::ZERO, Vec::new()),
            Order::Prepare { variants } => self.tuner.prepare(variants),
            Order::Prove {} => self.tuner.prove(),
            Order::Tune { variant } => self.tuner.tune(variant),
            Order::Verify {} => self.tuner.verify(),
            Order::Restore {} => self.tuner.restore(),
        };
        send(&mut self.output, &Report::Answer(answer))
    }

    /// What is watched around a run.
    fn subject(&self, device: &str, cpus: Vec<u32>) -> Subject {
        Subject { device: device::named(&self.setup.sysroot, device), cpus, ..Subject::default() }
    }

    fn hello(&mut self) -> io::Result<()> {
        let verbs_bench = match locate(self.setup.verbs_bench.as_deref()) {
            Ok(found) => {
                self.program = Some(found.program);
                Ok(found.version)
            }
            Err(error) => Err(error.to_string()),
        };
        let root = &self.setup.sysroot;
        let hello = Hello {
            protocol: PROTOCOL,
            schema_version: SCHEMA_VERSION,
            release: RELEASE.into(),
            boot_id: root.read("/proc/sys/kernel/random/boot_id").known(),
            netns: root.link_name("/proc/self/ns/net").known(),
            hostname: root.read("/proc/sys/kernel/hostname").known(),
            identity: self.setup.identity.clone(),
            verbs_bench,
        };
        send(&mut self.output, &Report::Hello(Box::new(hello)))
    }

    fn start(
        &mut self,
        run: u32,
        subject: Subject,
        start: impl FnOnce(&std::path::Path, Box<dyn Fn(Heard) + Send>) -> io::Result<Job>,
    ) -> io::Result<()> {
        let events = self.events.clone();
        let tell = Box::new(move |heard| {
            let _ = events.send(Event::Heard(run, heard)); // the agent is ending: it kills the process by itself
        });
        let started = match (&self.program, &self.job) {
            (None, _) => Err("there is no verbs-bench".to_owned()),
            (_, Some((job, _))) => Err(format!("the process of run {} has not ended", job.run)),
            (Some(program), None) => {
                let watch = Watch::start(&self.setup.sysroot, subject);
                let started = self.tuner.start_within(|| start(program, tell));
                started.map(|job| (job, watch)).map_err(|error| error.to_string())
            }
        };
        match started {
            Ok(started) => {
                self.job = Some(started);
                Ok(())
            }
            Err(cause) => send(&mut self.output, &Report::NotStarted { run, cause }),
        }
    }

    /// What a process said; one that was stopped is no longer listened to.
    fn hear(&mut self, run: u32, heard: Heard) -> io::Result<()> {
        match heard {
            Heard::FirstLine(line) if self.job.as_ref().is_some_and(|(job, _)| job.run == run) => {
                send(&mut self.output, &Report::Said { run, line })
            }
            Heard::FirstLine(_) => Ok(()),
            Heard::Closed(stdout) => self.end(run, self.setup.patience, stdout),
        }
    }

    /// Waits for the end of a run's process and reports it, once.
    fn end(&mut self, run: u32, patience: Duration, stdout: Vec<u8>) -> io::Result<()> {
        let Some((job, watch)) = self.job.take_if(|(job, _)| job.run == run) else { return Ok(()) };
        let side = job.side;
        let end = job.end(patience, stdout)?;
        let evidence = Box::new(watch.finish(side, &*self.place, Vec::new()));
        send(&mut self.output, &Report::Ended { run, end, evidence })
    }
}

/// CPUs that a spec names.
pub(crate) fn named_cpus(choice: &CpuChoice) -> Vec<u32> {
    match choice {
        CpuChoice::List(cpus) => cpus.clone(),
        CpuChoice::Auto | CpuChoice::None => Vec::new(),
    }
}
