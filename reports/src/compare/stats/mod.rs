//! The methods, one a file: from numbers to numbers, without a campaign in sight.
//!
//! `vectors.rs` holds them to SciPy and statsmodels on shared numbers.

pub(super) mod bootstrap;
pub(super) mod change_point;
pub(super) mod hierarchical;
pub(super) mod moving_block;
pub(super) mod order;
pub(super) mod resample;
pub(super) mod share;
pub(super) mod student;
#[cfg(test)]
mod vectors;
pub(super) mod walsh;
