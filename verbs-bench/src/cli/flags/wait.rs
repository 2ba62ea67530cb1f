//! How threads wait for completions.

use clap::Args;
use schema::{RunSpec, Wait};

use super::set;

/// Waiting.
#[derive(Debug, Args)]
#[command(next_help_heading = "Waiting")]
pub(in crate::cli) struct WaitFlags {
    /// poll, event (sleep on the completion channel), or hybrid:TIME (poll so long, then sleep); -e alone is event
    #[arg(short = 'e', long, num_args = 0..=1, default_missing_value = "event", value_name = "HOW")]
    wait: Option<Wait>,
    /// Completion vector of the completion channel, for waits that sleep [default: 0]
    #[arg(short = 'X', long)]
    comp_vector: Option<u32>,
    /// Completions per poll [default: 16]
    #[arg(long, alias = "cqe_poll")]
    cq_poll_batch: Option<u32>,
}

impl WaitFlags {
    pub(super) fn apply(&self, spec: &mut RunSpec) {
        set(&mut spec.wait, &self.wait);
        set(&mut spec.comp_vector, &self.comp_vector);
        set(&mut spec.cq_poll_batch, &self.cq_poll_batch);
    }
}
