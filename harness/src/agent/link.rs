//! The controller's end of the link to one agent.

use std::{
    io::{self, BufReader, Read, Write},
    process::{Child as Process, Command},
    sync::mpsc::Sender,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    ended::last_words,
    protocol::{Order, Report},
    spawned::Spawned,
    voice::Voice,
    wire::{MOST_REPORT, receive},
};
use crate::scenario::Place;

/// Silence after which an agent takes its controller for gone, where a dead link is not noticed at once.
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

/// The link to one agent. Dropped, it is closed, and the agent is given time to put its host back.
pub struct Link<K> {
    /// Which agent it is.
    pub key: K,
    /// Where it runs.
    pub place: Place,
    /// What we say; none once it is closed.
    orders: Option<Voice<Order>>,
    process: Option<Process>,
    stderr: Option<JoinHandle<String>>,
    silence: Option<Duration>,
}

impl<K: Copy + Send + 'static> Link<K> {
    /// Starts an agent whose reports go to `events`.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn launch(command: Command, key: K, place: Place, events: Sender<Event<K>>) -> io::Result<Link<K>> {
        Ok(Link::of(Spawned::new(command)?, key, place, events))
    }

    /// The link to an agent that was started already.
    pub fn of(agent: Spawned, key: K, place: Place, events: Sender<Event<K>>) -> Link<K> {
        let Spawned { process, stdin, stdout, stderr } = agent;
        let mut link = Link::over(stdout, stdin, key, place, events);
        link.process = Some(process);
        link.stderr = Some(stderr);
        link
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
        // The reader notices the end of the link and says so.
        let orders = Voice::start(output, Order::Alive {}, || ());
        let far = matches!(place, Place::Ssh(_) | Place::Joined(_));
        let mut link = Link { key, place, orders: Some(orders), process: None, stderr: None, silence: None };
        if far {
            link.keep_alive(SILENCE);
        }
        link
    }
}

impl<K> Link<K> {
    /// The silence after which the agent shall take us for gone.
    pub fn silence(&self) -> Option<Duration> {
        self.silence
    }

    /// From now on says that we are there, often enough for an agent that bears this silence.
    pub fn keep_alive(&mut self, silence: Duration) {
        self.silence = Some(silence);
        if let Some(orders) = &self.orders {
            orders.keep_alive(silence);
        }
    }

    /// Sends an order. That the link is broken is told by [`Event::Gone`].
    pub fn order(&self, order: &Order) {
        if let Some(orders) = &self.orders {
            orders.say(order.clone());
        }
    }

    /// Ends what we say: the agent then puts its host back and goes.
    pub fn hang_up(&mut self) {
        self.orders = None;
    }

    /// Closes the link; gives the last words of an agent that did not end well, or does not end.
    pub fn close(&mut self) -> Option<String> {
        self.close_within(FAREWELL)
    }

    /// The same with another patience.
    pub fn close_within(&mut self, patience: Duration) -> Option<String> {
        self.hang_up();
        let mut process = self.process.take()?;
        let deadline = Instant::now() + patience;
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
            return Some(format!("it has not ended within {} s and is left alone", patience.as_secs()));
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_was_ordered_before_the_end_is_sent_and_signs_of_life_fill_the_silence() {
        let (reader, orders) = io::pipe().unwrap();
        let (events, _heard) = channel();
        let mut link = Link::over(io::empty(), orders, (), Place::Local, events);
        assert_eq!(link.silence(), None, "a link that can't be cut says nothing by itself");
        let mut reader = BufReader::new(reader);
        link.keep_alive(Duration::from_millis(6));
        let mut next = || receive::<Order>(&mut reader, MOST_REPORT).unwrap();
        assert_eq!(next(), Some(Order::Alive {}));
        link.order(&Order::Stop { run: 1 });
        link.hang_up();
        let rest: Vec<Order> = std::iter::from_fn(next).filter(|order| *order != Order::Alive {}).collect();
        assert_eq!(rest, [Order::Stop { run: 1 }]);
    }

    #[test]
    fn an_agent_that_reads_nothing_holds_nobody_up() {
        let (_reader, orders) = io::pipe().unwrap();
        let (events, _heard) = channel();
        let link = Link::over(io::empty(), orders, (), Place::Local, events);
        for run in 0..20_000 {
            link.order(&Order::Stop { run });
        }
    }
}
