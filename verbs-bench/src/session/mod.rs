//! One run from the first frame to the last: the straight line of each side.
//!
//! `requester` and `responder` are the two lines; `station` is what both have (a device, a place, a clock), `endpoint` what
//! they connect, `preflight` what is refused before anything is created, `own` what a responder was started with, `local` the one that `run` starts itself.

mod agree;
pub mod endpoint;
pub mod local;
pub mod own;
pub mod preflight;
pub mod queues;
pub mod requester;
pub mod responder;
pub mod station;

/// Calls a block with the tick source a clock has chosen, so that the loops are compiled for each.
macro_rules! with_ticks {
    ($clock:expr, |$ticks:ident| $body:expr) => {
        match $clock.source() {
            $crate::clock::Source::Tsc => {
                let $ticks = $crate::clock::Tsc;
                $body
            }
            $crate::clock::Source::MonotonicRaw => {
                let $ticks = $crate::clock::MonotonicRaw;
                $body
            }
        }
    };
}
pub(crate) use with_ticks;
