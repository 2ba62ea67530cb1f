//! What makes a run: agents with verbs-bench in earnest, anything else in a test.

use schema::RunRecord;
use schema::RunSpec;

use crate::interrupt::Interrupt;

/// One run to be made.
#[derive(Debug, Clone, Copy)]
pub struct Task<'t> {
    /// What to measure.
    pub spec: &'t RunSpec,
    /// Position of its variant among those of the campaign: how the hosts are to be tuned.
    pub variant: usize,
    /// Whether the next run shares this one's tuning, which then stays in force.
    pub keep: bool,
}

/// Makes runs.
pub trait Executor {
    /// Makes one run. Whatever goes wrong is in the record; none means it was interrupted and there is nothing to keep.
    fn execute(&mut self, task: &Task<'_>, interrupt: &Interrupt) -> Option<RunRecord>;

    /// Why no further run can be made, once that is so.
    fn lost(&self) -> Option<&str> {
        None
    }
}
