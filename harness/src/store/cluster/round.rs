//! A round, kept as it ended: its runs, what they measured, and their records.

use rusqlite::{Transaction, params};
use schema::{PairOutcome, PairPoint, PairRun, Round, RunRecord};

use super::{
    super::{
        Of, Store, StoreError,
        columns::{RowError, finite, json, word},
    },
    records,
};

/// A run as it is kept.
#[derive(Debug, Clone, Copy)]
pub struct KeptPair<'r> {
    /// What findings are computed from.
    pub run: &'r PairRun,
    /// All of it.
    pub record: &'r RunRecord,
}

impl Store {
    /// Adds a round as it ended, with its runs, in one transaction. The runs have numbers that follow each other.
    pub fn keep_round(
        &mut self,
        cluster: i64,
        round: &Round,
        pairs: &[KeptPair<'_>],
    ) -> Result<(), StoreError> {
        self.known_cluster(cluster)?;
        self.write("writing a round to", Of::Cluster(cluster), |transaction| {
            insert(transaction, cluster, round, pairs)
        })
    }
}

fn insert(
    transaction: &Transaction<'_>,
    cluster: i64,
    round: &Round,
    pairs: &[KeptPair<'_>],
) -> Result<(), RowError> {
    let ns = |ns: Option<schema::Nanos>| ns.map(|ns| ns.get() as i64);
    transaction
        .prepare_cached("INSERT INTO cluster_round VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, NULL)")?
        .execute(params![
            cluster,
            round.number,
            word(&round.part)?,
            round.label,
            round.workload,
            round.started_at_unix_ms as i64,
            round.wall_ns.get() as i64,
            ns(round.skew_ns),
            ns(round.skew_uncertainty_ns),
            round.controller_ns.get() as i64,
        ])?;
    let Some(first) = pairs.first() else { return Ok(()) };
    for (position, pair) in pairs.iter().enumerate() {
        if u64::from(pair.run.sequence) != u64::from(first.run.sequence) + position as u64 {
            return Err(RowError::Shape("sequence".into()));
        }
        insert_run(transaction, cluster, round.number, pair.run)?;
    }
    transaction.prepare_cached("INSERT INTO round_records VALUES (?1, ?2, ?3, ?4)")?.execute(params![
        cluster,
        round.number,
        first.run.sequence,
        records::pack(pairs.iter().map(|pair| pair.record))?,
    ])?;
    transaction
        .prepare_cached("UPDATE cluster SET fabric = ?2, fabric_label = ?3 WHERE id = ?1 AND fabric IS NULL")?
        .execute(params![cluster, word(&first.record.fabric)?, first.record.fabric_label])?;
    Ok(())
}

fn insert_run(
    transaction: &Transaction<'_>,
    cluster: i64,
    round: u32,
    run: &PairRun,
) -> Result<(), RowError> {
    if run.round != round {
        return Err(RowError::Shape("round".into()));
    }
    let (status, why) = match &run.outcome {
        PairOutcome::Measured => ("measured", None),
        PairOutcome::Invalid { why } => ("invalid", Some(why)),
        PairOutcome::CouldNotRun { why } => ("could_not_run", Some(why)),
    };
    let remarks = (!run.remarks.is_empty()).then(|| json(&run.remarks)).transpose()?;
    transaction
        .prepare_cached("INSERT INTO pair_run VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
        .execute(params![
            cluster,
            run.sequence,
            round,
            word(&run.role)?,
            run.requester,
            run.responder,
            status,
            why,
            run.late_ns,
            remarks,
        ])?;
    for (position, point) in run.points.iter().enumerate() {
        insert_point(transaction, cluster, run.sequence, position, point)?;
    }
    Ok(())
}

fn insert_point(
    transaction: &Transaction<'_>,
    cluster: i64,
    sequence: u32,
    position: usize,
    point: &PairPoint,
) -> Result<(), RowError> {
    let PairPoint { msg_bytes, bandwidth_bits_per_sec, messages_per_sec, p50_ns, p99_ns } = *point;
    finite("point", [bandwidth_bits_per_sec, messages_per_sec, p50_ns, p99_ns].into_iter().flatten())?;
    let msg_bytes = i64::try_from(msg_bytes.get()).map_err(|_| RowError::Shape("msg_bytes".into()))?;
    transaction.prepare_cached("INSERT INTO pair_point VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(
        params![
            cluster,
            sequence,
            position as i64,
            msg_bytes,
            bandwidth_bits_per_sec,
            messages_per_sec,
            p50_ns,
            p99_ns
        ],
    )?;
    Ok(())
}
