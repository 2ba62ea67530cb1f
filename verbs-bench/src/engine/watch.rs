//! The loops' way out: a deadline without progress, and a flag that whoever speaks with the peer raises, both in cold code.

use std::sync::atomic::{AtomicBool, Ordering};

use schema::{Nanos, Side, Stage};

use super::Halt;
use crate::{clock::Scale, fault::Fault};

/// Watches over a loop.
pub struct Watch<'a> {
    call: Option<&'a AtomicBool>,
    side: Side,
    stage: Stage,
    scale: Scale,
    deadline: Nanos,
}

impl<'a> Watch<'a> {
    /// A watch for one phase. Without somebody to call only the deadline counts.
    pub fn new(
        call: Option<&'a AtomicBool>,
        side: Side,
        stage: Stage,
        scale: Scale,
        deadline: Nanos,
    ) -> Self {
        Watch { call, side, stage, scale, deadline }
    }

    /// The phase that faults are reported under from now on.
    pub fn enter(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// Where the loop is, for faults.
    pub fn place(&self) -> (Stage, Side) {
        (self.stage, self.side)
    }

    /// Whether so much time lies between two ticks.
    pub fn has_passed(&self, since: u64, now: u64, time: Nanos) -> bool {
        self.scale.ns(now.saturating_sub(since)) >= time.get()
    }

    /// Nothing has moved since `since`: is this loop still wanted, and is there still time?
    #[cold]
    #[inline(never)]
    pub fn idle(&mut self, now: u64, since: u64, awaited: &str) -> Result<(), Halt> {
        self.look()?;
        let waited = self.scale.ns(now.saturating_sub(since));
        if waited <= self.deadline.get() {
            return Ok(());
        }
        Err(Fault::new(self.stage, self.side, format!("no {awaited} for {}", self.deadline))
            .advise("the peer or the path to it is stuck: look at the peer's messages, the port state and the retry counters; a slow path needs a longer --deadline")
            .into())
    }

    /// Whether the loop is called away.
    #[cold]
    #[inline(never)]
    pub fn look(&self) -> Result<(), Halt> {
        match self.call {
            Some(call) if call.load(Ordering::Acquire) => Err(Halt::PeerSpoke),
            _ => Ok(()),
        }
    }
}
