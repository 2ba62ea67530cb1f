//! The crew of a night in earnest: for every campaign the agents of its two hosts, launched for it and gone after it.

use super::Crew;
use crate::{
    agent::{Launcher, Pair},
    plan::Plan,
    run::Processes,
};

/// Launches the agents of a campaign.
pub struct Agents(pub Launcher);

impl Crew for Agents {
    type Executor = Processes;

    fn muster(&mut self, plan: &Plan) -> Result<Processes, String> {
        let agents = Pair::launch(&self.0, &plan.hosts).map_err(|error| error.to_string())?;
        let mut processes = Processes::new(agents, plan.hosts.address);
        match processes.prepare(&plan.variants, &plan.workloads) {
            Ok(()) => Ok(processes),
            Err(error) => {
                let complaints = processes.close().into_iter();
                Err([error.to_string()].into_iter().chain(complaints).collect::<Vec<_>>().join("; "))
            }
        }
    }

    fn dismiss(&mut self, processes: Processes) -> Vec<String> {
        processes.close()
    }
}
