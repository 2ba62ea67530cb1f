//! Factorial campaigns: what the combinations of factors say about each factor, and about two together.

mod layout;

pub use layout::design;
