//! A plan as one JSON document.

use schema::{Design, Factor, Gate, SCHEMA_VERSION, Variant, Workload};
use serde::Serialize;

use super::{Outlook, Plan, PlannedRun};

/// What `plan --json` prints.
#[derive(Debug, Serialize)]
pub struct Document<'p> {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Name of the scenario.
    pub scenario: &'p str,
    /// The question it answers.
    pub question: &'p str,
    /// Where the requester runs.
    pub requester_at: String,
    /// Where the responder runs.
    pub responder_at: String,
    /// Where the requester reaches the responder.
    pub responder_address: std::net::IpAddr,
    /// How the runs are laid out. The seed is the one drawn for this plan where the scenario names none.
    pub design: &'p Design,
    /// Whether the scenario names the seed.
    pub seed_is_fixed: bool,
    /// What it will cost, and what it can see.
    pub outlook: &'p Outlook,
    /// What decides the verdict; empty where the primary metric of every workload and size does.
    pub gates: &'p [Gate],
    /// What is on or off in the variants.
    pub factors: &'p [Factor],
    /// Baseline first.
    pub variants: &'p [Variant],
    /// With every spec.
    pub workloads: &'p [Workload],
    /// In the order they shall happen, all that are made at most.
    pub runs: &'p [PlannedRun],
}

/// The document of a plan.
pub fn document<'p>(plan: &'p Plan, outlook: &'p Outlook, seed_is_fixed: bool) -> Document<'p> {
    Document {
        schema_version: SCHEMA_VERSION,
        scenario: &plan.scenario,
        question: &plan.question,
        requester_at: plan.hosts.requester.at.to_string(),
        responder_at: plan.hosts.responder.at.to_string(),
        responder_address: plan.hosts.address,
        design: &plan.design,
        seed_is_fixed,
        outlook,
        gates: &plan.gates,
        factors: &plan.factors,
        variants: &plan.variants,
        workloads: &plan.workloads,
        runs: &plan.runs,
    }
}
