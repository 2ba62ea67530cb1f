//! Finds the cluster to go on with: the newest of the suite, if it did not come to its end, nothing it measures has changed, and the
//! nodes are the same.

use std::collections::BTreeSet;

use schema::{Cluster, ClusterNode};

use super::Rounds;
use crate::{
    cluster::{WantedNode, suite::Suite},
    resume::difference,
    store::{Store, StoreError},
};

/// A cluster to go on with.
#[derive(Debug)]
pub struct Resumed {
    /// Its number in the store.
    pub cluster: i64,
    /// Its rounds, as they were planned.
    pub rounds: Rounds,
    /// The wanted nodes, by the ranks they had.
    pub wanted: Vec<WantedNode>,
}

/// Why there is no cluster to go on with.
#[derive(Debug, thiserror::Error)]
pub enum ResumeClusterError {
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Every cluster came to its end, or there was none.
    #[error("no cluster of suite `{suite}` is unfinished; run without --resume to begin one")]
    Nothing {
        /// Name of the suite.
        suite: String,
    },
    /// The suite or what it names says something else now.
    #[error(
        "{what} has changed since cluster {cluster} began, and its other rounds would be of something else; undo the change, or run without --resume to begin anew\n{difference}"
    )]
    Changed {
        /// The cluster.
        cluster: i64,
        /// What.
        what: String,
        /// Unified diff, as it was to as it is; empty where a scenario changed.
        difference: String,
    },
    /// Other nodes are asked for.
    #[error(
        "cluster {cluster} has other nodes: {what}; ask for the same ones (one that is gone is told of and left out), or run without --resume to begin anew"
    )]
    Nodes {
        /// The cluster.
        cluster: i64,
        /// Which, in words.
        what: String,
    },
    /// Its plan can't be read.
    #[error("the plan of cluster {cluster} can't be read: {cause}; run without --resume to begin anew")]
    Plan {
        /// The cluster.
        cluster: i64,
        /// Why not.
        cause: serde_json::Error,
    },
}

/// The cluster to go on with, with these nodes.
///
/// # Errors
/// When there is none, or it would not be the same.
pub fn find(store: &Store, suite: &Suite, wanted: Vec<WantedNode>) -> Result<Resumed, ResumeClusterError> {
    let unfinished = store.unfinished_cluster(&suite.name)?;
    let cluster = unfinished.ok_or_else(|| ResumeClusterError::Nothing { suite: suite.name.clone() })?;
    let then = store.cluster_text(cluster)?;
    let changed =
        |what: String, difference: String| ResumeClusterError::Changed { cluster, what, difference };
    if then.suite_toml != suite.source {
        let difference = difference(&then.suite_toml, &suite.source);
        return Err(changed(format!("suite `{}`", suite.name), difference));
    }
    let kept = store.cluster(cluster)?;
    if kept.workloads != suite.workloads {
        let what = "a scenario that the suite names, or a profile in it,";
        return Err(changed(what.to_owned(), String::new()));
    }
    let wanted = by_rank(&kept, suite, wanted).map_err(|what| ResumeClusterError::Nodes { cluster, what })?;
    let rounds =
        Rounds::from_json(&then.schedule).map_err(|cause| ResumeClusterError::Plan { cluster, cause })?;
    Ok(Resumed { cluster, rounds, wanted })
}

/// The wanted nodes in the order of those that were measured; in words what is different, where they are others.
fn by_rank(kept: &Cluster, suite: &Suite, mut wanted: Vec<WantedNode>) -> Result<Vec<WantedNode>, String> {
    let then: BTreeSet<&str> = kept.nodes.iter().map(|node| node.name.as_str()).collect();
    let now: BTreeSet<&str> = wanted.iter().map(|node| node.name.as_str()).collect();
    let listed = |names: Vec<&&str>| names.into_iter().copied().collect::<Vec<_>>().join(", ");
    let (gone, new) = (listed(then.difference(&now).collect()), listed(now.difference(&then).collect()));
    let mut what = Vec::new();
    what.extend((!gone.is_empty()).then(|| format!("{gone} not asked for now")));
    what.extend((!new.is_empty()).then(|| format!("{new} not asked for then")));
    if !what.is_empty() {
        return Err(what.join(", "));
    }
    let rank = |name: &str| kept.nodes.iter().position(|node| node.name == name);
    wanted.sort_by_key(|node| rank(&node.name));
    let other = |(then, now): &(&ClusterNode, &WantedNode)| then.device != device(now, suite);
    match kept.nodes.iter().zip(&wanted).find(other) {
        Some((then, now)) => {
            let (then, now) = (format!("{} with device {}", then.name, then.device), device(now, suite));
            Err(format!("{then} then, with device {now} now"))
        }
        None => Ok(wanted),
    }
}

/// The device of a node as it is asked for.
fn device<'n>(node: &'n WantedNode, suite: &'n Suite) -> &'n str {
    node.device.as_deref().unwrap_or(&suite.device)
}
