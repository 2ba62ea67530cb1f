//! Hears who is at the other ends of the links, and whether they can be worked with.

use std::{
    collections::VecDeque,
    sync::mpsc::{Receiver, Sender},
    time::{Duration, Instant},
};

use schema::{ClusterNode, NodeState};

use super::{Fleet, FleetWishes, Limits, Member, Rank, Turned};
use crate::{
    agent::{
        link::{Event, Link},
        protocol::{Hello, Identity, Order, PROTOCOL, Report},
    },
    cluster::{Mustered, WantedNode},
    interrupt::Interrupt,
};

impl Fleet {
    /// Hears who came, in the order of their ranks, audits and prepares their hosts. `events` is where the links tell what
    /// `heard` gives. Who does not answer in time, is of another release, can't be reached or can't be tuned is absent, and
    /// why is told in [`crate::cluster::Crew::nodes`]; an interrupt leaves those absent who have not answered yet.
    pub fn meet(
        mustered: Vec<Mustered>,
        events: Sender<Event<Rank>>,
        heard: Receiver<Event<Rank>>,
        wishes: &FleetWishes,
        interrupt: &Interrupt,
    ) -> Fleet {
        Fleet::meet_within(mustered, (events, heard), wishes, interrupt, Limits::default())
    }

    pub(super) fn meet_within(
        mustered: Vec<Mustered>,
        (events, heard): (Sender<Event<Rank>>, Receiver<Event<Rank>>),
        wishes: &FleetWishes,
        interrupt: &Interrupt,
        limits: Limits,
    ) -> Fleet {
        let interrupted = events.clone();
        let _watch = interrupt.watch(move || {
            let _ = interrupted.send(Event::Interrupted); // the fleet is gone: no one listens
        });
        let mut fleet = Fleet {
            nodes: Vec::new(),
            members: Vec::new(),
            events,
            heard,
            news: VecDeque::new(),
            look_at: Instant::now() + limits.silence,
            limits,
            waited: Duration::ZERO,
            next_run: 0,
            clocks_at: None,
            turned: Turned::default(),
            remarks: Vec::new(),
            complaints: Vec::new(),
        };
        for Mustered { node, came, identity } in mustered {
            fleet.admit(node, came, identity, wishes);
        }
        fleet.greet(interrupt);
        fleet.look_up_addresses();
        if wishes.audit && !interrupt.is_raised() {
            fleet.audit();
        }
        if !interrupt.is_raised() {
            fleet.prepare(&wishes.tuning, &wishes.poll_cpus);
        }
        fleet
    }

    fn admit(
        &mut self,
        wanted: WantedNode,
        came: Result<Link<Rank>, String>,
        identity: Option<Identity>,
        wishes: &FleetWishes,
    ) {
        let place = match (&came, &wanted.host) {
            (Ok(link), _) => link.place.to_string(),
            (Err(_), Some(host)) => host.at.to_string(),
            (Err(_), None) => wanted.name.clone(),
        };
        let (link, state) = match came {
            Ok(link) => (Some(link), NodeState::Present),
            Err(why) => (None, NodeState::Absent { why }),
        };
        self.nodes.push(ClusterNode {
            name: wanted.name,
            host: None,
            place,
            device: wanted.device.unwrap_or_else(|| wishes.device.clone()),
            switches: wanted.switches,
            state,
            audit: None,
        });
        self.members.push(Member {
            here: link.is_some(),
            link,
            hello: None,
            address: wanted.address,
            clock: None,
            heard_at: Instant::now(),
        });
        if let Some(identity) = identity {
            self.learn(self.nodes.len() as Rank - 1, identity);
        }
    }

    /// What whoever started an agent told it; what the asker named comes first.
    fn learn(&mut self, rank: Rank, identity: Identity) {
        let node = &mut self.nodes[rank as usize];
        if node.switches.is_empty() {
            node.switches = identity.switches;
        }
        let address = &mut self.members[rank as usize].address;
        *address = address.or(identity.address);
    }

    /// Says hello to all at once, and hears who they are.
    fn greet(&mut self, interrupt: &Interrupt) {
        let silence = self.limits.silence;
        for member in &mut self.members {
            let Some(link) = &mut member.link else { continue };
            link.keep_alive(silence);
            let silence_ms = Some(silence.as_millis() as u64);
            link.order(&Order::Hello { protocol: PROTOCOL, silence_ms, place: link.place.to_string() });
        }
        let deadline = Instant::now() + self.limits.hello;
        let late = self.gather(&self.ranks_here(), deadline, true, |fleet, rank, report| {
            let Report::Hello(hello) = report else { return false };
            fleet.welcome(rank, *hello);
            true
        });
        for rank in late {
            let why = match interrupt.is_raised() {
                true => "its agent had not answered when it was interrupted".to_owned(),
                false => format!("its agent said nothing within {} s", self.limits.hello.as_secs_f32()),
            };
            self.turn_away(rank, why);
        }
    }

    fn welcome(&mut self, rank: Rank, mut hello: Hello) {
        self.nodes[rank as usize].host = hello.hostname.clone();
        match hello.fault() {
            Some(fault) => self.turn_away(rank, fault),
            None => {
                if let Some(identity) = hello.identity.take() {
                    self.learn(rank, identity);
                }
                self.members[rank as usize].hello = Some(hello);
            }
        }
    }
}
