//! The end of a cluster all of whose rounds are made: history gets its night, the store its end, and findings are said.

use reports::{
    cluster::{ClusterReport, ClusterRules, judge},
    history::NightReport,
};
use schema::{Cluster, HistoryLevel};

use super::night::keep_night;
use crate::{
    store::{Store, StoreError},
    words,
};

/// A cluster at its end, and what is said of it.
#[derive(Debug)]
pub struct Concluded {
    /// What was measured.
    pub cluster: Cluster,
    /// What its own pairs say.
    pub report: ClusterReport,
    /// What the nights before say; none where no history is kept.
    pub night: Option<NightReport>,
}

/// Keeps the end of a cluster, and says what came out. The end comes last: killed before it, all of this is done again by whoever
/// goes on.
///
/// # Errors
/// When the store says no.
pub fn conclude(
    store: &mut Store,
    mut cluster: Cluster,
    rules: &ClusterRules,
    history: Option<&[HistoryLevel]>,
) -> Result<Concluded, StoreError> {
    let night = history.map(|levels| keep_night(store, &cluster, levels)).transpose()?;
    let ended = words::unix_ms();
    store.end_cluster(cluster.id, ended)?;
    cluster.ended_at_unix_ms = Some(ended);
    Ok(Concluded { report: judge(&cluster, rules), cluster, night })
}
