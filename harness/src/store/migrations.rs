//! The schema of the store, as the list of steps that lead to it. A step that has been released is never edited.

use rusqlite::Connection;

/// Marks the file as ours: "RDMH" in SQLite's application_id.
pub(super) const APPLICATION_ID: i64 = 0x5244_4d48;

/// Step n leads from version n to version n + 1.
const STEPS: &[&str] = &[
    include_str!("version-1.sql"),
    include_str!("version-2.sql"),
    include_str!("version-3.sql"),
    include_str!("version-4.sql"),
    include_str!("version-5.sql"),
];

/// The version this build writes.
pub(super) const NEWEST: i64 = STEPS.len() as i64;

/// The version of an open file; 0 is a new one.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings a file to [`NEWEST`], all steps in one transaction: a kill between two leaves the old version.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let from = version(&transaction)?;
    for step in STEPS.iter().skip(from as usize) {
        transaction.execute_batch(step)?;
    }
    if from < NEWEST {
        transaction.pragma_update(None, "user_version", NEWEST)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.commit()
}
