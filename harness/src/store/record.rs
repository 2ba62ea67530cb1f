//! One record, to the rows of the store and back.
//!
//! The record's own JSON is the starting point: what has a table or a column is taken out of it, the rest is kept as it is.
//! A field the schema gains later therefore lands in `rest` and is never lost.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use rusqlite::{OptionalExtension, Transaction, params, types::Value as Sql};
use schema::RunRecord;
use serde_json::{Map, Value as Json};

use super::columns::{self, RowError};

type Object = Map<String, Json>;

/// The two sides of a record.
const SIDES: [&str; 2] = ["requester", "responder"];
/// The summaries of a point, and the histogram each was read from.
const SERIES: [(&str, &str); 2] =
    [("latency_ns", "histogram"), ("completion_latency_ns", "completion_histogram")];
/// The numbers of a point that are not of a summary.
const THROUGHPUT: [&str; 2] = ["bandwidth_bits_per_sec", "messages_per_sec"];
/// What a stored histogram and its JSON call the same bytes.
pub(super) const HDR: &str = "hdr_v2_deflate_base64";

fn shape(key: &str) -> RowError {
    RowError::Shape(key.to_owned())
}

fn take(object: &mut Object, key: &str) -> Result<Json, RowError> {
    object.remove(key).ok_or_else(|| shape(key))
}

fn take_object(object: &mut Object, key: &str) -> Result<Object, RowError> {
    match take(object, key)? {
        Json::Object(inner) => Ok(inner),
        _ => Err(shape(key)),
    }
}

fn take_text(object: &mut Object, key: &str) -> Result<String, RowError> {
    take(object, key)?.as_str().map(str::to_owned).ok_or_else(|| shape(key))
}

/// Takes a whole number that SQLite can hold.
fn take_whole(object: &mut Object, key: &str) -> Result<i64, RowError> {
    take(object, key)?.as_i64().ok_or_else(|| shape(key))
}

/// Writes a record as the newest try of its sequence.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    campaign: i64,
    sequence: u32,
    record: &RunRecord,
    took: Duration,
) -> Result<(), RowError> {
    let Json::Object(mut object) = serde_json::to_value(record)? else { return Err(shape("record")) };
    let sides = SIDES.map(|side| (side, object.remove(side).unwrap_or(Json::Null)));
    let points = take(&mut object, "points")?;
    let mut outcome = take_object(&mut object, "outcome")?;
    transaction.execute(
        "INSERT INTO run (campaign, sequence, try, schema_version, started_at_unix_ms, wall_ns, fabric, fabric_label, status, outcome, rest, took_ns)
         SELECT ?1, ?2, (SELECT count(*) FROM run WHERE campaign = ?1 AND sequence = ?2), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11",
        params![
            campaign,
            sequence,
            take_whole(&mut object, "schema_version")?,
            take_whole(&mut object, "started_at_unix_ms")?,
            take_whole(&mut object, "wall_ns")?,
            take_text(&mut object, "fabric")?,
            take_text(&mut object, "fabric_label")?,
            take_text(&mut outcome, "status")?,
            Json::Object(outcome).to_string(),
            Json::Object(object).to_string(),
            i64::try_from(took.as_nanos()).unwrap_or(i64::MAX),
        ],
    )?;
    let run = transaction.last_insert_rowid();
    for (side, value) in sides {
        if let Json::Object(value) = value {
            insert_side(transaction, run, side, value)?;
        }
    }
    let Json::Array(points) = points else { return Err(shape("points")) };
    for (position, point) in points.into_iter().enumerate() {
        let Json::Object(point) = point else { return Err(shape("points")) };
        insert_point(transaction, run, position, point)?;
    }
    Ok(())
}

fn insert_side(
    transaction: &Transaction<'_>,
    run: i64,
    side: &str,
    mut value: Object,
) -> Result<(), RowError> {
    take(&mut value, "side")?; // the row says which
    let facts = take(&mut value, "host")?.to_string();
    let fingerprint = columns::sha256(&facts);
    transaction.execute("INSERT OR IGNORE INTO host VALUES (?1, ?2)", params![fingerprint, facts])?;
    transaction.execute("INSERT INTO run_host VALUES (?1, ?2, ?3)", params![run, side, fingerprint])?;
    for (kind, value) in value {
        let row = params![run, side, kind, value.to_string()];
        transaction.execute("INSERT INTO evidence VALUES (?1, ?2, ?3, ?4)", row)?;
    }
    Ok(())
}

fn insert_point(
    transaction: &Transaction<'_>,
    run: i64,
    position: usize,
    mut point: Object,
) -> Result<(), RowError> {
    let metrics = take_metrics(&mut point)?;
    let histograms = take_histograms(&mut point)?;
    transaction.execute(
        "INSERT INTO point (run, position, test, op, msg_bytes, messages, duration_ns, rest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            run,
            position as i64,
            take_text(&mut point, "test")?,
            take_text(&mut point, "op")?,
            take_whole(&mut point, "msg_bytes")?,
            take_whole(&mut point, "messages")?,
            take_whole(&mut point, "duration_ns")?,
            Json::Object(point).to_string(),
        ],
    )?;
    let id = transaction.last_insert_rowid();
    for (name, value) in metrics {
        transaction.execute("INSERT INTO metric VALUES (?1, ?2, ?3)", params![id, name, value])?;
    }
    for HistogramRow { name, bytes, saturated } in histograms {
        let row = params![id, name, bytes, saturated];
        transaction.execute("INSERT INTO histogram VALUES (?1, ?2, ?3, ?4)", row)?;
    }
    Ok(())
}

/// Takes the numbers out of a point: `latency_ns.p50` and so on. The kind of a summary is a text among them.
fn take_metrics(point: &mut Object) -> Result<Vec<(String, Sql)>, RowError> {
    let mut metrics = Vec::new();
    for name in THROUGHPUT {
        metrics.push((name.to_owned(), to_sql(&take(point, name)?).ok_or_else(|| shape(name))?));
    }
    for (series, _) in SERIES {
        let Json::Object(summary) = take(point, series)? else { continue };
        for (key, value) in summary {
            let name = format!("{series}.{key}");
            let value = to_sql(&value).ok_or_else(|| shape(&name))?;
            metrics.push((name, value));
        }
    }
    Ok(metrics)
}

/// A histogram as its row has it.
struct HistogramRow {
    name: &'static str,
    bytes: Vec<u8>,
    saturated: i64,
}

fn take_histograms(point: &mut Object) -> Result<Vec<HistogramRow>, RowError> {
    let mut histograms = Vec::new();
    for (series, key) in SERIES {
        let Json::Object(mut histogram) = take(point, key)? else { continue };
        let bytes = BASE64.decode(take_text(&mut histogram, HDR)?)?;
        let saturated = take_whole(&mut histogram, "saturated")?;
        histograms.push(HistogramRow { name: series, bytes, saturated });
    }
    Ok(histograms)
}

fn to_sql(value: &Json) -> Option<Sql> {
    match value {
        Json::Null => Some(Sql::Null),
        Json::String(text) => Some(Sql::Text(text.clone())),
        Json::Number(number) if number.is_f64() => number.as_f64().map(Sql::Real),
        Json::Number(number) => number.as_i64().map(Sql::Integer),
        _ => None,
    }
}

fn from_sql(value: Sql) -> Result<Json, RowError> {
    match value {
        Sql::Null => Ok(Json::Null),
        Sql::Text(text) => Ok(Json::String(text)),
        Sql::Real(number) => Ok(number.into()),
        Sql::Integer(number) => Ok(number.into()),
        Sql::Blob(_) => Err(shape("metric")),
    }
}

/// Reads a record back, exactly as it was written.
pub(super) fn load(connection: &rusqlite::Connection, run: i64) -> Result<RunRecord, RowError> {
    let mut object = load_run(connection, run)?;
    for side in SIDES {
        object.insert(side.to_owned(), load_side(connection, run, side)?);
    }
    object.insert("points".to_owned(), load_points(connection, run)?);
    Ok(serde_json::from_value(Json::Object(object))?)
}

fn load_run(connection: &rusqlite::Connection, run: i64) -> Result<Object, RowError> {
    let columns = "schema_version, started_at_unix_ms, wall_ns, fabric, fabric_label, status, outcome, rest";
    let mut statement = connection.prepare_cached(&format!("SELECT {columns} FROM run WHERE id = ?1"))?;
    let (columns, status, outcome, rest) = statement.query_row([run], |row| {
        let columns = [
            ("schema_version", Json::from(row.get::<_, i64>(0)?)),
            ("started_at_unix_ms", row.get::<_, i64>(1)?.into()),
            ("wall_ns", row.get::<_, i64>(2)?.into()),
            ("fabric", row.get::<_, String>(3)?.into()),
            ("fabric_label", row.get::<_, String>(4)?.into()),
        ];
        Ok((columns, row.get::<_, String>(5)?, row.get::<_, String>(6)?, row.get::<_, String>(7)?))
    })?;
    let mut object: Object = serde_json::from_str(&rest)?;
    let mut outcome: Object = serde_json::from_str(&outcome)?;
    outcome.insert("status".to_owned(), status.into());
    object.insert("outcome".to_owned(), Json::Object(outcome));
    object.extend(columns.map(|(key, value)| (key.to_owned(), value)));
    Ok(object)
}

fn load_side(connection: &rusqlite::Connection, run: i64, side: &str) -> Result<Json, RowError> {
    let mut statement = connection.prepare_cached(
        "SELECT facts FROM run_host JOIN host ON fingerprint = host WHERE run = ?1 AND side = ?2",
    )?;
    let facts: Option<String> = statement.query_row(params![run, side], |row| row.get(0)).optional()?;
    let Some(facts) = facts else { return Ok(Json::Null) };
    let mut object = Object::new();
    object.insert("side".to_owned(), side.into());
    object.insert("host".to_owned(), serde_json::from_str(&facts)?);
    let mut statement =
        connection.prepare_cached("SELECT kind, value FROM evidence WHERE run = ?1 AND side = ?2")?;
    let mut rows = statement.query(params![run, side])?;
    while let Some(row) = rows.next()? {
        object.insert(row.get(0)?, serde_json::from_str(&row.get::<_, String>(1)?)?);
    }
    Ok(Json::Object(object))
}

fn load_points(connection: &rusqlite::Connection, run: i64) -> Result<Json, RowError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, test, op, msg_bytes, messages, duration_ns, rest FROM point WHERE run = ?1 ORDER BY position",
    )?;
    let mut rows = statement.query([run])?;
    let mut points = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        let mut point: Object = serde_json::from_str(&row.get::<_, String>(6)?)?;
        point.insert("test".to_owned(), row.get::<_, String>(1)?.into());
        point.insert("op".to_owned(), row.get::<_, String>(2)?.into());
        for (n, key) in ["msg_bytes", "messages", "duration_ns"].into_iter().enumerate() {
            point.insert(key.to_owned(), row.get::<_, i64>(3 + n)?.into());
        }
        load_histograms(connection, id, &mut point)?;
        load_metrics(connection, id, &mut point)?;
        points.push(Json::Object(point));
    }
    Ok(Json::Array(points))
}

fn load_histograms(connection: &rusqlite::Connection, id: i64, point: &mut Object) -> Result<(), RowError> {
    let mut statement = connection
        .prepare_cached("SELECT hdr_v2_deflate, saturated FROM histogram WHERE point = ?1 AND name = ?2")?;
    for (series, key) in SERIES {
        let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?));
        let found = statement.query_row(params![id, series], row).optional()?;
        let histogram = found.map_or(
            Json::Null,
            |(bytes, saturated)| serde_json::json!({ HDR: BASE64.encode(bytes), "saturated": saturated }),
        );
        point.insert(key.to_owned(), histogram);
    }
    Ok(())
}

fn load_metrics(connection: &rusqlite::Connection, id: i64, point: &mut Object) -> Result<(), RowError> {
    for (series, _) in SERIES {
        point.insert(series.to_owned(), Json::Null);
    }
    let mut statement = connection.prepare_cached("SELECT name, value FROM metric WHERE point = ?1")?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        let (name, value): (String, Sql) = (row.get(0)?, row.get(1)?);
        let value = from_sql(value)?;
        match name.split_once('.') {
            Some((series, key)) => {
                let summary = &mut point[series];
                summary[key] = value; // Null becomes an object
            }
            None => {
                point.insert(name, value);
            }
        }
    }
    Ok(())
}
