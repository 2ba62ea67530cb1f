//! The end of a cluster all of whose rounds are made: the store gets its end, and findings are said.

use reports::cluster::{ClusterReport, ClusterRules, judge};
use schema::Cluster;

use crate::{
    store::{Store, StoreError},
    words,
};

/// Keeps the end of a cluster, and says what came out.
///
/// # Errors
/// When the store says no.
pub fn conclude(
    store: &mut Store,
    mut cluster: Cluster,
    rules: &ClusterRules,
) -> Result<ClusterReport, StoreError> {
    let ended = words::unix_ms();
    store.end_cluster(cluster.id, ended)?;
    cluster.ended_at_unix_ms = Some(ended);
    Ok(judge(&cluster, rules))
}
