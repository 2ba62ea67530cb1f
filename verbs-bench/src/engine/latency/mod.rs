//! The latency tests: one message in flight, its answer awaited, every exchange a sample.
//!
//! How the answer is seen depends on the operation. `memory`: a write's answer is the last byte of the own target, polled
//! there. `message`: the answer to a send or a write with immediate is a receive that completes. Both are ping-pongs, so a
//! sample is half the round trip; the own completions are reaped off the critical path and give the post-to-completion
//! times. `fetch`: a read or an atomic is its own answer, a whole round trip that the responder's CPU has no part in.
//!
//! `compat = perftest` follows that tool instead: no warm-up, each side waits for its own completion before it looks for the
//! answer, and a sample is the time from one post to the next.
//!
//! Over uc and ud a message may be lost. A requester without an answer for [`LOST_AFTER`] counts the exchange as lost and
//! goes on; the last byte of a message says which exchange it belongs to, so that a late answer is not taken for the next.
//! That byte is written on both sides: fill the source anew before data is checked after a ping-pong. Before one, both
//! target halves must be zero.

mod choose;
mod exchange;
mod fetch;
mod memory;
mod message;
mod single;
mod stamp;
#[cfg(test)]
mod tests;

use schema::{LatencyKind, Nanos, Op};

use self::choose::{Ping, Pong, choose};
pub use self::{exchange::Samples, single::OUTSTANDING};
use super::{Halt, bandwidth::Measured, job::Job, receiver::Receiver, watch::Watch};
use crate::clock::Clock;

/// How long an answer over an unreliable transport may take; a slower one counts as lost. A busy host keeps a thread off its
/// core for tens of milliseconds, and such a sample must not be missing from the tail.
pub const LOST_AFTER: Nanos = Nanos(100_000_000);

/// What a sample of the latency test is.
pub fn kind(op: Op) -> LatencyKind {
    if op.fetches() { LatencyKind::RoundTrip } else { LatencyKind::HalfRoundTrip }
}

/// The requester: WarmUp, Measure, Drain, as the spec says. `receiver` is there where the operation consumes receives, and
/// filled. Samples of Measure go to `kept`, those of the other phases to `scrap`.
///
/// # Safety
/// As [`Job`] says; the QP is in RTS.
pub unsafe fn ping(
    job: &Job<'_>,
    clock: &Clock,
    receiver: Option<&mut Receiver>,
    kept: Samples<'_>,
    scrap: Samples<'_>,
    watch: &mut Watch<'_>,
) -> Result<Measured, Halt> {
    let role = Ping { kept, scrap };
    // SAFETY: as the caller's.
    unsafe { choose(job, clock, receiver, watch, role) }
}

/// The responder of a ping-pong: answers until the peer speaks on the control connection. Returns how many messages it sent.
///
/// # Safety
/// As [`ping`].
pub unsafe fn pong(
    job: &Job<'_>,
    clock: &Clock,
    receiver: Option<&mut Receiver>,
    watch: &mut Watch<'_>,
) -> Result<u64, Halt> {
    // SAFETY: as the caller's.
    unsafe { choose(job, clock, receiver, watch, Pong) }
}
