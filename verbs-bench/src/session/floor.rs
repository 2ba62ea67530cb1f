//! What passes between the threads of a side while they work: who has sent how much, who failed, when it is over.
//!
//! The workers measure and are never disturbed: they look at flags, in the cold part of their loops. The foreman, the
//! thread that speaks with the peer, sleeps until the peer says something or a worker rings.

use std::{
    io,
    net::TcpStream,
    os::fd::OwnedFd,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::{
    connect::socket::{Peek, peek},
    engine::Halt,
    fault::Fault,
};

/// How long before its moment a worker wakes: what a timer and a scheduler may be late.
const AWAKE: Duration = Duration::from_micros(200);
/// How often a worker that awaits its moment looks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the threads of a side share for the length of one shift.
pub(super) struct Floor {
    workers: usize,
    /// When those that send begin; none is as soon as they can.
    moment: Option<Instant>,
    /// Everyone must leave: something failed here or at the peer.
    abort: AtomicBool,
    /// The peer has sent its last message; raised with `abort` too.
    over: AtomicBool,
    /// What the peer sent on each QP, known when `over` is raised.
    peer_sent: OnceLock<Vec<u64>>,
    bell: OwnedFd,
    lined_up: AtomicUsize,
    start: AtomicU64,
    state: Mutex<State>,
}

struct State {
    /// What each worker has sent on each of its QPs, once it has sent all.
    sent: Vec<Option<Vec<u64>>>,
    failed: bool,
    fault: Option<Fault>,
}

/// What the foreman hears.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// A message waits on the control connection, or it has ended.
    Peer,
    /// Every worker has sent what it had to: so many on each QP of the side.
    AllSent(Vec<u64>),
    /// A worker failed.
    Failed,
    /// Nothing, for as long as was asked.
    Silence,
}

impl Floor {
    /// For so many workers, of whom those that send begin at a moment.
    pub(super) fn new(workers: usize, moment: Option<Instant>) -> io::Result<Floor> {
        Ok(Floor {
            workers,
            moment,
            abort: AtomicBool::new(false),
            over: AtomicBool::new(false),
            peer_sent: OnceLock::new(),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            lined_up: AtomicUsize::new(0),
            start: AtomicU64::new(0),
            state: Mutex::new(State { sent: vec![None; workers], failed: false, fault: None }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A worker that panicked while it held the lock has failed, and is reported as such.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raised when everyone must leave.
    pub(super) fn abort_flag(&self) -> &AtomicBool {
        &self.abort
    }

    /// Raised when the peer has sent its last message.
    pub(super) fn over_flag(&self) -> &AtomicBool {
        &self.over
    }

    fn ring(&self) {
        // The counter of an eventfd overflows after 2^64 rings; a full one would still wake the foreman.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Waits until all workers are here, and returns the tick from which all count: the last one's.
    pub(super) fn line_up(&self, now: impl Fn() -> u64) -> Result<u64, Halt> {
        if self.lined_up.fetch_add(1, Ordering::AcqRel) + 1 == self.workers {
            self.start.store(now().max(1), Ordering::Release);
        }
        loop {
            match self.start.load(Ordering::Acquire) {
                0 if self.abort.load(Ordering::Relaxed) => return Err(Halt::PeerSpoke),
                0 => thread::yield_now(),
                tick => return Ok(tick),
            }
        }
    }

    /// Waits until the moment has come: asleep, and the last bit awake.
    pub(super) fn await_moment(&self) -> Result<(), Halt> {
        let Some(moment) = self.moment else { return Ok(()) };
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if self.abort.load(Ordering::Acquire) {
                return Err(Halt::PeerSpoke);
            }
            match left.saturating_sub(AWAKE) {
                Duration::ZERO => std::hint::spin_loop(),
                asleep => thread::sleep(asleep.min(LOOK_EVERY)),
            }
        }
    }

    /// A worker has sent all it had to: so many messages on each of its QPs.
    pub(super) fn has_sent(&self, worker: usize, by_qp: Vec<u64>) {
        self.state().sent[worker] = Some(by_qp);
        self.ring();
    }

    /// A worker could not go on. The first one's fault is kept; the others are told to leave.
    pub(super) fn fail(&self, halt: Halt) {
        let mut state = self.state();
        if let Halt::Fault(fault) = halt {
            state.fault.get_or_insert(fault);
        }
        state.failed = true;
        drop(state);
        self.leave();
        self.ring();
    }

    /// Everyone must leave.
    pub(super) fn leave(&self) {
        self.abort.store(true, Ordering::Release);
        self.over.store(true, Ordering::Release);
    }

    /// The peer has sent its last message: so many on each QP.
    pub(super) fn finish(&self, peer_sent: Vec<u64>) {
        let _ = self.peer_sent.set(peer_sent);
        self.over.store(true, Ordering::Release);
    }

    /// What the peer sent on these QPs; none if the workers were told to leave before it was known.
    pub(super) fn peer_sent(&self, first_qp: usize, qps: usize) -> Option<u64> {
        let by_qp = self.peer_sent.get()?;
        Some(by_qp.iter().skip(first_qp).take(qps).sum())
    }

    /// What went wrong first, if a worker said so.
    pub(super) fn into_fault(self) -> Option<Fault> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).fault
    }

    /// The foreman's sleep. Without `heed_sent`, workers that have sent everything are no news.
    pub(super) fn listen(
        &self,
        stream: &TcpStream,
        heed_sent: bool,
        patience: Option<Duration>,
    ) -> io::Result<News> {
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        loop {
            if peek(stream) != Peek::Quiet {
                return Ok(News::Peer);
            }
            let state = self.state();
            if state.failed {
                return Ok(News::Failed);
            }
            if heed_sent && state.sent.iter().all(Option::is_some) {
                return Ok(News::AllSent(state.sent.iter().flatten().flatten().copied().collect()));
            }
            drop(state);
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(News::Silence);
            }
            self.sleep(stream, left)?;
        }
    }

    fn sleep(&self, stream: &TcpStream, left: Option<Duration>) -> io::Result<()> {
        let timeout = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        let mut heard = [PollFd::new(stream, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
        match poll(&mut heard, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut rings = [0u8; 8];
        let _ = rustix::io::read(&self.bell, &mut rings);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, net::TcpListener};

    use schema::{Side, Stage};

    use super::*;

    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, other)
    }

    #[test]
    fn the_foreman_wakes_for_the_last_sender_and_for_the_peer() {
        let (here, mut there) = connection();
        let floor = Floor::new(2, None).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| floor.has_sent(1, vec![3, 4]));
            scope.spawn(|| floor.has_sent(0, vec![1, 2]));
            assert_eq!(floor.listen(&here, true, None).unwrap(), News::AllSent(vec![1, 2, 3, 4]));
        });
        assert_eq!(floor.listen(&here, false, Some(Duration::from_millis(1))).unwrap(), News::Silence);
        thread::scope(|scope| {
            scope.spawn(|| there.write_all(b"x").unwrap());
            assert_eq!(floor.listen(&here, false, None).unwrap(), News::Peer);
        });
    }

    #[test]
    fn the_first_fault_is_kept_and_everyone_is_told_to_leave() {
        let (here, _there) = connection();
        let floor = Floor::new(3, None).unwrap();
        let fault = |cause| Fault::new(Stage::Measure, Side::Requester, cause);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| floor.line_up(|| 7));
            scope.spawn(|| {
                floor.fail(fault("first").into());
                floor.fail(Halt::PeerSpoke);
                floor.fail(fault("second").into());
            });
            assert_eq!(floor.listen(&here, true, None).unwrap(), News::Failed);
            assert!(matches!(waiting.join().unwrap(), Err(Halt::PeerSpoke)));
        });
        assert!(floor.abort_flag().load(Ordering::Relaxed) && floor.over_flag().load(Ordering::Relaxed));
        assert_eq!(floor.into_fault().unwrap().cause, "first");
    }

    #[test]
    fn nobody_begins_before_the_moment_and_whoever_waits_can_be_called_away() {
        let moment = Instant::now() + Duration::from_millis(30);
        Floor::new(1, Some(moment)).unwrap().await_moment().unwrap();
        assert!(Instant::now() >= moment);
        let floor = Floor::new(1, Some(Instant::now() + Duration::from_secs(3_600))).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| floor.await_moment());
            floor.leave();
            assert!(matches!(waiting.join().unwrap(), Err(Halt::PeerSpoke)));
        });
    }

    #[test]
    fn all_start_from_the_tick_of_the_last() {
        let floor = Floor::new(3, None).unwrap();
        let ticks = AtomicU64::new(1);
        let starts = thread::scope(|scope| {
            let workers: Vec<_> = (0..3)
                .map(|_| scope.spawn(|| floor.line_up(|| ticks.fetch_add(1, Ordering::Relaxed)).unwrap()))
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(starts, [1, 1, 1]);
        floor.finish(vec![1, 2, 3, 4]);
        assert_eq!(floor.peer_sent(2, 2), Some(7));
    }
}
