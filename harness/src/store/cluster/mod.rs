//! Clusters in the store: begun, filled round by round, ended, and found again.
//!
//! A round is kept as it ends, in one transaction with its runs and their records: what is in the store is always a whole number
//! of rounds.

pub(super) mod check;
mod load;
pub(super) mod prune;
mod records;
mod round;
#[cfg(test)]
mod tests;

use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use schema::{
    ClusterNode, ClusterWorkload, Directions, LauncherKind, NodeState, PatternKind, SCHEMA_VERSION,
};
use serde::Serialize;

use super::{
    NewNight, Of, Store, StoreError,
    columns::{RowError, from_word, json, new_uid, word},
    night,
};

pub use round::KeptPair;

/// A cluster about to be measured.
#[derive(Debug, Clone, Copy)]
pub struct NewCluster<'c> {
    /// Name of the suite.
    pub suite: &'c str,
    /// The suite file as it is.
    pub suite_toml: &'c str,
    /// The question it answers.
    pub question: &'c str,
    /// How the agents are started.
    pub launcher: LauncherKind,
    /// Which nodes are measured with which.
    pub pattern: PatternKind,
    /// Which way.
    pub directions: Directions,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Start, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
    /// What every pair is measured by.
    pub workloads: &'c [ClusterWorkload],
    /// The rounds as they were planned, for whoever goes on with it: JSON, given back as it was given.
    pub schedule: &'c str,
    /// By rank.
    pub nodes: &'c [ClusterNode],
}

/// What a list of clusters shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClusterSummary {
    /// Identity.
    pub id: i64,
    /// Name of the suite.
    pub suite: String,
    /// The question it answers.
    pub question: String,
    /// How the agents were started.
    pub launcher: LauncherKind,
    /// Which nodes were measured with which.
    pub pattern: PatternKind,
    /// Start, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
    /// End, ms since 1970 UTC; null while rounds are missing.
    pub ended_at_unix_ms: Option<u64>,
    /// Nodes that were asked for.
    pub nodes: u32,
    /// Of them, those whose agents are there, as far as it is known.
    pub present: u32,
    /// Rounds made.
    pub rounds: u32,
    /// Measurements between pairs.
    pub runs: u32,
    /// Of them, those whose numbers are not used.
    pub invalid: u32,
    /// Of them, those that gave no numbers.
    pub could_not_run: u32,
    /// The night its values went into; null where they went into none.
    pub night: Option<i64>,
}

/// What a cluster began with, for whoever goes on with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterText {
    /// The suite file as it was.
    pub suite_toml: String,
    /// The rounds as they were planned, as [`NewCluster::schedule`] gave them.
    pub schedule: String,
}

impl Store {
    /// Begins a cluster: what it is, and every node, in one transaction.
    pub fn begin_cluster(&mut self, new: &NewCluster<'_>) -> Result<i64, StoreError> {
        self.write("writing the cluster to", Of::Cluster(0), |transaction| {
            transaction.execute(
                "INSERT INTO cluster (uid, schema_version, suite, suite_toml, question, launcher, pattern, directions, seed,
                     workloads, schedule, started_at_unix_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                params![
                    new_uid()?,
                    SCHEMA_VERSION,
                    new.suite,
                    new.suite_toml,
                    new.question,
                    word(&new.launcher)?,
                    word(&new.pattern)?,
                    word(&new.directions)?,
                    new.seed.to_string(),
                    json(&new.workloads)?,
                    records::pack_text(new.schedule)?,
                    new.started_at_unix_ms as i64,
                ],
            )?;
            let cluster = transaction.last_insert_rowid();
            nodes(transaction, cluster, new.nodes)?;
            Ok(cluster)
        })
    }

    /// Keeps what is known of the nodes by now, by rank, in the place of what was known before.
    pub fn keep_cluster_nodes(&mut self, cluster: i64, known: &[ClusterNode]) -> Result<(), StoreError> {
        self.known_cluster(cluster)?;
        self.write("writing the nodes of a cluster to", Of::Cluster(cluster), |transaction| {
            nodes(transaction, cluster, known)
        })
    }

    /// Keeps that no more rounds are made, at a time in ms since 1970 UTC.
    pub fn end_cluster(&mut self, cluster: i64, ended_at_unix_ms: u64) -> Result<(), StoreError> {
        self.known_cluster(cluster)?;
        self.write("writing the end of a cluster to", Of::Cluster(cluster), |transaction| {
            let row = params![cluster, ended_at_unix_ms as i64];
            transaction.execute("UPDATE cluster SET ended_at_unix_ms = ?2 WHERE id = ?1", row)?;
            Ok(())
        })
    }

    /// The newest cluster of a suite, where it did not come to its end.
    pub fn unfinished_cluster(&self, suite: &str) -> Result<Option<i64>, StoreError> {
        let newest = "SELECT id, ended_at_unix_ms IS NULL FROM cluster WHERE suite = ?1
            ORDER BY started_at_unix_ms DESC, id DESC LIMIT 1";
        let found: Option<(i64, bool)> = self
            .connection
            .query_row(newest, [suite], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(self.failed("looking for an unfinished cluster in"))?;
        Ok(found.and_then(|(id, unfinished)| unfinished.then_some(id)))
    }

    /// What a cluster began with.
    pub fn cluster_text(&self, cluster: i64) -> Result<ClusterText, StoreError> {
        self.known_cluster(cluster)?;
        self.read("reading the plan of a cluster from", Of::Cluster(cluster), |connection| {
            let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?));
            let (suite_toml, packed) = connection.query_row(
                "SELECT suite_toml, schedule FROM cluster WHERE id = ?1",
                [cluster],
                read,
            )?;
            Ok(ClusterText { suite_toml, schedule: records::unpack_text(&packed)? })
        })
    }

    /// Every cluster, the newest first.
    pub fn clusters(&self) -> Result<Vec<ClusterSummary>, StoreError> {
        self.read("listing the clusters of", Of::Store, |connection| {
            let mut statement = connection.prepare(SUMMARIES)?;
            let mut rows = statement.query([])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.push(summary(row)?);
            }
            Ok(all)
        })
    }

    /// The number of the cluster asked for, or of the newest.
    pub fn cluster_id(&self, asked: Option<i64>) -> Result<i64, StoreError> {
        let newest = "SELECT id FROM cluster WHERE ?1 IS NULL OR id = ?1 ORDER BY id DESC LIMIT 1";
        let found = self.connection.query_row(newest, [asked], |row| row.get(0)).optional();
        found
            .map_err(self.failed("listing the clusters of"))?
            .ok_or_else(|| StoreError::NoCluster { file: self.file.clone(), cluster: asked })
    }

    /// Begins the night that the values of a cluster go into.
    pub fn begin_night_of_cluster(&mut self, cluster: i64, new: &NewNight<'_>) -> Result<i64, StoreError> {
        self.known_cluster(cluster)?;
        self.write("writing the night of a cluster to", Of::Cluster(cluster), |transaction| {
            let night = night::insert(transaction, new, &new_uid()?, None)?;
            transaction.execute("INSERT INTO night_cluster VALUES (?1, ?2)", [night, cluster])?;
            Ok(night)
        })
    }

    /// The night that the values of a cluster go into, if it has begun.
    pub fn night_of_cluster(&self, cluster: i64) -> Result<Option<i64>, StoreError> {
        let found = "SELECT night FROM night_cluster WHERE cluster = ?1";
        let found = self.connection.query_row(found, [cluster], |row| row.get(0)).optional();
        found.map_err(self.failed("reading the night of a cluster from"))
    }

    /// Refuses a number that is no cluster's.
    fn known_cluster(&self, cluster: i64) -> Result<(), StoreError> {
        self.cluster_id(Some(cluster)).map(drop)
    }
}

fn nodes(transaction: &Transaction<'_>, cluster: i64, nodes: &[ClusterNode]) -> Result<(), RowError> {
    // Not REPLACE, which would delete the row that runs refer to.
    let mut insert = transaction.prepare_cached(
        "INSERT INTO cluster_node VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (cluster, rank) DO UPDATE SET name = excluded.name, host = excluded.host, place = excluded.place,
             device = excluded.device, switches = excluded.switches, state = excluded.state, audit = excluded.audit",
    )?;
    for (rank, node) in nodes.iter().enumerate() {
        insert.execute(params![
            cluster,
            rank as i64,
            node.name,
            node.host,
            node.place,
            node.device,
            json(&node.switches)?,
            json(&node.state)?,
            node.audit.as_ref().map(json).transpose()?,
        ])?;
    }
    Ok(())
}

const SUMMARIES: &str = "SELECT id, suite, question, launcher, pattern, started_at_unix_ms, ended_at_unix_ms,
    (SELECT count(*) FROM cluster_node n WHERE n.cluster = c.id),
    (SELECT json_group_array(json(state)) FROM cluster_node n WHERE n.cluster = c.id),
    (SELECT count(*) FROM cluster_round r WHERE r.cluster = c.id),
    (SELECT count(*) FROM pair_run r WHERE r.cluster = c.id),
    (SELECT count(*) FROM pair_run r WHERE r.cluster = c.id AND status = 'invalid'),
    (SELECT count(*) FROM pair_run r WHERE r.cluster = c.id AND status = 'could_not_run'),
    (SELECT night FROM night_cluster n WHERE n.cluster = c.id)
    FROM cluster c ORDER BY id DESC";

fn summary(row: &Row<'_>) -> Result<ClusterSummary, RowError> {
    let states: Vec<NodeState> = serde_json::from_str(row.get_ref(8)?.as_str()?)?;
    let present = states.iter().filter(|state| **state == NodeState::Present).count();
    Ok(ClusterSummary {
        id: row.get(0)?,
        suite: row.get(1)?,
        question: row.get(2)?,
        launcher: from_word(row.get(3)?)?,
        pattern: from_word(row.get(4)?)?,
        started_at_unix_ms: row.get::<_, i64>(5)? as u64,
        ended_at_unix_ms: row.get::<_, Option<i64>>(6)?.map(|ms| ms as u64),
        nodes: row.get(7)?,
        present: present as u32,
        rounds: row.get(9)?,
        runs: row.get(10)?,
        invalid: row.get(11)?,
        could_not_run: row.get(12)?,
        night: row.get(13)?,
    })
}
