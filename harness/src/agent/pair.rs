//! The two agents of a campaign, as its controller sees them.

use std::{
    fmt, io,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    time::{Duration, Instant},
};

use schema::Side;

use super::{
    launch::Launcher,
    link::{Event, Link},
    protocol::{Hello, Order, PROTOCOL, RELEASE, Report},
};
use crate::scenario::{Hosts, Place};

/// How long an agent may take to answer the first order; ssh may have to look up names and keys.
const PATIENCE: Duration = Duration::from_secs(30);

/// The agents of both sides, each of the same release as this program, with a verbs-bench that starts.
pub struct Pair {
    requester: Link<Side>,
    responder: Link<Side>,
    events: Sender<Event<Side>>,
    heard: Receiver<Event<Side>>,
    hellos: [Hello; 2],
}

/// Why there are no agents to work with.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", Agent(*side, place))]
pub struct LaunchError {
    /// Whose agent.
    pub side: Side,
    /// Where it was to run.
    pub place: Place,
    /// What is wrong, and what to do.
    pub cause: String,
}

/// An agent in words.
struct Agent<'p>(Side, &'p Place);

impl fmt::Display for Agent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the agent of the {} ({})", self.0, self.1)
    }
}

impl Pair {
    /// Launches both agents and hears who they are.
    ///
    /// # Errors
    /// When one does not start, is of another release, or has no verbs-bench.
    pub fn launch(launcher: &Launcher, hosts: &Hosts) -> Result<Pair, LaunchError> {
        let (events, heard) = channel();
        let start = |side: Side| {
            let host = hosts.of(side);
            let command = launcher.command(host);
            command.and_then(|command| Link::launch(command, side, host.at.clone(), events.clone())).map_err(
                |error| LaunchError { side, place: host.at.clone(), cause: not_started(&host.at, &error) },
            )
        };
        let links = [start(Side::Requester)?, start(Side::Responder)?];
        Pair::meet(links, events, heard)
    }

    /// Hears who is at the other ends of the links, the requester's first.
    ///
    /// # Errors
    /// As [`Pair::launch`].
    pub fn meet(
        [mut requester, mut responder]: [Link<Side>; 2],
        events: Sender<Event<Side>>,
        heard: Receiver<Event<Side>>,
    ) -> Result<Pair, LaunchError> {
        for link in [&requester, &responder] {
            let silence_ms = link.silence().map(|silence| silence.as_millis() as u64);
            let place = link.place.to_string();
            link.order(&Order::Hello { protocol: PROTOCOL, silence_ms, place });
        }
        let deadline = Instant::now() + PATIENCE;
        let mut hellos = [None, None];
        while hellos.iter().any(Option::is_none) {
            let event = heard.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            let (side, cause) = match event {
                Ok(Event::Report(side, Report::Hello(hello))) => match hello.fault() {
                    None => {
                        hellos[side as usize] = Some(*hello);
                        continue;
                    }
                    fault => (side, fault),
                },
                Ok(Event::Gone(side, why)) => (side, Some(why)),
                Ok(_) => continue,
                Err(_) => {
                    let side = if hellos[0].is_none() { Side::Requester } else { Side::Responder };
                    (side, Some(format!("it said nothing within {} s", PATIENCE.as_secs())))
                }
            };
            let link = if side == Side::Requester { &mut requester } else { &mut responder };
            let cause = cause.unwrap_or_default();
            // An agent that ended by itself knows better than the link why.
            let cause =
                link.close().map_or(cause, |said| format!("it did not start: {said}{}", hint(&link.place)));
            return Err(LaunchError { side, place: link.place.clone(), cause });
        }
        let hellos = hellos.map(|hello| hello.expect("both said hello"));
        Ok(Pair { requester, responder, events, heard, hellos })
    }

    /// Who the agent of a side is.
    pub fn hello(&self, side: Side) -> &Hello {
        &self.hellos[side as usize]
    }

    /// Where the agent of a side runs.
    pub fn place(&self, side: Side) -> &Place {
        &self.link(side).place
    }

    /// The agent of a side, in words.
    pub fn name(&self, side: Side) -> String {
        Agent(side, self.place(side)).to_string()
    }

    /// Gives an order to one side.
    pub fn order(&self, side: Side, order: &Order) {
        self.link(side).order(order);
    }

    /// What may be sent to [`Pair::hear`] from elsewhere.
    pub fn events(&self) -> Sender<Event<Side>> {
        self.events.clone()
    }

    /// Waits for the next event until a moment.
    ///
    /// # Errors
    /// When the moment has come.
    pub fn hear(&self, deadline: Instant) -> Result<Event<Side>, RecvTimeoutError> {
        self.heard.recv_timeout(deadline.saturating_duration_since(Instant::now()))
    }

    /// Closes the link to one agent; gives its last words if it did not end well.
    pub fn close(&mut self, side: Side) -> Option<String> {
        match side {
            Side::Requester => self.requester.close(),
            Side::Responder => self.responder.close(),
        }
    }

    fn link(&self, side: Side) -> &Link<Side> {
        match side {
            Side::Requester => &self.requester,
            Side::Responder => &self.responder,
        }
    }
}

/// What else it may be, on a host whose programs are not ours.
fn hint(place: &Place) -> String {
    match place {
        Place::Ssh(_) => format!("; is rdma-harness {RELEASE} there, in the PATH or as `agent` in [hosts]?"),
        Place::Local | Place::Netns(_) | Place::Joined(_) => String::new(),
    }
}

fn not_started(place: &Place, error: &io::Error) -> String {
    let what = match place {
        Place::Local => "this program",
        Place::Netns(_) => "`ip` of iproute2",
        Place::Ssh(_) => "the ssh client",
        Place::Joined(_) => "its launcher",
    };
    format!("it could not be started: {error}; check that {what} is there and executable")
}
