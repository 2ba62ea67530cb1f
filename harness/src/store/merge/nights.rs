//! Nights, their values, and what programs and people said about them. A night that this store has only the beginning of is
//! brought to where the other file has it.

use rusqlite::{Transaction, params};

use super::{Merged, columns, count};
use crate::store::columns::RowError;

/// Needs `temp.campaign_of`; fills `temp.night_of` (theirs, ours, filled) on the way: nights that get their content from there.
pub(super) fn merge(transaction: &Transaction<'_>, merged: &mut Merged) -> Result<(), RowError> {
    names(transaction)?;
    nights(transaction, merged)?;
    content(transaction, merged)?;
    remarks(transaction, merged)?;
    baselines(transaction, merged)
}

/// Series and configurations have no `uid`: they are what they are.
fn names(transaction: &Transaction<'_>) -> Result<(), RowError> {
    let key = columns(transaction, "series", &["id"])?;
    transaction.execute_batch(&format!(
        "INSERT OR IGNORE INTO main.series ({key}) SELECT {key} FROM theirs.series ORDER BY id;
         CREATE TEMP TABLE series_of AS
             SELECT t.id AS theirs, o.id AS ours FROM theirs.series t JOIN main.series o USING ({key});
         CREATE UNIQUE INDEX temp.series_of_by_theirs ON series_of (theirs);
         INSERT OR IGNORE INTO main.configuration (sha256, facts) SELECT sha256, facts FROM theirs.configuration ORDER BY id;
         CREATE TEMP TABLE configuration_of AS
             SELECT t.id AS theirs, o.id AS ours FROM theirs.configuration t JOIN main.configuration o USING (sha256);
         CREATE UNIQUE INDEX temp.configuration_of_by_theirs ON configuration_of (theirs);"
    ))?;
    Ok(())
}

/// A night of the other file, and what this one has of it.
struct Both {
    theirs: i64,
    ended: bool,
    ours: Option<i64>,
    ours_ended: bool,
}

fn nights(transaction: &Transaction<'_>, merged: &mut Merged) -> Result<(), RowError> {
    transaction.execute_batch(
        "CREATE TEMP TABLE night_of (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL, filled INTEGER NOT NULL)",
    )?;
    let all: Vec<Both> = transaction
        .prepare(
            "SELECT t.id, t.ended_at_unix_ms IS NOT NULL, o.id, o.ended_at_unix_ms IS NOT NULL
             FROM theirs.night t LEFT JOIN main.night o ON o.uid = t.uid ORDER BY t.id",
        )?
        .query_map([], |row| {
            Ok(Both { theirs: row.get(0)?, ended: row.get(1)?, ours: row.get(2)?, ours_ended: row.get(3)? })
        })?
        .collect::<rusqlite::Result<_>>()?;
    let columns = columns(transaction, "night", &["id"])?;
    for Both { theirs, ended, ours, ours_ended } in all {
        let (ours, filled) = match ours {
            None => {
                merged.nights.added += 1;
                (add(transaction, theirs, &columns)?, true)
            }
            Some(ours) if ended && ours_ended && differ(transaction, theirs, ours)? => {
                merged
                    .conflicts
                    .push(format!("night {theirs} there is night {ours} here, with other values"));
                continue;
            }
            Some(ours) => {
                merged.nights.known += 1;
                let further = ended && !ours_ended;
                if further {
                    catch_up(transaction, theirs, ours)?;
                }
                (ours, further)
            }
        };
        transaction
            .execute("INSERT INTO temp.night_of VALUES (?1, ?2, ?3)", params![theirs, ours, filled])?;
    }
    Ok(())
}

fn add(transaction: &Transaction<'_>, theirs: i64, columns: &str) -> Result<i64, RowError> {
    let night =
        format!("INSERT INTO main.night ({columns}) SELECT {columns} FROM theirs.night WHERE id = ?1");
    transaction.execute(&night, [theirs])?;
    Ok(transaction.last_insert_rowid())
}

/// Whether two files give an ended night other values.
fn differ(transaction: &Transaction<'_>, theirs: i64, ours: i64) -> Result<bool, RowError> {
    let values = "SELECT s.ours, value, runs, failed_runs, failure, confirm_runs, c.ours, value_limit, faults
        FROM theirs.night_value v JOIN temp.series_of s ON s.theirs = v.series
        JOIN temp.configuration_of c ON c.theirs = v.configuration WHERE night = ?1";
    let kept =
        "SELECT series, value, runs, failed_runs, failure, confirm_runs, configuration, value_limit, faults
        FROM main.night_value WHERE night = ?2";
    let sql = format!("SELECT EXISTS ({values} EXCEPT {kept}) OR EXISTS ({kept} EXCEPT {values})");
    Ok(transaction.query_row(&sql, [theirs, ours], |row| row.get(0))?)
}

/// Makes room for the end of a night that this store has only the beginning of.
fn catch_up(transaction: &Transaction<'_>, theirs: i64, ours: i64) -> Result<(), RowError> {
    transaction.execute("DELETE FROM main.night_value WHERE night = ?1", [ours])?;
    transaction.execute("DELETE FROM main.reported WHERE night = ?1", [ours])?;
    let ended = "UPDATE main.night SET ended_at_unix_ms = (SELECT ended_at_unix_ms FROM theirs.night WHERE id = ?1) WHERE id = ?2";
    transaction.execute(ended, [theirs, ours])?;
    Ok(())
}

fn content(transaction: &Transaction<'_>, merged: &mut Merged) -> Result<(), RowError> {
    transaction.execute_batch(
        "INSERT OR IGNORE INTO main.night_campaign SELECT n.ours, c.ours, part FROM theirs.night_campaign t
             JOIN temp.night_of n ON n.theirs = t.night JOIN temp.campaign_of c ON c.theirs = t.campaign",
    )?;
    let all =
        count(transaction, "SELECT count(*) FROM theirs.night_value JOIN temp.night_of ON theirs = night")?;
    let added = transaction.execute(
        "INSERT INTO main.night_value SELECT n.ours, s.ours, value, runs, failed_runs, failure, confirm_runs, c.ours, value_limit, faults
             FROM theirs.night_value v JOIN temp.night_of n ON n.theirs = v.night AND n.filled
             JOIN temp.series_of s ON s.theirs = v.series JOIN temp.configuration_of c ON c.theirs = v.configuration",
        [],
    )?;
    merged.values.count(all, added);
    transaction.execute_batch(
        "INSERT INTO main.reported SELECT n.ours, s.ours, found_by, certainty, trend, since.ours FROM theirs.reported r
             JOIN temp.night_of n ON n.theirs = r.night AND n.filled JOIN temp.night_of since ON since.theirs = r.since
             JOIN temp.series_of s ON s.theirs = r.series;
         INSERT INTO main.foreign_run (night, engine, source, sha256, line, facts)
             SELECT n.ours, engine, source, sha256, line, facts FROM theirs.foreign_run
             JOIN temp.night_of n ON n.theirs = night AND n.filled",
    )?;
    Ok(())
}

fn remarks(transaction: &Transaction<'_>, merged: &mut Merged) -> Result<(), RowError> {
    let notes = "INSERT INTO main.note (night, series, text, written_at_unix_ms)
        SELECT n.ours, s.ours, t.text, t.written_at_unix_ms FROM theirs.note t
        JOIN temp.night_of n ON n.theirs = t.night LEFT JOIN temp.series_of s ON s.theirs = t.series
        WHERE NOT EXISTS (SELECT 1 FROM main.note o WHERE o.night = n.ours AND o.series IS s.ours AND o.text = t.text
            AND o.written_at_unix_ms = t.written_at_unix_ms) ORDER BY t.id";
    let acknowledgements = "INSERT INTO main.acknowledgement (series, night, reason, written_at_unix_ms)
        SELECT s.ours, n.ours, t.reason, t.written_at_unix_ms FROM theirs.acknowledgement t
        JOIN temp.night_of n ON n.theirs = t.night JOIN temp.series_of s ON s.theirs = t.series
        WHERE NOT EXISTS (SELECT 1 FROM main.acknowledgement o WHERE o.night = n.ours AND o.series = s.ours
            AND o.reason = t.reason AND o.written_at_unix_ms = t.written_at_unix_ms) ORDER BY t.id";
    for (table, insert) in [("note", notes), ("acknowledgement", acknowledgements)] {
        let all = format!("SELECT count(*) FROM theirs.{table} JOIN temp.night_of ON theirs = night");
        let all = count(transaction, &all)?;
        merged.remarks.count(all, transaction.execute(insert, [])?);
    }
    Ok(())
}

fn baselines(transaction: &Transaction<'_>, merged: &mut Merged) -> Result<(), RowError> {
    let mut conflicts = transaction.prepare(
        "SELECT t.suite, t.name, o.night FROM theirs.baseline t JOIN main.baseline o USING (suite, name)
         LEFT JOIN temp.night_of n ON n.theirs = t.night WHERE n.ours IS NOT o.night ORDER BY 1, 2",
    )?;
    let named = conflicts.query_map([], |row| {
        let (suite, name, night): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!("baseline {name} of {suite} is another night there; here it stays night {night}"))
    })?;
    let named: Vec<String> = named.collect::<rusqlite::Result<_>>()?;
    let all =
        count(transaction, "SELECT count(*) FROM theirs.baseline JOIN temp.night_of ON theirs = night")?;
    let added = transaction.execute(
        "INSERT OR IGNORE INTO main.baseline SELECT suite, name, n.ours, set_at_unix_ms FROM theirs.baseline
         JOIN temp.night_of n ON n.theirs = night",
        [],
    )?;
    merged.remarks.count(all - named.len() as i64, added);
    merged.conflicts.extend(named);
    Ok(())
}
