//! The clock of a measurement: raw ticks for the hot loop, and the scale that turns them into nanoseconds.
//!
//! The loop is generic over [`Ticks`], so a reading is one instruction or one vDSO call and nothing else. Which of the
//! two a run uses is decided once, by [`Clock::calibrate`], and is in the record together with what a reading costs.

mod calibrate;
mod overhead;
mod tsc;

pub use calibrate::{Clock, ClockError, Scale, Source, forced_source};
pub use tsc::{AnyTicks, MonotonicRaw, Ticks, Tsc};
