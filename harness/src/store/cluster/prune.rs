//! Takes the records of old clusters out of the store. What pairs measured, which findings and values are computed from, stays.

use rusqlite::{Connection, Transaction, params};

use super::super::{
    columns::RowError,
    prune::{FLAGGED, Prunable, PruneRule},
};

/// Clusters whose records may go. One that is being measured, or waits to be gone on with, is left whole.
pub(in super::super) fn prunable(
    connection: &Connection,
    rule: &PruneRule,
    found: &mut Prunable,
) -> Result<(), RowError> {
    let mut statement = connection.prepare(&format!(
        "SELECT c.id, n.night, count(*), n.night IN ({FLAGGED}) FROM cluster c
         JOIN cluster_round r ON r.cluster = c.id JOIN pair_run p ON p.cluster = c.id AND p.round = r.number
         LEFT JOIN night_cluster n ON n.cluster = c.id
         WHERE c.started_at_unix_ms < ?1 AND c.ended_at_unix_ms IS NOT NULL AND r.pruned_at_unix_ms IS NULL
             AND (n.night IS NOT NULL OR ?2)
         GROUP BY c.id ORDER BY c.id"
    ))?;
    let mut rows = statement.query(params![rule.before_unix_ms as i64, rule.also_campaigns])?;
    while let Some(row) = rows.next()? {
        let night: Option<i64> = row.get(1)?;
        if row.get::<_, Option<bool>>(3)? == Some(true) && !rule.also_flagged {
            found.flagged.extend(night);
            continue;
        }
        found.clusters.push(row.get(0)?);
        found.nights.extend(night);
        found.pair_runs += row.get::<_, u32>(2)?;
    }
    Ok(())
}

/// Takes the records of a cluster out.
pub(in super::super) fn prune(
    transaction: &Transaction<'_>,
    cluster: i64,
    now_unix_ms: u64,
) -> Result<(), RowError> {
    transaction.execute("DELETE FROM round_records WHERE cluster = ?1", [cluster])?;
    transaction.execute(
        "UPDATE cluster_round SET pruned_at_unix_ms = ?2 WHERE cluster = ?1 AND pruned_at_unix_ms IS NULL",
        params![cluster, now_unix_ms as i64],
    )?;
    Ok(())
}
