//! What Slurm says of the allocation we are in, and of nodes that are not in it or not well.

use std::{collections::BTreeMap, process::Command};

use super::super::node_set;
use crate::agent::identity::Environment;

/// States, as they stand in `State=IDLE+DRAIN`, in which no step starts on a node though it is allocated.
const DEAD: [&str; 6] = ["DOWN", "DOWN*", "FAIL", "NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN"];

/// What Slurm says of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeInfo {
    /// Its state: `IDLE+DRAIN`.
    pub(super) state: String,
    /// Why, who says so, and since when.
    pub(super) reason: Option<String>,
}

impl NodeInfo {
    /// Whether nothing can be started there.
    pub(super) fn is_dead(&self) -> bool {
        self.state.split('+').any(|state| DEAD.contains(&state))
    }
}

impl std::fmt::Display for NodeInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "Slurm says {}: {reason}", self.state),
            None => write!(f, "Slurm says {}", self.state),
        }
    }
}

/// The nodes of the allocation we are in.
///
/// # Errors
/// When we are in none.
pub(crate) fn nodes(environment: &Environment) -> Result<Vec<String>, String> {
    let said = |name: &str| environment.get(name).filter(|text| !text.is_empty());
    let (Some(_), Some(list)) = (said("SLURM_JOB_ID"), said("SLURM_JOB_NODELIST")) else {
        return Err("this is not inside an allocation of Slurm: SLURM_JOB_ID and SLURM_JOB_NODELIST are not set; \
             start it as `salloc --nodes=8 --exclusive rdma-harness cluster run ..`, or from a script of sbatch as scripts/cluster/cluster.sbatch"
            .into());
    };
    node_set::expand(list).map_err(|wrong| format!("SLURM_JOB_NODELIST={list}: {}", wrong.what))
}

/// What Slurm says of these nodes; of those that it does not know, nothing.
pub(super) fn ask(names: &[&str]) -> BTreeMap<String, NodeInfo> {
    if names.is_empty() {
        return BTreeMap::new();
    }
    let told = Command::new("scontrol").args(["show", "node", "-o", &names.join(",")]).output();
    told.map_or_else(|_| BTreeMap::new(), |told| parse(&String::from_utf8_lossy(&told.stdout)))
}

/// The nodes of `scontrol show node -o`: one a line, `KEY=VALUE` parted by blanks, the reason with blanks of its own.
fn parse(text: &str) -> BTreeMap<String, NodeInfo> {
    let line = |line: &str| {
        let value = |key: &str| line.split_whitespace().find_map(|word| word.strip_prefix(key));
        let name = value("NodeName=")?.to_owned();
        let state = value("State=")?.to_owned();
        let reason = line.split_once(" Reason=").map(|(_, rest)| match rest.find(']') {
            Some(end) => rest[..=end].to_owned(), // `[who@when]` ends it
            None => rest.trim().to_owned(),
        });
        Some((name, NodeInfo { state, reason }))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_is_told_by_the_environment() {
        let mut environment = Environment::new();
        let outside = nodes(&environment).unwrap_err();
        assert!(outside.contains("salloc --nodes") && outside.contains("sbatch"), "{outside}");
        environment.insert("SLURM_JOB_ID".into(), "7".into());
        environment.insert("SLURM_JOB_NODELIST".into(), "node[1-2,4]".into());
        assert_eq!(nodes(&environment).unwrap(), ["node1", "node2", "node4"]);
    }

    /// As Slurm 22.05.8 prints them, shortened in the middle.
    #[test]
    fn states_and_reasons_are_read() {
        let text = "NodeName=node4 Arch=x86_64 NodeAddr=127.0.0.1 State=IDLE+DRAIN ThreadsPerCore=1 Partitions=main  ExtSensorsTemp=n/s Reason=bad cable 7 [root@2026-12-01T14:18:52]\n\
            NodeName=node3 Arch=x86_64 State=ALLOCATED+NOT_RESPONDING ThreadsPerCore=1\nNode node9 not found\n";
        let nodes = parse(text);
        assert_eq!(nodes.len(), 2);
        assert_eq!(
            nodes["node4"].to_string(),
            "Slurm says IDLE+DRAIN: bad cable 7 [root@2026-12-01T14:18:52]"
        );
        assert!(!nodes["node4"].is_dead(), "an allocated node that is drained runs its job to the end");
        assert!(nodes["node3"].is_dead());
        assert_eq!(nodes["node3"].reason, None);
    }
}
