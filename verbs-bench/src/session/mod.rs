//! One run from the first frame to the last: the straight line of each side.
//!
//! `requester` and `responder` are the two lines, in the words of `talk`; `measure` is what the requester does with each
//! message size, `round` with each order. `station` is what both have (a device, a place, a clock), `endpoint` and its
//! `queues` what `join` connects, `preflight` and `agree` what is refused before. `crew` are the threads of a side, `duty`
//! and `work` what each does, `floor` what they share; `merge` and `point` make one result of theirs. `hold` is where a run
//! stands ready until it is told to begin. `own` is what a responder was started with, `local` the one that `run` starts
//! itself, and `loopback` needs none.

mod agree;
mod correlate;
mod crew;
mod duty;
pub mod endpoint;
mod floor;
pub mod hold;
mod join;
pub mod local;
pub mod loopback;
mod measure;
mod merge;
pub mod own;
mod point;
pub mod preflight;
pub mod queues;
pub mod requester;
pub mod responder;
mod round;
mod search;
pub mod start_up;
pub mod station;
mod talk;
mod work;

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
