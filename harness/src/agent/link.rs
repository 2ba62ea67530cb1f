//! The controller's end of the link to one agent.

use std::{
    io::{self, BufReader, Read, Write},
    os::unix::process::CommandExt as _,
    process::{Child as Process, Command},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    child::read_tail,
    ended::last_words,
    protocol::{Order, Report},
    wire::{MOST_REPORT, receive, send},
};
use crate::scenario::Place;

/// How often a controller says that it is still there, where a dead link is not noticed at once.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// Silence after which an agent takes its controller for gone; six times the above, so that a lost packet is none.
const SILENCE: Duration = Duration::from_secs(30);
/// How often an agent that is about to end is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long an agent may take to put its host back and go.
const FAREWELL: Duration = Duration::from_secs(180);

/// What a controller waits for; it tells its agents apart by `K`: the side of a pair, the rank in a cluster.
#[derive(Debug)]
pub enum Event<K> {
    /// An agent told something.
    Report(K, Report),
    /// The link to an agent ended.
    Gone(K, String),
    /// Someone asked to stop.
    Interrupted,
}

type Output = Arc<Mutex<Option<Box<dyn Write + Send>>>>;

/// The link to one agent. Dropped, it is closed, and the agent is given time to put its host back.
pub struct Link<K> {
    /// Which agent it is.
    pub key: K,
    /// Where it runs.
    pub place: Place,
    output: Output,
    process: Option<Process>,
    stderr: Option<JoinHandle<String>>,
    /// Dropped, it ends the thread that says that we are still there.
    alive: Option<Sender<()>>,
}

impl<K: Copy + Send + 'static> Link<K> {
    /// Starts an agent whose reports go to `events`.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn launch(
        mut command: Command,
        key: K,
        place: Place,
        events: Sender<Event<K>>,
    ) -> io::Result<Link<K>> {
        // Ctrl-C on the terminal reaches the controller alone, which then tells its agents.
        let mut process = command.process_group(0).spawn()?;
        let stdout = process.stdout.take().expect("the launcher pipes stdout");
        let stdin = process.stdin.take().expect("the launcher pipes stdin");
        let stderr = process.stderr.take().expect("the launcher pipes stderr");
        let mut link = Link::over(stdout, stdin, key, place, events);
        link.process = Some(process);
        link.stderr = Some(thread::spawn(move || read_tail(stderr)));
        Ok(link)
    }

    /// A link over these two ends.
    pub fn over(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        key: K,
        place: Place,
        events: Sender<Event<K>>,
    ) -> Link<K> {
        thread::spawn(move || read_reports(input, key, &events));
        let output: Output = Arc::new(Mutex::new(Some(Box::new(output))));
        let alive = matches!(place, Place::Ssh(_)).then(|| {
            let (stop, stopped) = channel();
            let output = output.clone();
            thread::spawn(move || keepalive(&output, &stopped));
            stop
        });
        Link { key, place, output, process: None, stderr: None, alive }
    }
}

impl<K> Link<K> {
    /// The silence after which the agent shall take us for gone.
    pub fn silence(&self) -> Option<Duration> {
        self.alive.is_some().then_some(SILENCE)
    }

    /// Sends an order. That the link is broken is told by [`Event::Gone`].
    pub fn order(&self, order: &Order) {
        tell(&self.output, order);
    }

    /// Closes the link; gives the last words of an agent that did not end well, or does not end.
    pub fn close(&mut self) -> Option<String> {
        self.alive = None;
        self.output.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut process = self.process.take()?;
        let deadline = Instant::now() + FAREWELL;
        let status = loop {
            match process.try_wait() {
                Ok(None) if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
                Ok(status) => break status,
                Err(_) => break None,
            }
        };
        let Some(status) = status else {
            if matches!(self.place, Place::Ssh(_)) {
                let _ = process.kill(); // our client only; the agent there ends by itself
            }
            return Some(format!("it has not ended within {} s and is left alone", FAREWELL.as_secs()));
        };
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        let said = last_words(&stderr);
        (!status.success()).then(|| if said.is_empty() { format!("{status}") } else { said })
    }
}

impl<K> Drop for Link<K> {
    fn drop(&mut self) {
        self.close();
    }
}

fn tell(output: &Output, order: &Order) {
    if let Some(output) = output.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        let _ = send(output, order); // the reader notices the end of the link and says so
    }
}

fn keepalive(output: &Output, stopped: &Receiver<()>) {
    while stopped.recv_timeout(ALIVE_EVERY) == Err(RecvTimeoutError::Timeout) {
        tell(output, &Order::Alive {});
    }
}

fn read_reports<K: Copy>(input: impl Read, key: K, events: &Sender<Event<K>>) {
    let mut reader = BufReader::new(input);
    loop {
        let event = match receive(&mut reader, MOST_REPORT) {
            Ok(Some(report)) => Event::Report(key, report),
            Ok(None) => Event::Gone(key, "the link to it ended".into()),
            Err(error) => Event::Gone(key, error.to_string()),
        };
        let last = matches!(event, Event::Gone(..));
        if events.send(event).is_err() || last {
            return;
        }
    }
}
