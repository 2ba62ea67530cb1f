//! Posting: the classic and the extended API, each with a prepared list of work requests for one QP.

mod classic;
mod extended;
mod request;

pub use classic::{ClassicList, Kind, Moving, Preset, Still};
pub use extended::ExtendedList;
pub use request::{Cursor, Route};

use super::bandwidth::window::Signals;

/// A QP's list of work requests, ready to be handed over.
pub trait Poster {
    /// Posts the whole list with these signals; 0 or an errno. Rings the doorbell once.
    fn post(&mut self, signals: Signals) -> i32;

    /// Posts the first `length` of the list, the last of them signaled too; 0 or an errno. Off the hot path.
    fn post_last(&mut self, length: u64, signals: Signals) -> i32;
}
