//! The latency loops: a write ping-pong of one message, each side polling the last byte of its own target.
//!
//! A sample of the requester runs from just before its post to the load that saw the answer; halved, it is the half round
//! trip. Its own completions are reaped while it waits for the answer, off the critical path, and give the
//! post-to-completion times. Both sides poll memory, so relaxed ordering must be off: the last byte must land last.

use std::sync::atomic::{AtomicU8, Ordering, fence};

use rdma_sys::{ibv_cq, ibv_qp, ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wc};
use schema::{RunSpec, Stage, Stop};

use super::{
    Halt,
    bandwidth::Measured,
    lane::{Addresses, Load, write_request},
    layout::Layout,
    recorder::Recorder,
    trouble,
    watch::Watch,
};
use crate::clock::Ticks;

/// Loads of the polled byte between two polls of the completion queue. On the software NIC the poll also moves the link.
const SPINS_PER_POLL: u32 = 16;
/// Completion polls between two looks at the clock.
const POLLS_PER_LOOK: u32 = 64;
/// Own writes whose completion may be outstanding; the ring of their post ticks. A power of two.
pub const OUTSTANDING: usize = 16;

/// One end of the ping-pong.
pub struct PingPong {
    qp: *mut ibv_qp,
    cq: *mut ibv_cq,
    wr: Box<ibv_send_wr>,
    _sge: Box<ibv_sge>,
    /// Last byte of the message we send.
    source_last: *const AtomicU8,
    /// Last byte of the message we receive.
    target_last: *const AtomicU8,
    turn: u8,
    posted_at: [u64; OUTSTANDING],
    posted: usize,
    reaped: usize,
}

/// Where a requester's samples go.
pub struct Samples<'a> {
    /// Half round trips.
    pub half_round_trip: &'a mut Recorder,
    /// Post to completion of the own writes.
    pub completion: &'a mut Recorder,
}

impl PingPong {
    /// Builds the one work request.
    ///
    /// # Safety
    /// `qp` must be in RTS with `cq` as its send completion queue, both outlive this. `addresses.source` and
    /// `own_region` must point into registered memory of at least a slot each that outlives it too.
    pub unsafe fn new(
        qp: *mut ibv_qp,
        cq: *mut ibv_cq,
        load: &Load,
        layout: &Layout,
        addresses: &Addresses,
        own_region: *const u8,
    ) -> Self {
        let (source, target) = (layout.source(0, 0), layout.target(0, 0));
        let last = u64::from(load.msg_bytes) - 1;
        let mut sge = Box::new(ibv_sge {
            addr: addresses.source + source,
            length: load.msg_bytes,
            lkey: addresses.lkey,
        });
        let mut wr =
            Box::new(write_request(&mut sge, addresses.target + target, addresses.rkey, 0, load.inline));
        wr.send_flags |= ibv_send_flags::IBV_SEND_SIGNALED.0;
        let source_last = (addresses.source + source + last) as *const AtomicU8;
        // SAFETY: the caller promises a whole region behind own_region.
        let target_last = unsafe { own_region.add((target + last) as usize) }.cast::<AtomicU8>();
        PingPong {
            qp,
            cq,
            wr,
            _sge: sge,
            source_last,
            target_last,
            turn: 0,
            posted_at: [0; OUTSTANDING],
            posted: 0,
            reaped: 0,
        }
    }

    /// The requester: WarmUp, Measure, Drain.
    pub fn ping<T: Ticks>(
        &mut self,
        clock: T,
        spec: &RunSpec,
        kept: Samples<'_>,
        scrap: Samples<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Measured, Halt> {
        let scale = kept.half_round_trip.scale();
        watch.enter(Stage::WarmUp);
        let warm_until = clock.now() + scale.ticks(spec.warmup_ns.get());
        let Samples { half_round_trip, completion } = scrap;
        let (began, _) = self.ping_until(clock, warm_until, u64::MAX, half_round_trip, completion, watch)?;
        self.reap_all(clock, completion, watch)?;
        watch.enter(Stage::Measure);
        let (until, limit) = match spec.stop {
            Stop::DurationNs(duration) => (began + scale.ticks(duration.get()), u64::MAX),
            Stop::Iterations(count) => (u64::MAX, count),
        };
        kept.half_round_trip.start(began, 0);
        kept.completion.start(began, 0);
        let (ended, messages) =
            self.ping_until(clock, until, limit, kept.half_round_trip, kept.completion, watch)?;
        kept.half_round_trip.finish(ended, messages);
        watch.enter(Stage::Drain);
        self.reap_all(clock, kept.completion, watch)?;
        kept.completion.finish(ended, messages);
        Ok(Measured { messages, began, ended, sent: self.posted as u64, ..Measured::default() })
    }

    /// The hot loop of the requester. Returns the tick at which it ended and the round trips it made.
    #[inline(never)]
    fn ping_until<T: Ticks>(
        &mut self,
        clock: T,
        until: u64,
        limit: u64,
        half_round_trip: &mut Recorder,
        completion: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<(u64, u64), Halt> {
        let mut round_trips = 0u64;
        loop {
            if self.posted - self.reaped >= OUTSTANDING {
                self.reap_all(clock, completion, watch)?;
            }
            self.turn = self.turn.wrapping_add(1);
            self.stamp_message();
            let sent = clock.now();
            self.posted_at[self.posted & (OUTSTANDING - 1)] = sent;
            self.post(watch)?;
            self.await_turn(clock, completion, watch, sent, "answer to a ping")?;
            let seen = clock.now();
            half_round_trip.add_half(seen - sent);
            round_trips += 1;
            if half_round_trip.interval_over(seen) {
                half_round_trip.end_interval(seen, round_trips);
                watch.look()?;
            }
            if seen >= until || round_trips >= limit {
                return Ok((seen, round_trips));
            }
        }
    }

    /// The responder: answers every ping until the requester says on the control connection that it is over.
    #[inline(never)]
    pub fn pong<T: Ticks>(
        &mut self,
        clock: T,
        scrap: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<(), Halt> {
        loop {
            self.turn = self.turn.wrapping_add(1);
            let since = clock.now();
            self.await_turn(clock, scrap, watch, since, "ping")?;
            self.stamp_message();
            self.posted_at[self.posted & (OUTSTANDING - 1)] = since;
            self.post(watch)?;
            if self.posted - self.reaped >= OUTSTANDING {
                self.reap_all(clock, scrap, watch)?;
            }
        }
    }

    /// Spins until the message of this turn has landed, taking own completions meanwhile.
    #[inline(always)]
    fn await_turn<T: Ticks>(
        &mut self,
        clock: T,
        completion: &mut Recorder,
        watch: &mut Watch<'_>,
        since: u64,
        awaited: &str,
    ) -> Result<(), Halt> {
        let mut spins = 0u32;
        let mut polls = 0u32;
        while !self.has_landed() {
            spins += 1;
            if spins == SPINS_PER_POLL {
                spins = 0;
                self.reap(clock, completion, watch)?;
                polls += 1;
                if polls == POLLS_PER_LOOK {
                    polls = 0;
                    watch.idle(clock.now(), since, awaited)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the turn into the last byte of the message to send.
    #[inline(always)]
    fn stamp_message(&self) {
        // SAFETY: `new` asked for a slot of registered memory that outlives self.
        unsafe { (*self.source_last).store(self.turn, Ordering::Release) };
    }

    /// Whether the message of this turn has landed.
    #[inline(always)]
    fn has_landed(&self) -> bool {
        // SAFETY: `new` asked for a slot of registered memory that outlives self.
        unsafe { (*self.target_last).load(Ordering::Acquire) == self.turn }
    }

    #[inline(always)]
    fn post(&mut self, watch: &Watch<'_>) -> Result<(), Halt> {
        fence(Ordering::Release);
        let mut bad = std::ptr::null_mut();
        // SAFETY: `new` asked for a QP in RTS; the work request and its SGE live in self.
        let errno = unsafe { rdma_sys::ibv_post_send(self.qp, &mut *self.wr, &mut bad) };
        self.posted += 1;
        if errno == 0 { Ok(()) } else { Err(trouble::post(errno, watch)) }
    }

    /// Takes at most one own completion.
    #[inline(always)]
    fn reap<T: Ticks>(&mut self, clock: T, completion: &mut Recorder, watch: &Watch<'_>) -> Result<(), Halt> {
        let mut wc = std::mem::MaybeUninit::<ibv_wc>::uninit();
        // SAFETY: `new` asked for a live completion queue; wc has room for the one completion asked for.
        let polled = unsafe { rdma_sys::ibv_poll_cq(self.cq, 1, wc.as_mut_ptr()) };
        if polled == 0 {
            return Ok(());
        }
        if polled < 0 {
            return Err(trouble::poll(polled, watch));
        }
        // SAFETY: one completion was returned, so wc is written.
        let wc = unsafe { wc.assume_init() };
        if wc.status != 0 || self.reaped == self.posted {
            return Err(trouble::completion(&wc, watch));
        }
        completion.add(clock.now() - self.posted_at[self.reaped & (OUTSTANDING - 1)]);
        self.reaped += 1;
        Ok(())
    }

    /// Waits for every own completion.
    #[cold]
    #[inline(never)]
    fn reap_all<T: Ticks>(
        &mut self,
        clock: T,
        completion: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<(), Halt> {
        let since = clock.now();
        while self.reaped < self.posted {
            self.reap(clock, completion, watch)?;
            watch.idle(clock.now(), since, "completion of a ping")?;
        }
        Ok(())
    }
}
