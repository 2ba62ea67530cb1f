//! What a suite asks of the agents of its nodes.

use super::{FleetWishes, suite::Suite};
use crate::agent::serve::named_cpus;

impl FleetWishes {
    /// As a suite has it.
    pub fn of(suite: &Suite) -> Self {
        let workloads = suite.workloads.iter().map(|workload| &workload.spec);
        let sides = workloads.flat_map(|spec| [&spec.requester, &spec.responder]);
        FleetWishes {
            device: suite.device.clone(),
            tuning: suite.tuning.clone(),
            poll_cpus: sides.flat_map(|side| named_cpus(&side.cpu)).collect(),
            audit: suite.audit,
        }
    }
}
