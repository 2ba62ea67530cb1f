//! Turns the knobs of one host and turns them back, whatever happens in between.
//!
//! [`plan`] reads and shows every write; [`apply`] makes them, all or none, each in the journal before it is made; [`recover`]
//! undoes from the journal what a crash left. Knobs (`knob/`) say which targets; targets (`target/`) are all that the journal
//! and recovery know. Paths that may be written are compiled in (`allow.rs`). No shell, no other program, no file below `/etc`.

mod allow;
mod apply;
mod disruptive;
mod error;
mod form;
mod here;
mod journal;
mod knob;
mod order;
mod plan;
mod proof;
mod recover;
mod route;
mod site;
mod status;
mod target;
#[cfg(test)]
mod tests;
mod turn_back;

pub use apply::{Applied, Restored, apply};
pub use error::{Refusal, TuneError};
pub use knob::check_setting;
pub(crate) use order::place;
pub use plan::{Plan, Step, plan};
pub use proof::{Deviation, Proof};
pub use recover::{Recovered, left_by_a_crash, recover};
pub use site::{Observer, Site};
pub use status::{Status, status};
