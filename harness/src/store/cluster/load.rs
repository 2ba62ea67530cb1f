//! Clusters read back: whole, without the records; and one record at a time.

use rusqlite::{Connection, OptionalExtension as _, Row, Rows};
use schema::{Bytes, Cluster, ClusterNode, Nanos, PairOutcome, PairPoint, PairRun, Round, RunRecord};

use super::{
    super::{
        Of, Store, StoreError,
        columns::{RowError, from_json, from_word},
    },
    records,
};

impl Store {
    /// A cluster with every node, round and run, without the records of runs.
    pub fn cluster(&self, id: i64) -> Result<Cluster, StoreError> {
        self.known_cluster(id)?;
        self.read("reading a cluster from", Of::Cluster(id), |connection| load(connection, id))
    }

    /// The record of a run of a cluster, as it was measured.
    ///
    /// # Errors
    /// When there is no such run, or its record was pruned.
    pub fn pair_record(&self, cluster: i64, sequence: u32) -> Result<RunRecord, StoreError> {
        self.known_cluster(cluster)?;
        let place = self.connection.query_row(
            "SELECT round, pruned_at_unix_ms FROM pair_run p JOIN cluster_round r ON r.cluster = p.cluster AND number = round
             WHERE p.cluster = ?1 AND sequence = ?2",
            [cluster, sequence.into()],
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?)),
        );
        let file = || self.file.clone();
        let round = match place.optional().map_err(self.failed("looking for a run in"))? {
            None => return Err(StoreError::NoPairRun { file: file(), cluster, sequence }),
            Some((_, Some(at))) => {
                return Err(StoreError::PrunedPairRun {
                    file: file(),
                    cluster,
                    sequence,
                    at_unix_ms: at as u64,
                });
            }
            Some((round, None)) => round,
        };
        self.read("reading a record from", Of::Cluster(cluster), |connection| {
            let (first, lines): (u32, Vec<u8>) = connection.query_row(
                "SELECT first_sequence, lines FROM round_records WHERE cluster = ?1 AND round = ?2",
                [cluster, round],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            let position = sequence.checked_sub(first).ok_or_else(|| RowError::Shape("sequence".into()))?;
            records::unpack_one(&lines, position as usize)?.ok_or_else(|| RowError::Shape("record".into()))
        })
    }
}

/// A cluster that is there.
pub(super) fn load(connection: &Connection, id: i64) -> Result<Cluster, RowError> {
    let mut statement = connection.prepare(
        "SELECT schema_version, suite, question, launcher, pattern, directions, seed, workloads, fabric, fabric_label,
             started_at_unix_ms, ended_at_unix_ms FROM cluster WHERE id = ?1",
    )?;
    let mut rows = statement.query([id])?;
    let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let seed: String = row.get(6)?;
    Ok(Cluster {
        schema_version: row.get(0)?,
        id,
        suite: row.get(1)?,
        question: row.get(2)?,
        launcher: from_word(row.get(3)?)?,
        pattern: from_word(row.get(4)?)?,
        directions: from_word(row.get(5)?)?,
        seed: seed.parse().map_err(|_| RowError::Shape("seed".into()))?,
        started_at_unix_ms: row.get::<_, i64>(10)? as u64,
        ended_at_unix_ms: row.get::<_, Option<i64>>(11)?.map(|ms| ms as u64),
        fabric: row.get::<_, Option<String>>(8)?.map(from_word).transpose()?,
        fabric_label: row.get(9)?,
        workloads: from_json(row.get_ref(7)?.as_str()?)?,
        nodes: all(
            connection,
            id,
            "SELECT name, host, place, device, switches, state, audit FROM cluster_node
            WHERE cluster = ?1 ORDER BY rank",
            node,
        )?,
        rounds: all(
            connection,
            id,
            "SELECT number, part, label, workload, started_at_unix_ms, wall_ns, skew_ns, skew_uncertainty_ns, controller_ns
            FROM cluster_round WHERE cluster = ?1 ORDER BY number",
            round,
        )?,
        runs: runs(connection, id)?,
    })
}

fn all<T>(
    connection: &Connection,
    id: i64,
    sql: &str,
    read: impl Fn(&Row<'_>) -> Result<T, RowError>,
) -> Result<Vec<T>, RowError> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([id])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

fn node(row: &Row<'_>) -> Result<ClusterNode, RowError> {
    Ok(ClusterNode {
        name: row.get(0)?,
        host: row.get(1)?,
        place: row.get(2)?,
        device: row.get(3)?,
        switches: from_json(row.get_ref(4)?.as_str()?)?,
        state: from_json(row.get_ref(5)?.as_str()?)?,
        audit: row.get_ref(6)?.as_str_or_null()?.map(from_json).transpose()?,
    })
}

fn round(row: &Row<'_>) -> Result<Round, RowError> {
    let ns = |ns: i64| Nanos(ns as u64);
    Ok(Round {
        number: row.get(0)?,
        part: from_word(row.get(1)?)?,
        label: row.get(2)?,
        workload: row.get(3)?,
        started_at_unix_ms: row.get::<_, i64>(4)? as u64,
        wall_ns: ns(row.get(5)?),
        skew_ns: row.get::<_, Option<i64>>(6)?.map(ns),
        skew_uncertainty_ns: row.get::<_, Option<i64>>(7)?.map(ns),
        controller_ns: ns(row.get(8)?),
    })
}

/// Runs and their points come in the same order, so each table is read once.
fn runs(connection: &Connection, id: i64) -> Result<Vec<PairRun>, RowError> {
    let mut points = connection.prepare(
        "SELECT sequence, msg_bytes, bandwidth_bits_per_sec, messages_per_sec, p50_ns, p99_ns FROM pair_point
         WHERE cluster = ?1 ORDER BY sequence, position",
    )?;
    let mut points = Points::new(points.query([id])?)?;
    let mut statement = connection.prepare(
        "SELECT sequence, round, role, requester, responder, status, why, late_ns, remarks FROM pair_run
         WHERE cluster = ?1 ORDER BY sequence",
    )?;
    let mut rows = statement.query([id])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let sequence = row.get(0)?;
        runs.push(PairRun {
            sequence,
            round: row.get(1)?,
            role: from_word(row.get(2)?)?,
            requester: row.get(3)?,
            responder: row.get(4)?,
            outcome: outcome(row.get_ref(5)?.as_str()?, row.get(6)?)?,
            points: points.of(sequence)?,
            late_ns: row.get(7)?,
            remarks: row.get_ref(8)?.as_str_or_null()?.map(from_json).transpose()?.unwrap_or_default(),
        });
    }
    Ok(runs)
}

fn outcome(status: &str, why: Option<String>) -> Result<PairOutcome, RowError> {
    match (status, why) {
        ("measured", None) => Ok(PairOutcome::Measured),
        ("invalid", Some(why)) => Ok(PairOutcome::Invalid { why }),
        ("could_not_run", Some(why)) => Ok(PairOutcome::CouldNotRun { why }),
        _ => Err(RowError::Shape("status".into())),
    }
}

/// Points in the order of their runs, with the one that was read ahead.
struct Points<'r> {
    rows: Rows<'r>,
    next: Option<(u32, PairPoint)>,
}

impl<'r> Points<'r> {
    fn new(rows: Rows<'r>) -> Result<Self, RowError> {
        let mut points = Points { rows, next: None };
        points.read()?;
        Ok(points)
    }

    fn read(&mut self) -> Result<(), RowError> {
        let point = |row: &Row<'_>| -> Result<(u32, PairPoint), RowError> {
            let point = PairPoint {
                msg_bytes: Bytes(row.get::<_, i64>(1)? as u64),
                bandwidth_bits_per_sec: row.get(2)?,
                messages_per_sec: row.get(3)?,
                p50_ns: row.get(4)?,
                p99_ns: row.get(5)?,
            };
            Ok((row.get(0)?, point))
        };
        self.next = self.rows.next()?.map(point).transpose()?;
        Ok(())
    }

    fn of(&mut self, sequence: u32) -> Result<Vec<PairPoint>, RowError> {
        let mut points = Vec::new();
        while let Some((of, point)) = self.next
            && of == sequence
        {
            points.push(point);
            self.read()?;
        }
        Ok(points)
    }
}
