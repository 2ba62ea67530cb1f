//! Whether the clusters of a store are whole: every record reads back, and the numbers of pairs are those of their records.

use rusqlite::Connection;
use schema::{Cluster, PairOutcome, PairPoint, PairRun, RunRecord};

use super::{
    super::{
        check::{Checked, of_record},
        columns::RowError,
    },
    load, records,
};

/// Looks at every cluster; what is wrong is added to the answer.
pub(in super::super) fn of_clusters(connection: &Connection, checked: &mut Checked) -> Result<(), RowError> {
    let mut statement = connection.prepare("SELECT id FROM cluster ORDER BY id")?;
    let ids: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for id in ids {
        checked.clusters += 1;
        match load::load(connection, id) {
            Ok(cluster) => of_rounds(connection, &cluster, checked)?,
            Err(cause) => checked.problems.push(format!("cluster {id}: {cause}")),
        }
    }
    Ok(())
}

fn of_rounds(connection: &Connection, cluster: &Cluster, checked: &mut Checked) -> Result<(), RowError> {
    let mut packed = connection.prepare(
        "SELECT number, pruned_at_unix_ms IS NOT NULL, first_sequence, lines FROM cluster_round r
         LEFT JOIN round_records p ON p.cluster = r.cluster AND p.round = number WHERE r.cluster = ?1 ORDER BY number",
    )?;
    let mut rows = packed.query([cluster.id])?;
    let mut runs = cluster.runs.as_slice();
    while let Some(row) = rows.next()? {
        let (number, pruned): (u32, bool) = (row.get(0)?, row.get(1)?);
        let many = runs.iter().take_while(|run| run.round == number).count();
        let (of_round, rest) = runs.split_at(many);
        runs = rest;
        checked.pair_runs += many as u64;
        let mut problem =
            |what: String| checked.problems.push(format!("cluster {}, round {number}: {what}", cluster.id));
        match (pruned, row.get_ref(3)?.as_blob_or_null()?) {
            (true, None) => checked.pruned_pair_runs += many as u64,
            (true, Some(_)) => problem("it is pruned, and its records are there".into()),
            (false, None) if many == 0 => {}
            (false, None) => problem("its records are missing".into()),
            (false, Some(lines)) => match records::unpack(lines) {
                Ok(records) if records.len() == many && row.get::<_, u32>(2)? == of_round[0].sequence => {
                    for (run, record) in of_round.iter().zip(&records) {
                        let named = |what| format!("cluster {}, run {}: {what}", cluster.id, run.sequence);
                        let problems = of_run(run, record, &mut checked.histograms);
                        checked.problems.extend(problems.into_iter().map(named));
                    }
                }
                Ok(records) => problem(format!("{} records of {many} runs", records.len())),
                Err(cause) => problem(cause.to_string()),
            },
        }
    }
    if let Some(run) = runs.first() {
        checked.problems.push(format!("cluster {}, run {}: it is out of order", cluster.id, run.sequence));
    }
    Ok(())
}

fn of_run(run: &PairRun, record: &RunRecord, decoded: &mut u64) -> Vec<String> {
    let mut problems = of_record(record, false, decoded);
    let expected = match run.outcome {
        PairOutcome::CouldNotRun { .. } => Vec::new(),
        PairOutcome::Measured | PairOutcome::Invalid { .. } => PairPoint::of(record),
    };
    if run.points != expected {
        problems.push("its numbers are not those of its record".into());
    }
    problems
}
