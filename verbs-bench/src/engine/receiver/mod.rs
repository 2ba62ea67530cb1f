//! The receive queues of one thread: kept full, polled in batches, every message counted and looked at.
//!
//! Posted with `ibv_post_recv` and polled with `ibv_poll_cq` whatever API the sends go through: the extended one has no
//! receives of its own. A message must have the operation and the size of the point, and where it carries an immediate,
//! that is its number on its QP: rc delivers each next one, uc only later ones. Numbers count up by one from whatever the
//! first message after [`Receiver::expect`] carries.

mod queue;
#[cfg(test)]
mod tests;
mod trouble;

use rdma_sys::{ibv_cq, ibv_wc, ibv_wc_opcode};
use schema::{Nanos, Op, Transport};

use self::{
    queue::{Queue, Stock},
    trouble::Failure,
};
use super::{Halt, idle::Idle, job::Job, watch::Watch};
use crate::clock::{Scale, Ticks};

/// Turns that returned messages between two looks at the control connection.
const BUSY_TURNS_PER_LOOK: u32 = 1 << 16;
/// What `turn` returns when it could not go on.
const FAILED: i32 = -1;

/// What every message must be.
#[derive(Debug, Clone, Copy)]
struct Expected {
    opcode: ibv_wc_opcode::Type,
    byte_len: u32,
    /// The bits of the immediate that are the message's number: all, or none where there is no immediate.
    number_mask: u32,
    /// How many numbers may be skipped at once.
    slack: u32,
}

/// The receive queues of one thread.
pub struct Receiver {
    queues: Box<[Queue]>,
    cq: *mut ibv_cq,
    wcs: Box<[ibv_wc]>,
    stock: Stock,
    /// Queues that are owed receives.
    short: Box<[u32]>,
    short_count: usize,
    expected: Expected,
    headroom: u32,
    received: u64,
    rx_depth: u32,
    failure: Failure,
    idle: Idle,
}

// SAFETY: the pointers are those of the job, whose maker vouches that one thread at a time uses them.
unsafe impl Send for Receiver {}

impl Receiver {
    /// The receive queues of a job; they live over all its points, so a buffer holds the largest message of the spec.
    ///
    /// # Safety
    /// The job's QPs, its receive queue and its memory outlive this.
    pub unsafe fn new(job: &Job<'_>, scale: Scale) -> Self {
        let spec = job.spec;
        let mut receiver = Receiver {
            queues: job.qps.iter().map(|qp| Queue::new(job, qp)).collect(),
            cq: job.recv_cq.cq,
            // SAFETY: ibv_wc is a C struct of integers; all zeros is a valid value.
            wcs: (0..spec.cq_poll_batch).map(|_| unsafe { std::mem::zeroed() }).collect(),
            stock: Stock::new(job),
            short: vec![0; job.qps.len()].into_boxed_slice(),
            short_count: 0,
            expected: Expected {
                opcode: match spec.op {
                    Op::WriteImm => ibv_wc_opcode::IBV_WC_RECV_RDMA_WITH_IMM,
                    _ => ibv_wc_opcode::IBV_WC_RECV,
                },
                byte_len: 0,
                number_mask: if spec.op == Op::WriteImm { u32::MAX } else { 0 },
                slack: if spec.transport == Transport::Rc { 0 } else { u32::MAX >> 1 },
            },
            headroom: job.layout.headroom as u32,
            received: 0,
            rx_depth: spec.rx_depth,
            failure: Failure::None,
            idle: Idle::new(&job.recv_cq, spec.wait, scale),
        };
        receiver.expect(job.msg_bytes);
        receiver
    }

    /// From here on messages have this size and their numbers begin anew: call it for each point, and whenever the peer
    /// makes a new sender, while nothing is on the way.
    pub fn expect(&mut self, msg_bytes: u32) {
        self.expected.byte_len = msg_bytes + self.headroom;
        for queue in &mut self.queues {
            queue.slack = u32::MAX;
        }
    }

    /// Posts `rx_depth` receives on every QP; once, with the QPs in INIT or later.
    pub fn fill(&mut self, watch: &Watch<'_>) -> Result<(), Halt> {
        for at in 0..self.queues.len() {
            self.owe(at, self.rx_depth);
        }
        if self.restock() < 0 { Err(self.trouble(watch)) } else { Ok(()) }
    }

    /// Messages received over the life of the receiver.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The same for each QP, by its number among the QPs of all threads: the data check must know the slots.
    pub fn received_by_qp(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.queues.iter().map(|queue| (queue.index, queue.received))
    }

    /// One poll, and new receives for what came. Returns how many messages came; negative: see [`Receiver::trouble`].
    #[inline(always)]
    pub fn turn(&mut self) -> i32 {
        let polled = self.poll();
        if polled > 0 && self.restock() < 0 { FAILED } else { polled }
    }

    /// One poll. What came must be given back by [`Receiver::restock`] before rx_depth is used up.
    #[inline(always)]
    pub(super) fn poll(&mut self) -> i32 {
        let room = self.wcs.len() as i32;
        // SAFETY: the job's maker vouches for the queue; wcs has room for what is asked for.
        let polled = unsafe { rdma_sys::ibv_poll_cq(self.cq, room, self.wcs.as_mut_ptr()) };
        if polled < 0 {
            return self.fail(Failure::Poll(polled));
        }
        let expected = self.expected;
        for at in 0..(polled as usize).min(self.wcs.len()) {
            let wc = &self.wcs[at];
            let index = wc.wr_id as usize;
            let right = (wc.status == 0)
                & (wc.opcode == expected.opcode)
                & (wc.byte_len == expected.byte_len)
                & (index < self.queues.len());
            if !right {
                return self.fail(Failure::Completion(at));
            }
            // SAFETY: both members of the union are four bytes of integer, and wcs began as zeros.
            let immediate = unsafe { wc.imm_data_invalidated_rkey_union.imm_data };
            let number = u32::from_be(immediate) & expected.number_mask;
            let queue = &mut self.queues[index];
            if number.wrapping_sub(queue.number) > queue.slack {
                let awaited = queue.number;
                return self.fail(Failure::Number { at, awaited });
            }
            queue.number = number.wrapping_add(1) & expected.number_mask;
            queue.slack = expected.slack;
            queue.received += 1;
            self.owe(index, 1);
        }
        self.received += polled as u64;
        polled
    }

    /// Notes that a queue is to be given so many receives.
    #[inline(always)]
    fn owe(&mut self, index: usize, count: u32) {
        let queue = &mut self.queues[index];
        if queue.owed == 0 {
            self.short[self.short_count] = index as u32;
            self.short_count += 1;
        }
        queue.owed += count;
    }

    /// Posts the receives that are owed. Returns 0; negative: see [`Receiver::trouble`].
    #[inline(always)]
    pub(super) fn restock(&mut self) -> i32 {
        while self.short_count > 0 {
            let index = self.short[self.short_count - 1] as usize;
            let queue = &mut self.queues[index];
            let errno = self.stock.post(index as u64, queue);
            self.short_count -= usize::from(queue.owed == 0);
            if errno != 0 {
                return self.fail(Failure::Post(errno));
            }
        }
        0
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, failure: Failure) -> i32 {
        self.failure = failure;
        FAILED
    }

    /// Why the last call returned a negative number.
    #[cold]
    #[inline(never)]
    pub fn trouble(&self, watch: &Watch<'_>) -> Halt {
        self.failure.halt(&self.wcs, &self.expected, watch)
    }

    /// Receives until the peer speaks on the control connection, which ends it with [`Halt::PeerSpoke`].
    #[inline(never)]
    pub fn serve<T: Ticks>(&mut self, clock: T, watch: &mut Watch<'_>) -> Result<(), Halt> {
        let mut since = clock.now();
        let mut fresh = false;
        let mut turns = 0u32;
        loop {
            let came = self.turn();
            if came > 0 {
                self.idle.busy();
                fresh = true;
                turns += 1;
                if turns == BUSY_TURNS_PER_LOOK {
                    turns = 0;
                    watch.look()?;
                }
            } else if came < 0 {
                return Err(self.trouble(watch));
            } else {
                if fresh {
                    fresh = false;
                    since = clock.now();
                }
                self.idle.empty(clock, since, watch, "message")?;
            }
        }
    }

    /// Receives until `total` messages have come over the life of the receiver, or none has come for `patience`. Returns
    /// how many have.
    #[inline(never)]
    pub fn catch_up<T: Ticks>(
        &mut self,
        clock: T,
        total: u64,
        patience: Nanos,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt> {
        let mut since = clock.now();
        while self.received < total {
            let came = self.turn();
            if came < 0 {
                return Err(self.trouble(watch));
            }
            let now = clock.now();
            if came > 0 {
                since = now;
            } else if watch.has_passed(since, now, patience) {
                break;
            } else {
                watch.idle(now, since, "message that the peer sent")?;
            }
        }
        Ok(self.received)
    }
}
