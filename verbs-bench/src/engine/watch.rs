//! The loops' way out: a deadline without progress, and a look at the control connection now and then, both in cold code.

use std::net::TcpStream;

use schema::{Nanos, Side, Stage};

use super::Halt;
use crate::{
    clock::Scale,
    connect::socket::{Peek, peek},
    fault::Fault,
};

/// A silent loop looks at the control connection this often.
const LOOK_EVERY: Nanos = Nanos(1_000_000);

/// Watches over a loop.
pub struct Watch<'a> {
    control: Option<&'a TcpStream>,
    side: Side,
    stage: Stage,
    scale: Scale,
    deadline: Nanos,
    look_ticks: u64,
    next_look: u64,
}

impl<'a> Watch<'a> {
    /// A watch for one phase. Without a control connection only the deadline counts.
    pub fn new(
        control: Option<&'a TcpStream>,
        side: Side,
        stage: Stage,
        scale: Scale,
        deadline: Nanos,
    ) -> Self {
        Watch {
            control,
            side,
            stage,
            scale,
            deadline,
            look_ticks: scale.ticks(LOOK_EVERY.get()),
            next_look: 0,
        }
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

    /// Nothing has moved since `since`: is the peer still there, and is there still time?
    #[cold]
    #[inline(never)]
    pub fn idle(&mut self, now: u64, since: u64, awaited: &str) -> Result<(), Halt> {
        if now >= self.next_look {
            self.next_look = now + self.look_ticks;
            self.look()?;
        }
        let waited = self.scale.ns(now.saturating_sub(since));
        if waited <= self.deadline.get() {
            return Ok(());
        }
        Err(Fault::new(self.stage, self.side, format!("no {awaited} for {}", self.deadline))
            .advise("the peer or the path to it is stuck: look at the peer's messages, the port state and the retry counters; a slow path needs a longer --deadline")
            .into())
    }

    /// Looks at the control connection.
    #[cold]
    #[inline(never)]
    pub fn look(&self) -> Result<(), Halt> {
        match self.control.map_or(Peek::Quiet, peek) {
            Peek::Quiet => Ok(()),
            Peek::Waiting => Err(Halt::PeerSpoke),
            Peek::Gone => Err(Fault::new(self.stage, self.side, "the peer closed the control connection")
                .advise("its process ended or was killed: see its messages, then start it again")
                .into()),
        }
    }
}
