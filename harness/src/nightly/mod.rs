//! Nights: a suite of scenarios measured night after night, each value held against the nights before.
//!
//! A suite (`suite/`) names what is measured. A night (`night.rs`) makes every campaign, derives its values (`values.rs`), has
//! them judged, makes again what stands out, and says what came out. Judging is `reports::history`; keeping is the store's.

mod agents;
mod conclude;
mod configuration;
mod crew;
mod kept;
mod night;
mod recheck;
mod resume;
pub mod suite;
#[cfg(test)]
mod tests;
mod values;

pub use agents::Agents;
pub(crate) use conclude::conclude;
pub use configuration::configuration;
pub use crew::{Crew, Leg, NightObserver};
pub use kept::ENGINE;
pub use night::{Night, NightEnding, NightError};
pub use recheck::recheck;
pub use resume::{ResumeNightError, find};
pub use suite::{Entry, Kept, Suite};
pub use values::{Derived, FEWEST_VALID, derive};

/// A seed for a campaign whose scenario names none; short enough to be retyped.
pub fn fresh_seed() -> Result<u64, getrandom::Error> {
    getrandom::u32().map(u64::from)
}
