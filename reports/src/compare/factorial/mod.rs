//! Factorial campaigns: what the combinations of factors say about each factor, and about two together.
//!
//! Every run of a block says something about every factor. A block's contrast of a factor is the mean logarithm of the runs with it
//! on less that of the runs with it off; it takes the place of the logarithm of a pair's ratio, and all that follows is the same.

mod contrast;
mod layout;
mod rank;

pub(super) use contrast::contrasts;
pub use layout::design;
pub(super) use layout::{Layout, Term};
pub(super) use rank::rankings;
