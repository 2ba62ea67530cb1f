//! The gate of a controller that agents come to: lets each wanted one in once, and nobody else.
//!
//! Strangers, port scanners and wrong tokens cost a thread for some seconds at most; they are told of, the first few of them.

use std::{
    collections::BTreeMap,
    io::{self, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Say;
use crate::{
    agent::{
        join::{Candidate, JoinToken, Stream, receive_join},
        link::{Event, Link},
        protocol::Identity,
    },
    cluster::Rank,
    scenario::Place,
};

/// How long one who comes may take to prove itself.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The most who prove themselves at the same time; more wait in the kernel's queue.
const AT_ONCE: usize = 256;
/// How often the gate looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The most who are sent away that are told of one by one.
const MOST_TOLD: usize = 10;

/// Where agents come to.
pub(super) struct Gate {
    listener: TcpListener,
    address: SocketAddr,
}

/// Who came.
pub(super) struct Comer {
    /// What it says.
    input: BufReader<Stream>,
    /// Where it is told something.
    output: Box<dyn Write + Send>,
    /// Who it is to be called.
    place: Place,
    /// Who it says it is.
    pub(super) identity: Identity,
    /// The name of its host.
    pub(super) hostname: Option<String>,
}

impl Comer {
    /// The link to it.
    pub(super) fn link(self, rank: Rank, events: &Sender<Event<Rank>>) -> Link<Rank> {
        Link::over(self.input, self.output, rank, self.place, events.clone())
    }
}

/// Who may come, and as which.
pub(super) trait Seating: Sync {
    /// The seat of one who knows the token, with its name, or why there is none for it.
    fn seat(&self, identity: &Identity, hostname: Option<&str>) -> Result<(Rank, String), String>;
    /// How many are waited for.
    fn seats(&self) -> usize;
}

impl Gate {
    /// Opens it; `[::]` falls back to `0.0.0.0` where the host has no IPv6.
    ///
    /// # Errors
    /// When the address is taken, or not ours.
    pub(super) fn open(listen: Option<SocketAddr>) -> io::Result<Gate> {
        let listener = match listen {
            Some(address) => TcpListener::bind(address)?,
            None => TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0"))?,
        };
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Gate { listener, address })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets agents in until all have come, the time is over, or `done` says so; closed from then on.
    pub(super) fn admit(
        self,
        token: &JoinToken,
        seating: &dyn Seating,
        within: Duration,
        say: &Say,
        mut done: impl FnMut() -> bool,
    ) -> BTreeMap<Rank, Comer> {
        let (arrived, arrivals) = channel();
        let (taken, pending) = (Mutex::default(), Mutex::default());
        let desk = Desk { token, seating, taken, pending, arrived, say, refused: AtomicUsize::new(0) };
        let mut comers = BTreeMap::new();
        let deadline = Instant::now() + within;
        let listener = self.listener;
        thread::scope(|scope| {
            let desk = &desk;
            for visitor in 0_u64.. {
                comers.extend(arrivals.try_iter());
                if comers.len() >= seating.seats() || Instant::now() >= deadline || done() {
                    break;
                }
                if desk.is_full() {
                    thread::sleep(LOOK_EVERY);
                } else if is_readable(&listener)
                    && let Ok((tcp, peer)) = listener.accept()
                    && desk.register(visitor, &tcp)
                {
                    scope.spawn(move || desk.receive(visitor, tcp, peer));
                }
            }
            drop(listener);
            desk.close();
        });
        comers.extend(arrivals.try_iter()); // who was just let in
        let untold = desk.refused.load(Ordering::Relaxed).saturating_sub(MOST_TOLD);
        if untold > 0 {
            say.line(&format!("{untold} more were sent away"));
        }
        comers
    }
}

fn is_readable(listener: &TcpListener) -> bool {
    let mut fds = [PollFd::new(listener, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_EVERY.subsec_nanos()) };
    matches!(poll(&mut fds, Some(&timeout)), Ok(1..))
}

/// What every thread that receives someone shares.
struct Desk<'d> {
    token: &'d JoinToken,
    seating: &'d dyn Seating,
    /// By rank, who has the seat.
    taken: Mutex<BTreeMap<Rank, String>>,
    /// The connections of those who have not proved themselves.
    pending: Mutex<BTreeMap<u64, TcpStream>>,
    arrived: Sender<(Rank, Comer)>,
    say: &'d Say,
    refused: AtomicUsize,
}

impl Desk<'_> {
    fn register(&self, visitor: u64, tcp: &TcpStream) -> bool {
        let clone = tcp.try_clone();
        clone.is_ok_and(|clone| lock(&self.pending).insert(visitor, clone).is_none())
    }

    fn is_full(&self) -> bool {
        lock(&self.pending).len() >= AT_ONCE
    }

    /// Nobody waits for strangers: whoever has not proved itself by now is cut off.
    fn close(&self) {
        for tcp in lock(&self.pending).values() {
            let _ = tcp.shutdown(Shutdown::Both); // it may be gone
        }
    }

    fn receive(&self, visitor: u64, tcp: TcpStream, peer: SocketAddr) {
        let stream = Stream::new(tcp, HANDSHAKE);
        let candidate = stream.map_err(Into::into).and_then(|stream| receive_join(stream, self.token));
        let let_in = match candidate {
            Ok(candidate) => self.let_in(visitor, candidate),
            Err(error) => Err(error.to_string()),
        };
        lock(&self.pending).remove(&visitor);
        if let Err(why) = let_in
            && self.refused.fetch_add(1, Ordering::Relaxed) < MOST_TOLD
        {
            let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
            self.say.line(&format!("sent away {peer}: {why}"));
        }
    }

    fn let_in(&self, visitor: u64, candidate: Candidate) -> Result<(), String> {
        let identity = candidate.join.identity.clone();
        let hostname = candidate.join.hostname.clone();
        let seat = self.seating.seat(&identity, hostname.as_deref());
        let claimed = seat.and_then(|(rank, name)| self.claim(rank, candidate.peer()).map(|()| (rank, name)));
        let (rank, name) = match claimed {
            Ok(seat) => seat,
            Err(why) => {
                candidate.refuse(&why);
                return Err(why);
            }
        };
        lock(&self.pending).remove(&visitor);
        let (input, output) = candidate.welcome().map_err(|error| {
            lock(&self.taken).remove(&rank);
            format!("it went before it was let in: {error}")
        })?;
        let place = Place::Joined(format!("{}:{name}", identity.told_by));
        let comer = Comer { input, output: Box::new(output), place, identity, hostname };
        let _ = self.arrived.send((rank, comer)); // heard as long as anyone is received
        Ok(())
    }

    fn claim(&self, rank: Rank, peer: String) -> Result<(), String> {
        let mut taken = lock(&self.taken);
        if let Some(first) = taken.get(&rank) {
            return Err(format!("the agent of rank {rank} came already, from {first}"));
        }
        taken.insert(rank, peer);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
