//! What memory the messages touch, and whether its content is checked.

use clap::Args;
use schema::{Bytes, Pages, RunSpec};

use super::set;

/// Message buffers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Memory")]
pub(in crate::cli) struct MemoryFlags {
    /// Memory that each QP's messages walk through [default: a slot for each work request of a post list, at most 4Mi]
    #[arg(long, alias = "working-set-bytes")]
    working_set: Option<Bytes>,
    /// From the start of one message in the working set to the next [default: the size, rounded up to a cache line or page]
    #[arg(long, alias = "stride-bytes")]
    stride: Option<Bytes>,
    /// Pages of the message buffers: base, 2Mi or 1Gi (from the host's huge page pool) [default: base]
    #[arg(long)]
    pages: Option<Pages>,
    /// Let the device's PCIe writes pass one another
    #[arg(long)]
    relaxed_ordering: bool,
    /// Do not compare data: not every slot before WarmUp, and not what the Measure phase left behind
    #[arg(long)]
    no_data_check: bool,
}

impl MemoryFlags {
    pub(super) fn apply(&self, spec: &mut RunSpec) {
        spec.working_set_bytes = self.working_set;
        spec.stride_bytes = self.stride;
        set(&mut spec.pages, &self.pages);
        spec.relaxed_ordering = self.relaxed_ordering;
        spec.data_check = !self.no_data_check;
    }
}
