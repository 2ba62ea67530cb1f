//! Where a side runs and where its buffers lie: decided before anything is created, verified afterwards, and recorded.
//!
//! `resolve` decides, `pin` and `buffer` act, `numa` speaks to libnuma, `verify` and `noise` read back what came of it.
//! Which CPU `auto` means is decided in the host room, from facts alone.

pub mod buffer;
mod error;
mod noise;
mod numa;
mod pin;
mod pool;
mod resolve;
mod verify;

pub use buffer::{Backing, Buffer};
pub use error::PlacementError;
pub use noise::noise_floor;
pub use numa::allowed_nodes;
pub use pin::{allowed_cpus, current_cpu, pin};
pub use pool::check as check_pages;
pub use resolve::{Placed, check, place};
pub use verify::{involuntary_switches, memlock_limit};
