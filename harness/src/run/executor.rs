//! What makes a run: verbs-bench processes in earnest, anything else in a test.

use schema::RunRecord;
use schema::RunSpec;

use crate::interrupt::Interrupt;

/// Makes runs.
pub trait Executor {
    /// Makes one run. Whatever goes wrong is in the record; none means it was interrupted and there is nothing to keep.
    fn execute(&mut self, spec: &RunSpec, interrupt: &Interrupt) -> Option<RunRecord>;

    /// Why no further run can be made, once that is so.
    fn lost(&self) -> Option<&str> {
        None
    }
}
