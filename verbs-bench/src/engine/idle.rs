//! What a loop does after an empty poll: poll again, look at the deadline now and then, or sleep until an event.
//!
//! A sleeper arms the queue's notification, polls once more (a completion may have come just before), and only then
//! sleeps. It wakes every [`SLEEP`] to look at its deadline and at the control connection.

use std::{io, sync::Arc};

use rdma_sys::ibv_cq;
use schema::Wait;

use super::{
    Halt,
    job::{JobCq, SLEEP},
    trouble,
    watch::Watch,
};
use crate::{
    clock::{Scale, Ticks},
    verbs::CompletionChannel,
};

/// Empty polls of a busy poller between two looks at the clock.
const POLLS_PER_LOOK: u32 = 1_024;
/// The same for one that sleeps after a while.
const POLLS_BEFORE_SLEEP: u32 = 16;

/// One completion queue's way to wait.
pub struct Idle {
    cq: *mut ibv_cq,
    channel: Option<Arc<CompletionChannel>>,
    /// Empty polls until the cold path.
    limit: u32,
    polls: u32,
    /// How long an empty queue is polled before the thread sleeps.
    spin_ticks: u64,
    armed: bool,
}

impl Idle {
    /// The waiting a spec asks for, on one queue.
    pub fn new(cq: &JobCq, wait: Wait, scale: Scale) -> Self {
        let (limit, spin_ticks) = match wait {
            Wait::Poll => (POLLS_PER_LOOK, u64::MAX),
            Wait::Event => (1, 0),
            Wait::Hybrid { spin_ns } => (POLLS_BEFORE_SLEEP, scale.ticks(spin_ns.get())),
        };
        Idle { cq: cq.cq, channel: cq.channel.clone(), limit, polls: 0, spin_ticks, armed: false }
    }

    /// A poll returned something.
    #[inline(always)]
    pub fn busy(&mut self) {
        self.polls = 0;
    }

    /// A poll returned nothing; nothing has moved since `since`.
    #[inline(always)]
    pub fn empty<T: Ticks>(
        &mut self,
        clock: T,
        since: u64,
        watch: &mut Watch<'_>,
        awaited: &str,
    ) -> Result<(), Halt> {
        self.polls += 1;
        if self.polls < self.limit {
            return Ok(());
        }
        self.polls = 0;
        self.look(clock.now(), since, watch, awaited)
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, now: u64, since: u64, watch: &mut Watch<'_>, awaited: &str) -> Result<(), Halt> {
        watch.idle(now, since, awaited)?;
        let Some(channel) = &self.channel else { return Ok(()) };
        if now.saturating_sub(since) < self.spin_ticks {
            return Ok(());
        }
        if self.armed {
            self.armed = false;
            // SAFETY: the job's maker vouches for the queue, which was created with this channel and is ours alone.
            let woken = unsafe { channel.wait(self.cq, SLEEP) };
            return woken.map(|_| ()).map_err(|error| trouble::wait(&error, watch));
        }
        // SAFETY: as above; for an ibv_cq_ex the head is an ibv_cq.
        let errno = unsafe { rdma_sys::ibv_req_notify_cq(self.cq, 0) };
        if errno != 0 {
            return Err(trouble::wait(&io::Error::from_raw_os_error(errno.abs()), watch));
        }
        self.armed = true;
        Ok(())
    }
}
