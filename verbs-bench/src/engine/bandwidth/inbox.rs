//! What comes the other way while a loop sends: receives, or nothing.

use crate::engine::{Halt, receiver::Receiver, watch::Watch};

/// Receives that are taken between two polls of the send queue.
pub trait Inbox {
    /// One poll; messages that came, or a negative number.
    fn turn(&mut self) -> i32;

    /// Why `turn` was negative.
    fn trouble(&self, watch: &Watch<'_>) -> Halt;
}

/// Nothing comes.
pub struct NoInbox;

impl Inbox for NoInbox {
    #[inline(always)]
    fn turn(&mut self) -> i32 {
        0
    }

    fn trouble(&self, _watch: &Watch<'_>) -> Halt {
        unreachable!("an inbox that never fails has no trouble")
    }
}

impl Inbox for Receiver {
    #[inline(always)]
    fn turn(&mut self) -> i32 {
        Receiver::turn(self)
    }

    fn trouble(&self, watch: &Watch<'_>) -> Halt {
        Receiver::trouble(self, watch)
    }
}
