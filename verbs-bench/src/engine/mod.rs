//! The hot loops and what they write into. The loops are the same machine code on every NIC: they call `ibv_post_send` and
//! `ibv_poll_cq` and know no device, no option and no peer. Choices are made before a loop starts; inside it there is no
//! allocation, division, system call, lock or formatting, except in the `#[cold]` functions it leaves for.

pub mod bandwidth;
pub mod idle;
pub mod job;
pub mod kept;
pub mod latency;
pub mod layout;
pub mod pace;
pub mod pattern;
pub mod post;
pub mod reap;
pub mod receiver;
pub mod recorder;
#[cfg(test)]
pub(crate) mod rig;
mod trouble;
pub mod watch;

use crate::fault::Fault;

/// Why a loop ended before its goal.
#[derive(Debug)]
pub enum Halt {
    /// Something failed here.
    Fault(Fault),
    /// The loop was called away by whoever speaks with the peer: it is over, or something failed there or in another thread.
    PeerSpoke,
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}
