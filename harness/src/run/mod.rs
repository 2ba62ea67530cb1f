//! Carries out the planned runs one after the other, keeps each as it ends, and stops cleanly when told to.
//!
//! A failed run is data and the campaign goes on; only a failure that stands at the very start and repeats itself ends it,
//! because then nothing can be measured.

mod campaign;
mod executor;
mod failure;
mod processes;

pub use campaign::{Ending, Observer, Progress, Work, carry_out};
pub use executor::Executor;
pub use processes::Processes;
