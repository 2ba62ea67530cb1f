//! A cluster that was measured becomes a night of its suite's history: what its pairs come to by node, leaf switch or pair, judged by
//! the nights before as every night is.

use reports::{
    cluster::{RolledUp, roll_up},
    compare::median,
    history::{NightReport, Rules},
};
use schema::{Cluster, Fabric, History, HistoryLevel, Origin, SeriesKey};

use crate::{
    nightly::{self, ENGINE},
    store::{NewNight, NewValue, Store, StoreError},
};

/// The name of the history of a cluster's suite: nights of pairs of hosts may have a suite of the same name.
pub fn history_name(suite: &str) -> String {
    format!("cluster-{suite}")
}

/// Keeps the night of a cluster all of whose rounds are made, and judges it. Begun anew after a kill, it goes on with the same night.
///
/// # Errors
/// When the store says no.
pub(super) fn keep_night(
    store: &mut Store,
    cluster: &Cluster,
    levels: &[HistoryLevel],
) -> Result<NightReport, StoreError> {
    let suite = history_name(&cluster.suite);
    let night = match store.night_of_cluster(cluster.id)? {
        Some(night) => night,
        None => {
            let started_at_unix_ms = cluster.started_at_unix_ms;
            let new = NewNight { suite: &suite, suite_toml: "", origin: Origin::Cluster, started_at_unix_ms };
            store.begin_night_of_cluster(cluster.id, &new)?
        }
    };
    store.keep_values(night, &values(cluster, levels))?;
    let history = store.history(&suite, Some(night))?;
    nightly::conclude(store, &history, night, &Rules::default())
}

/// What a night keeps of a cluster.
fn values(cluster: &Cluster, levels: &[HistoryLevel]) -> Vec<NewValue> {
    let fabric = cluster.fabric.unwrap_or(Fabric::Verbs);
    let of_level = levels.iter().flat_map(|level| roll_up(cluster, *level));
    of_level.map(|rolled| value(cluster, fabric, rolled)).collect()
}

fn value(cluster: &Cluster, fabric: Fabric, rolled: RolledUp) -> NewValue {
    let workload = &cluster.workloads[rolled.workload as usize];
    NewValue {
        key: SeriesKey {
            engine: ENGINE.to_owned(),
            fabric,
            scenario: workload.scenario.clone(),
            workload: workload.workload.clone(),
            variant: workload.variant.clone(),
            msg_bytes: rolled.msg_bytes,
            metric: rolled.metric,
            requester: rolled.requester,
            responder: rolled.responder,
        },
        configuration: rolled.configuration,
        value: median(&rolled.runs),
        runs: rolled.runs,
        failed_runs: rolled.failed_runs,
        failure: rolled.failure,
        confirm_runs: Vec::new(),
        limit: None,
        faults: Vec::new(),
    }
}

/// What is wrong with the values of every night of a cluster, in words: each is derived again from its pairs. Clusters that do not read
/// back are left to [`Store::check`].
///
/// # Errors
/// When the store can't be read.
pub fn recheck(store: &Store) -> Result<Vec<String>, StoreError> {
    let mut problems = Vec::new();
    for suite in store.suites()? {
        let Ok(history) = store.history(&suite.name, None) else { continue };
        for night in &history.nights {
            if let Some(Ok(cluster)) = night.cluster.map(|cluster| store.cluster(cluster)) {
                problems.extend(differences(&history, night.id, &cluster));
            }
        }
    }
    Ok(problems)
}

fn differences(history: &History, night: i64, cluster: &Cluster) -> Vec<String> {
    let derived = values(cluster, &[HistoryLevel::Node, HistoryLevel::Leaf, HistoryLevel::Pair]);
    let derived: std::collections::HashMap<&SeriesKey, &NewValue> =
        derived.iter().map(|value| (&value.key, value)).collect();
    let mut problems = Vec::new();
    for series in &history.series {
        let kept = series.values.iter().find(|value| value.night == night);
        let Some(kept) = kept else { continue };
        if derived.get(&series.key).is_none_or(|derived| derived.runs != kept.runs) {
            problems.push(format!(
                "night {night}, {}: its value is not what the pairs of cluster {} come to",
                series.key, cluster.id
            ));
        }
    }
    problems
}
