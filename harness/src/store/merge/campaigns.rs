//! Campaigns and their runs. A campaign that both files know gets the runs that only the other one has.

use rusqlite::{Transaction, params};

use super::{Merged, columns, count};
use crate::store::columns::RowError;

/// Fills `temp.campaign_of` (theirs, ours) on the way.
pub(super) fn merge(transaction: &Transaction<'_>, merged: &mut Merged) -> Result<(), RowError> {
    transaction
        .execute_batch("CREATE TEMP TABLE campaign_of (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL)")?;
    transaction.execute_batch("INSERT OR IGNORE INTO main.host SELECT * FROM theirs.host")?;
    let theirs: Vec<(i64, Option<i64>)> = transaction
        .prepare(
            "SELECT t.id, o.id FROM theirs.campaign t LEFT JOIN main.campaign o ON o.uid = t.uid ORDER BY t.id",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let columns = columns(transaction, "campaign", &["id"])?;
    for (theirs, ours) in theirs {
        let ours = match ours {
            Some(ours) if differ(transaction, theirs, ours)? => {
                merged.conflicts.push(format!(
                    "campaign {theirs} there is campaign {ours} here, with other runs; none of its runs were added"
                ));
                continue;
            }
            Some(ours) => {
                merged.campaigns.known += 1;
                let stopped = "UPDATE main.campaign SET stopped =
                    coalesce(stopped, (SELECT stopped FROM theirs.campaign WHERE id = ?1)) WHERE id = ?2";
                transaction.execute(stopped, [theirs, ours])?;
                ours
            }
            None => {
                merged.campaigns.added += 1;
                add(transaction, theirs, &columns)?
            }
        };
        transaction.execute("INSERT INTO temp.campaign_of VALUES (?1, ?2)", [theirs, ours])?;
    }
    runs(transaction, merged)
}

/// Whether two files tell differently what a campaign was, or what became of a try of one of its runs.
fn differ(transaction: &Transaction<'_>, theirs: i64, ours: i64) -> Result<bool, RowError> {
    let same = "SELECT EXISTS (SELECT 1 FROM theirs.campaign t JOIN main.campaign o USING (scenario_toml, started_at_unix_ms, seed, blocks)
        WHERE t.id = ?1 AND o.id = ?2)";
    let other = "SELECT EXISTS (SELECT 1 FROM theirs.run t JOIN main.run o ON o.campaign = ?2 AND o.sequence = t.sequence AND o.try = t.try
        WHERE t.campaign = ?1
          AND (o.started_at_unix_ms, o.wall_ns, o.status, o.outcome) <> (t.started_at_unix_ms, t.wall_ns, t.status, t.outcome))";
    let asked = |sql| transaction.query_row(sql, params![theirs, ours], |row| row.get::<_, bool>(0));
    Ok(!asked(same)? || asked(other)?)
}

fn add(transaction: &Transaction<'_>, theirs: i64, columns: &str) -> Result<i64, RowError> {
    let campaign =
        format!("INSERT INTO main.campaign ({columns}) SELECT {columns} FROM theirs.campaign WHERE id = ?1");
    transaction.execute(&campaign, [theirs])?;
    let ours = transaction.last_insert_rowid();
    let planned = "INSERT INTO main.planned_run SELECT ?2, sequence, block, workload, variant, purpose
        FROM theirs.planned_run WHERE campaign = ?1";
    transaction.execute(planned, [theirs, ours])?;
    Ok(ours)
}

/// Numbers are given anew, in the order they had: the last try of a run is the one with the largest.
fn runs(transaction: &Transaction<'_>, merged: &mut Merged) -> Result<(), RowError> {
    let last = |table: &str| format!("(SELECT ifnull(max(id), 0) FROM main.{table})");
    transaction.execute_batch(&format!(
        "CREATE TEMP TABLE run_of AS
             SELECT r.id AS theirs, {} + row_number() OVER (ORDER BY r.id) AS ours, c.ours AS campaign
             FROM theirs.run r JOIN temp.campaign_of c ON c.theirs = r.campaign
             WHERE NOT EXISTS (SELECT 1 FROM main.run o WHERE (o.campaign, o.sequence, o.try) = (c.ours, r.sequence, r.try));
         CREATE UNIQUE INDEX temp.run_of_by_theirs ON run_of (theirs);
         CREATE TEMP TABLE point_of AS
             SELECT p.id AS theirs, {} + row_number() OVER (ORDER BY p.id) AS ours, r.ours AS run
             FROM theirs.point p JOIN temp.run_of r ON r.theirs = p.run;
         CREATE UNIQUE INDEX temp.point_of_by_theirs ON point_of (theirs);",
        last("run"),
        last("point"),
    ))?;
    let all =
        count(transaction, "SELECT count(*) FROM theirs.run JOIN temp.campaign_of ON theirs = campaign")?;
    let run = columns(transaction, "run", &["id", "campaign"])?;
    let added = transaction.execute(
        &format!(
            "INSERT INTO main.run (id, campaign, {run}) SELECT r.ours, r.campaign, {run} FROM temp.run_of r
             JOIN (SELECT id, {run} FROM theirs.run) ON id = r.theirs ORDER BY r.ours"
        ),
        [],
    )?;
    merged.runs.count(all, added);
    let point = columns(transaction, "point", &["id", "run"])?;
    transaction.execute_batch(&format!(
        "INSERT INTO main.point (id, run, {point}) SELECT p.ours, p.run, {point} FROM temp.point_of p
             JOIN (SELECT id, {point} FROM theirs.point) ON id = p.theirs ORDER BY p.ours;"
    ))?;
    for (table, of, key) in [
        ("run_host", "run_of", "run"),
        ("evidence", "run_of", "run"),
        ("metric", "point_of", "point"),
        ("histogram", "point_of", "point"),
    ] {
        let rest = columns(transaction, table, &[key])?;
        transaction.execute_batch(&format!(
            "INSERT INTO main.{table} ({key}, {rest}) SELECT ours, {rest} FROM theirs.{table} JOIN temp.{of} ON theirs = {key}"
        ))?;
    }
    Ok(())
}
