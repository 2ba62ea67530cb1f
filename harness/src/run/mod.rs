//! Carries out the planned runs one after the other, keeps each as it ends, and stops cleanly when told to.
//!
//! A failed run is data and the campaign goes on; only a failure that stands at the very start and repeats itself ends it,
//! because then nothing can be measured.

mod campaign;
pub(crate) mod ends;
mod executor;
pub(crate) mod failure;
mod knobs;
mod processes;
#[cfg(test)]
mod scripted;
pub(crate) mod shares;
mod stopping;
#[cfg(test)]
mod testing;

pub use campaign::{Ending, Observer, Progress, Work, carry_out};
pub use executor::{Executor, Task};
pub use knobs::PrepareError;
pub use processes::Processes;
pub use stopping::{Look, Standing, Stopping, standing};
