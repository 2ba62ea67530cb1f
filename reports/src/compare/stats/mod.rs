//! The methods, one a file: from numbers to numbers, without a campaign in sight.
//!
//! Each agrees with SciPy or statsmodels on the vectors of `reports/tests/vectors/`, or says why there is nothing to agree with.

pub(super) mod share;
pub(super) mod student;
pub(super) mod walsh;
