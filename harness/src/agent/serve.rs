//! The agent's loop: obeys one order after the other, tells what its process does, and cleans up when the link ends.

use std::{
    io::{self, BufReader, Read, Write},
    path::PathBuf,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use host::Sysroot;
use schema::SCHEMA_VERSION;

use super::{
    child::Heard,
    job::Job,
    locate,
    protocol::{Hello, MOST_ORDER, Order, PROTOCOL, RELEASE, ReadError, Report, receive, send},
};
use crate::interrupt::Interrupt;

/// How long a process may take to end when it has nothing left to do.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an agent is given when it is launched.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The host it looks after.
    pub sysroot: Sysroot,
    /// The verbs-bench to start; absent: the one beside this program, else the one in PATH.
    pub verbs_bench: Option<PathBuf>,
    /// How long a process may take to end when it has nothing left to do.
    pub patience: Duration,
}

impl Setup {
    /// An agent of the host it runs on.
    pub fn live() -> Self {
        Setup { sysroot: Sysroot::new("/"), verbs_bench: None, patience: PATIENCE }
    }
}

/// Why an agent ended other than by the end of its link.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It does not understand its controller.
    #[error("{0}")]
    Link(#[from] ReadError),
    /// An order came that has no place there.
    #[error("{0}")]
    OutOfPlace(String),
}

/// What an agent waits for.
enum Event {
    Order(Order),
    /// The link ended, in good order or not.
    Gone(Option<ReadError>),
    Heard(u32, Heard),
    Interrupted,
}

/// Serves a controller until the link ends or someone asks to stop; then ends what was started.
///
/// # Errors
/// When what comes over the link is not of the protocol. Clean-up is done in any case.
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
    let mut agent = Agent { setup, output, events, silence: None, program: None, job: None };
    agent.attend(&heard)
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
    output: W,
    events: Sender<Event>,
    /// Silence after which the controller is taken for gone.
    silence: Option<Duration>,
    /// verbs-bench, once the controller said hello.
    program: Option<PathBuf>,
    job: Option<Job>,
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
                Event::Order(order) => self.obey(order)?,
                Event::Heard(run, heard) => self.hear(run, heard),
                Event::Gone(Some(error)) => return Err(error.into()),
                Event::Gone(None) | Event::Interrupted => return Ok(()),
            };
            if told.is_err() {
                return Ok(()); // no one listens any more, which ends the link as well
            }
        }
    }

    fn obey(&mut self, order: Order) -> Result<io::Result<()>, ServeError> {
        Ok(match order {
            Order::Hello { silence_ms, .. } => {
                self.silence = silence_ms.map(Duration::from_millis);
                self.hello()
            }
            Order::Alive {} => Ok(()),
            Order::Serve { run, token, listen, device } => self.start(run, |program, tell| {
                Job::serve(program, run, &token, (listen, device.as_deref()), tell)
            }),
            Order::Measure { run, token, peer, spec } => {
                self.start(run, |program, tell| Job::measure(program, run, &token, (peer, &spec), tell))
            }
            Order::Stop { run } => self.end(run, Duration::ZERO, Vec::new()),
        })
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
            verbs_bench,
        };
        send(&mut self.output, &Report::Hello(Box::new(hello)))
    }

    fn start(
        &mut self,
        run: u32,
        start: impl FnOnce(&std::path::Path, Box<dyn Fn(Heard) + Send>) -> io::Result<Job>,
    ) -> io::Result<()> {
        let events = self.events.clone();
        let tell = Box::new(move |heard| {
            let _ = events.send(Event::Heard(run, heard)); // the agent is ending: it kills the process by itself
        });
        let started = match (&self.program, &self.job) {
            (None, _) => Err("there is no verbs-bench".to_owned()),
            (_, Some(job)) => Err(format!("the process of run {} has not ended", job.run)),
            (Some(program), None) => start(program, tell).map_err(|error| error.to_string()),
        };
        match started {
            Ok(job) => {
                self.job = Some(job);
                Ok(())
            }
            Err(cause) => send(&mut self.output, &Report::NotStarted { run, cause }),
        }
    }

    /// What a process said; one that was stopped is no longer listened to.
    fn hear(&mut self, run: u32, heard: Heard) -> io::Result<()> {
        match heard {
            Heard::FirstLine(line) if self.job.as_ref().is_some_and(|job| job.run == run) => {
                send(&mut self.output, &Report::Said { run, line })
            }
            Heard::FirstLine(_) => Ok(()),
            Heard::Closed(stdout) => self.end(run, self.setup.patience, stdout),
        }
    }

    /// Waits for the end of a run's process and reports it, once.
    fn end(&mut self, run: u32, patience: Duration, stdout: Vec<u8>) -> io::Result<()> {
        let Some(job) = self.job.take_if(|job| job.run == run) else { return Ok(()) };
        let end = job.end(patience, stdout)?;
        send(&mut self.output, &Report::Ended { run, end })
    }
}
