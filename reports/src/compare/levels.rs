//! The levels a look at a campaign tests at. They come from outside: a campaign that makes all its blocks spends alpha at its
//! only look, one that may stop early a part of it at each.

/// What a look may spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Levels {
    /// Two-sided level at which a gate is found to differ; the interval of a change is that of 1 minus it.
    pub(super) difference: f64,
    /// Level of each of the two one-sided tests by which a gate is found to be the same.
    pub(super) equivalence: f64,
}

impl Levels {
    /// Those of the only look.
    pub(super) fn of_one_look(alpha: f64) -> Self {
        Levels { difference: alpha, equivalence: alpha }
    }
}
