//! Clusters, and the night each went into. One that this store has only the first rounds of gets the rest.

use rusqlite::{Transaction, params};

use super::{Merged, columns};
use crate::store::columns::RowError;

/// A cluster of the other file, and what this one has of it.
struct Both {
    theirs: i64,
    ours: Option<i64>,
}

/// Needs `temp.night_of`.
pub(super) fn merge(transaction: &Transaction<'_>, merged: &mut Merged) -> Result<(), RowError> {
    let all: Vec<Both> = transaction
        .prepare(
            "SELECT t.id, o.id FROM theirs.cluster t LEFT JOIN main.cluster o ON o.uid = t.uid ORDER BY t.id",
        )?
        .query_map([], |row| Ok(Both { theirs: row.get(0)?, ours: row.get(1)? }))?
        .collect::<rusqlite::Result<_>>()?;
    for Both { theirs, ours } in all {
        let ours = match ours {
            Some(ours) if differ(transaction, theirs, ours)? => {
                merged.conflicts.push(format!(
                    "cluster {theirs} there is cluster {ours} here, with other rounds; none of its rounds were added"
                ));
                continue;
            }
            Some(ours) => {
                merged.clusters.known += 1;
                catch_up(transaction, theirs, ours)?;
                ours
            }
            None => {
                merged.clusters.added += 1;
                add(transaction, theirs)?
            }
        };
        rounds(transaction, theirs, ours, merged)?;
        transaction.execute(
            "INSERT OR IGNORE INTO main.night_cluster SELECT n.ours, ?2 FROM theirs.night_cluster t
             JOIN temp.night_of n ON n.theirs = t.night WHERE t.cluster = ?1",
            [theirs, ours],
        )?;
    }
    Ok(())
}

/// Whether two files tell differently what a cluster was, or how a round of it went.
fn differ(transaction: &Transaction<'_>, theirs: i64, ours: i64) -> Result<bool, RowError> {
    let same = "SELECT EXISTS (SELECT 1 FROM theirs.cluster t JOIN main.cluster o USING (suite_toml, started_at_unix_ms, seed)
        WHERE t.id = ?1 AND o.id = ?2)";
    let other = "SELECT EXISTS (SELECT 1 FROM theirs.cluster_round t JOIN main.cluster_round o
            ON o.cluster = ?2 AND o.number = t.number
        WHERE t.cluster = ?1 AND (o.part, o.label, o.workload, o.started_at_unix_ms, o.wall_ns)
            <> (t.part, t.label, t.workload, t.started_at_unix_ms, t.wall_ns))";
    let asked = |sql| transaction.query_row(sql, params![theirs, ours], |row| row.get::<_, bool>(0));
    Ok(!asked(same)? || asked(other)?)
}

fn add(transaction: &Transaction<'_>, theirs: i64) -> Result<i64, RowError> {
    let names = columns(transaction, "cluster", &["id"])?;
    let cluster =
        format!("INSERT INTO main.cluster ({names}) SELECT {names} FROM theirs.cluster WHERE id = ?1");
    transaction.execute(&cluster, [theirs])?;
    let ours = transaction.last_insert_rowid();
    copy(transaction, "cluster_node", theirs, ours, "true")?;
    Ok(ours)
}

/// Takes over how it went on, where the other file is further.
fn catch_up(transaction: &Transaction<'_>, theirs: i64, ours: i64) -> Result<(), RowError> {
    let further = "SELECT t.ended_at_unix_ms IS NOT NULL AND o.ended_at_unix_ms IS NULL
            OR (SELECT count(*) FROM theirs.cluster_round WHERE cluster = ?1)
             > (SELECT count(*) FROM main.cluster_round WHERE cluster = ?2)
        FROM theirs.cluster t JOIN main.cluster o ON t.id = ?1 AND o.id = ?2";
    if !transaction.query_row(further, [theirs, ours], |row| row.get::<_, bool>(0))? {
        return Ok(());
    }
    transaction.execute(
        "UPDATE main.cluster SET (ended_at_unix_ms, fabric, fabric_label) =
             (SELECT ended_at_unix_ms, fabric, fabric_label FROM theirs.cluster WHERE id = ?1) WHERE id = ?2",
        [theirs, ours],
    )?;
    transaction.execute(
        "UPDATE main.cluster_node AS o SET (host, place, device, switches, state, audit) =
             (SELECT host, place, device, switches, state, audit FROM theirs.cluster_node t
              WHERE t.cluster = ?1 AND t.rank = o.rank) WHERE o.cluster = ?2",
        [theirs, ours],
    )?;
    Ok(())
}

/// Rounds that only the other file has, with all that is of them.
fn rounds(
    transaction: &Transaction<'_>,
    theirs: i64,
    ours: i64,
    merged: &mut Merged,
) -> Result<(), RowError> {
    let from: i64 = transaction.query_row(
        "SELECT ifnull(max(number) + 1, 0) FROM main.cluster_round WHERE cluster = ?1",
        [ours],
        |row| row.get(0),
    )?;
    let all: i64 = transaction.query_row(
        "SELECT count(*) FROM theirs.cluster_round WHERE cluster = ?1",
        [theirs],
        |row| row.get(0),
    )?;
    let added = copy(transaction, "cluster_round", theirs, ours, &format!("number >= {from}"))?;
    merged.rounds.count(all, added);
    copy(transaction, "pair_run", theirs, ours, &format!("round >= {from}"))?;
    let of_new =
        format!("sequence IN (SELECT sequence FROM theirs.pair_run WHERE cluster = ?1 AND round >= {from})");
    copy(transaction, "pair_point", theirs, ours, &of_new)?;
    copy(transaction, "round_records", theirs, ours, &format!("round >= {from}"))?;
    Ok(())
}

fn copy(
    transaction: &Transaction<'_>,
    table: &str,
    theirs: i64,
    ours: i64,
    which: &str,
) -> Result<usize, RowError> {
    let rest = columns(transaction, table, &["cluster"])?;
    let sql = format!(
        "INSERT INTO main.{table} (cluster, {rest}) SELECT ?2, {rest} FROM theirs.{table} WHERE cluster = ?1 AND {which}"
    );
    Ok(transaction.execute(&sql, [theirs, ours])?)
}
