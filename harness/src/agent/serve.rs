//! The agent's loop: obeys one order after the other, tells what its process does, and cleans up when the link ends.

use std::{
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use host::Sysroot;
use schema::{CpuChoice, NodeAudit, SCHEMA_VERSION};

use super::{
    audit::{self, Asked},
    child::Heard,
    device,
    job::Job,
    locate::{VerbsBench, locate},
    protocol::{Hello, Identity, Order, PROTOCOL, RELEASE, Report},
    runs::{Ended, Runs},
    tuner::Tuner,
    voice::Voice,
    wire::{MOST_ORDER, ReadError, receive},
};
use crate::{
    evidence::{Subject, Watch},
    interrupt::Interrupt,
    words,
};

/// How long a process may take to end when it has nothing left to do.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a controller may take to read what it is told last.
const FAREWELL: Duration = Duration::from_secs(2);

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
    #[error(transparent)]
    Link(#[from] ReadError),
    /// A process of its own could not be waited for.
    #[error("waiting for verbs-bench: {0}")]
    Process(io::Error),
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
    Ended(u32, Ended),
    Audited(Box<NodeAudit>),
    Interrupted,
}

/// Serves a controller until the link ends or someone asks to stop; then ends what was started and turns back what was turned.
///
/// # Errors
/// When what comes over the link is not of the protocol, or the host could not be turned back. Clean-up is done in any case.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    setup: Setup,
    interrupt: &Interrupt,
) -> Result<(), ServeError> {
    let (events, heard) = channel();
    let interrupted = events.clone();
    let _watch = interrupt.watch(move || {
        let _ = interrupted.send(Event::Interrupted); // no one listens any more: it is over anyway
    });
    let broken = events.clone();
    let voice = Voice::start(output, Report::Alive {}, move || {
        let _ = broken.send(Event::Gone(None)); // no one listens any more, which ends the link as well
    });
    let (orders, answers) = (events.clone(), voice.clone());
    thread::spawn(move || read_orders(input, &orders, &answers));
    let audited = events.clone();
    let audits = audit::start(setup.sysroot.clone(), move |audit| {
        let _ = audited.send(Event::Audited(Box::new(audit)));
    });
    let mut agent = Agent {
        tuner: Tuner::new(setup.sysroot.clone(), setup.state_dir.clone()),
        setup,
        place: String::new(),
        voice,
        events,
        silence: None,
        verbs_bench: None,
        runs: Runs::default(),
        audits,
    };
    let ended = agent.attend(&heard);
    drop(agent.runs); // first of all, the processes that use what is tuned
    let fault = agent.tuner.restore().fault;
    agent.voice.end(FAREWELL);
    ended.and(fault.map_or(Ok(()), |fault| Err(ServeError::NotRestored(fault))))
}

fn read_orders(input: impl Read, events: &Sender<Event>, voice: &Voice<Report>) {
    let mut reader = BufReader::new(input);
    loop {
        let event = match receive(&mut reader, MOST_ORDER) {
            Ok(Some(order)) => {
                if order == (Order::Clock {}) {
                    // Answered here, whatever else is being done: a wait would be taken for a difference of clocks.
                    voice.say(Report::Clock { monotonic_ns: words::monotonic_ns() });
                }
                Event::Order(order)
            }
            Ok(None) | Err(ReadError::Io(_)) => Event::Gone(None),
            Err(error) => Event::Gone(Some(error)),
        };
        let last = matches!(event, Event::Gone(_));
        if events.send(event).is_err() || last {
            return;
        }
    }
}

struct Agent {
    setup: Setup,
    /// Where it runs, in the controller's words.
    place: String,
    voice: Voice<Report>,
    events: Sender<Event>,
    /// Silence after which the controller is taken for gone.
    silence: Option<Duration>,
    /// verbs-bench, once the controller said hello.
    verbs_bench: Option<VerbsBench>,
    runs: Runs,
    audits: Sender<Asked>,
    tuner: Tuner,
}

impl Agent {
    /// Until the link ends.
    fn attend(&mut self, heard: &Receiver<Event>) -> Result<(), ServeError> {
        let mut ordered = Instant::now(); // what its own runs say is no sign of the controller
        loop {
            let event = match self.silence {
                Some(silence) => match heard.recv_timeout(silence.saturating_sub(ordered.elapsed())) {
                    Err(RecvTimeoutError::Timeout) => Event::Gone(None),
                    event => event.unwrap_or(Event::Interrupted),
                },
                None => heard.recv().unwrap_or(Event::Interrupted),
            };
            match event {
                Event::Order(order) => {
                    self.obey(order);
                    ordered = Instant::now();
                }
                Event::Heard(run, heard) => self.hear(run, heard),
                Event::Ended(run, ended) => {
                    self.runs.forget(run);
                    let (end, evidence) = ended.map_err(ServeError::Process)?;
                    self.voice.say(Report::Ended { run, end, evidence });
                }
                Event::Audited(audit) => self.voice.say(Report::Audited(audit)),
                Event::Gone(Some(error)) => return Err(error.into()),
                Event::Gone(None) | Event::Interrupted => return Ok(()),
            }
        }
    }

    fn obey(&mut self, order: Order) {
        let answer = match order {
            Order::Hello { silence_ms, place, .. } => {
                self.silence = silence_ms.map(Duration::from_millis);
                self.place = place;
                if let Some(silence) = self.silence {
                    self.voice.keep_alive(silence);
                }
                return self.hello();
            }
            Order::Alive {} | Order::Clock {} => return,
            Order::Serve { run, token, listen, device, poll_cpus } => {
                let subject = self.subject(&device, poll_cpus);
                return self.start(run, subject, |program, tell| {
                    Job::serve(program, &token, (listen, &device), tell)
                });
            }
            Order::Measure { run, token, peer, spec, hold } => {
                let subject = self.subject(&spec.requester.device, named_cpus(&spec.requester.cpu));
                return self.start(run, subject, |program, tell| {
                    Job::measure(program, &token, (peer, &spec, hold), tell)
                });
            }
            Order::Start { run, at_monotonic_ns } => {
                if let Some(job) = self.runs.working(run) {
                    job.start_at(at_monotonic_ns);
                }
                return;
            }
            Order::Audit { device } => {
                let verbs_bench = self.verbs_bench.as_ref().map(|found| found.version.clone());
                let _ = self.audits.send(Asked { device, verbs_bench }); // its other end lives as long as this
                return;
            }
            Order::Stop { run } => return self.runs.stop(run, self.place.clone(), self.ended(run)),
            Order::Prepare { variants } => self.tuner.prepare(variants),
            Order::Prove {} => self.tuner.prove(),
            Order::Tune { variant } => self.tuner.tune(variant),
            Order::Verify {} => self.tuner.verify(),
            Order::Restore {} => self.tuner.restore(),
        };
        self.voice.say(Report::Answer(answer));
    }

    /// What is watched around a run.
    fn subject(&self, device: &str, cpus: Vec<u32>) -> Subject {
        Subject { device: device::named(&self.setup.sysroot, device), cpus, ..Subject::default() }
    }

    fn hello(&mut self) {
        let found = locate(self.setup.verbs_bench.as_deref());
        let verbs_bench = found.as_ref().map(|found| found.version.clone()).map_err(ToString::to_string);
        self.verbs_bench = found.ok();
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
        self.voice.say(Report::Hello(Box::new(hello)));
    }

    fn start(
        &mut self,
        run: u32,
        subject: Subject,
        start: impl FnOnce(&Path, Box<dyn Fn(Heard) + Send>) -> io::Result<Job>,
    ) {
        let events = self.events.clone();
        let tell = Box::new(move |heard| {
            let _ = events.send(Event::Heard(run, heard)); // the agent is ending: it kills the process by itself
        });
        let started = match (&self.verbs_bench, self.runs.refusal(run)) {
            (None, _) => Err("there is no verbs-bench".to_owned()),
            (_, Some(why)) => Err(why),
            (Some(VerbsBench { program, .. }), None) => {
                let watch = Watch::start(&self.setup.sysroot, subject);
                let started = self.tuner.start_within(|| start(program, tell));
                started.map(|job| (job, watch)).map_err(|error| error.to_string())
            }
        };
        match started {
            Ok((job, watch)) => self.runs.begin(run, job, watch),
            Err(cause) => self.voice.say(Report::NotStarted { run, cause }),
        }
    }

    /// What a process said; one that was stopped is no longer listened to.
    fn hear(&mut self, run: u32, heard: Heard) {
        match heard {
            Heard::FirstLine(line) if self.runs.working(run).is_some() => {
                self.voice.say(Report::Said { run, line });
            }
            Heard::FirstLine(_) => {}
            Heard::Closed(stdout) => {
                self.runs.end(run, self.setup.patience, (stdout, self.place.clone()), self.ended(run));
            }
        }
    }

    /// Takes the news of a run's end.
    fn ended(&self, run: u32) -> impl FnOnce(Ended) + Send + 'static {
        let events = self.events.clone();
        move |ended| {
            let _ = events.send(Event::Ended(run, ended)); // the agent is ending, and tells nothing any more
        }
    }
}

/// CPUs that a spec names.
pub(crate) fn named_cpus(choice: &CpuChoice) -> Vec<u32> {
    match choice {
        CpuChoice::List(cpus) => cpus.clone(),
        CpuChoice::Auto | CpuChoice::None => Vec::new(),
    }
}
