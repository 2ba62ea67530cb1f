//! A cluster that is in the store, judged by the rules that its suite had.

use std::path::Path;

use anyhow::Context as _;
use rdma_harness::{cluster::suite, store::Store};
use reports::cluster::{ClusterReport, judge};
use schema::Cluster;

use crate::exit::UsageError;

/// Which cluster.
#[derive(clap::Args)]
pub(super) struct Which {
    /// Number of the cluster; the newest if absent
    cluster: Option<i64>,
}

impl Which {
    /// What was measured, and what is said of it.
    pub(super) fn judged(&self, store: &Store) -> anyhow::Result<(Cluster, ClusterReport)> {
        let id = store.cluster_id(self.cluster)?;
        let cluster = store.cluster(id)?;
        let file = format!("{}.toml of cluster {id}", cluster.suite);
        let rules = suite::rules(Path::new(&file), &store.cluster_text(id)?.suite_toml)
            .context("reading the rules that the suite had")?;
        let report = judge(&cluster, &rules);
        Ok((cluster, report))
    }

    /// The number of the cluster.
    pub(super) fn id(&self, store: &Store) -> anyhow::Result<i64> {
        Ok(store.cluster_id(self.cluster)?)
    }
}

/// The rank of a node that is called so.
pub(super) fn rank(cluster: &Cluster, name: &str) -> Result<u32, UsageError> {
    /// Names of a refusal; of more nodes, the others are counted.
    const NAMED: usize = 16;
    let found = (0..).zip(&cluster.nodes).find(|(_, node)| node.name == name);
    found.map(|(rank, _)| rank).ok_or_else(|| {
        let names: Vec<&str> = cluster.nodes.iter().take(NAMED).map(|node| node.name.as_str()).collect();
        let more = match cluster.nodes.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        UsageError(format!("cluster {} has no node `{name}`; it has {}{more}", cluster.id, names.join(", ")))
    })
}
