//! Campaigns in the store: begun, filled run by run, found again, and read back whole.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use schema::{
    Campaign, CampaignRun, CampaignState, Design, Nanos, Purpose, RunRecord, SCHEMA_VERSION, StopRule,
    Stopped,
};
use serde::Serialize;

use super::{
    Of, Store, StoreError,
    columns::{RowError, from_json, from_word, json, new_uid, word},
    record,
};
use crate::plan::{Plan, PlannedRun};

/// A campaign about to begin.
pub struct NewCampaign<'p> {
    /// What it carries out.
    pub plan: &'p Plan,
    /// Start, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
}

/// What a list of campaigns shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CampaignHead {
    /// Identity.
    pub id: i64,
    /// Name of the scenario.
    pub scenario: String,
    /// The question it answers.
    pub question: String,
    /// Start, ms since 1970 UTC.
    pub started_at_unix_ms: u64,
    /// Runs planned.
    pub planned: u32,
    /// Runs tried.
    pub tried: u32,
    /// Runs that did not complete.
    pub not_completed: u32,
    /// Why it makes no more runs, where it may stop before all are made; null while it goes on.
    pub stopped: Option<Stopped>,
}

impl CampaignHead {
    /// How far it has come.
    pub fn state(&self) -> CampaignState {
        if self.tried < self.planned && self.stopped.is_none() {
            CampaignState::Unfinished
        } else {
            CampaignState::Finished
        }
    }
}

/// The last try of every sequence of a campaign.
const LAST_TRY: &str = "SELECT max(id) AS id, sequence FROM run WHERE campaign = ?1 GROUP BY sequence";

impl Store {
    /// Begins a campaign: what it is and every run it shall make, in one transaction.
    pub fn begin(&mut self, new: &NewCampaign<'_>) -> Result<i64, StoreError> {
        let file = self.file.clone();
        let mut write = || -> Result<i64, RowError> {
            let transaction = self.connection.transaction()?;
            let id = insert(&transaction, new)?;
            transaction.commit()?;
            Ok(id)
        };
        write().map_err(|error| StoreError::rows("writing the campaign to", &file, Of::Campaign(0), error))
    }

    /// Adds a run as it ended, in one transaction; `took` is the time since the run before ended, or since there was none.
    pub fn add_run(
        &mut self,
        campaign: i64,
        sequence: u32,
        record: &RunRecord,
        took: Duration,
    ) -> Result<(), StoreError> {
        let file = self.file.clone();
        let mut write = || -> Result<(), RowError> {
            let transaction = self.connection.transaction()?;
            record::insert(&transaction, campaign, sequence, record, took)?;
            Ok(transaction.commit()?)
        };
        write().map_err(|error| StoreError::rows("writing a run to", &file, Of::Campaign(campaign), error))
    }

    /// Keeps that a campaign makes no more runs, and why.
    pub fn stop(&mut self, campaign: i64, why: Stopped) -> Result<(), StoreError> {
        let write = || -> Result<(), RowError> {
            let changed = self
                .connection
                .execute("UPDATE campaign SET stopped = ?2 WHERE id = ?1", params![campaign, word(&why)?])?;
            if changed == 1 { Ok(()) } else { Err(RowError::Shape("campaign".into())) }
        };
        write().map_err(|error| {
            StoreError::rows("writing the end of a campaign to", &self.file, Of::Campaign(campaign), error)
        })
    }

    /// What every kept try of a campaign took, by block; without those kept by releases that did not note it.
    pub fn times(&self, campaign: i64) -> Result<Vec<(u32, Duration)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(u32, Duration)>> {
            let mut statement = self.connection.prepare(
                "SELECT block, took_ns FROM run JOIN planned_run USING (campaign, sequence)
                 WHERE campaign = ?1 AND took_ns IS NOT NULL ORDER BY id",
            )?;
            let time = |row: &Row<'_>| Ok((row.get(0)?, Duration::from_nanos(row.get::<_, i64>(1)? as u64)));
            statement.query_map([campaign], time)?.collect()
        };
        read().map_err(self.failed("reading the times of a campaign from"))
    }

    /// Every campaign, the newest first.
    pub fn campaigns(&self) -> Result<Vec<CampaignHead>, StoreError> {
        let read = || -> rusqlite::Result<Vec<CampaignHead>> {
            let mut statement = self.connection.prepare(&format!("{HEADS} ORDER BY c.id DESC"))?;
            statement.query_map([], head)?.collect()
        };
        read().map_err(self.failed("listing the campaigns of"))
    }

    /// The newest campaign of a scenario that still misses runs, and the scenario text it began with. Those of nights are left
    /// to their nights.
    pub fn newest_unfinished(&self, scenario: &str) -> Result<Option<(CampaignHead, String)>, StoreError> {
        let unfinished = |head: &CampaignHead| head.state() == CampaignState::Unfinished;
        self.comparisons(scenario)?.find(unfinished).map(|head| self.with_text(head)).transpose()
    }

    /// The newest campaign of a scenario, and the scenario text it began with. Those of nights are left to their nights.
    pub fn newest_of(&self, scenario: &str) -> Result<Option<(CampaignHead, String)>, StoreError> {
        self.comparisons(scenario)?.next().map(|head| self.with_text(head)).transpose()
    }

    /// The campaigns of a scenario that compare its variants, the newest first.
    pub fn comparisons(
        &self,
        scenario: &str,
    ) -> Result<impl Iterator<Item = CampaignHead> + use<>, StoreError> {
        let read = || -> rusqlite::Result<Vec<CampaignHead>> {
            let mut statement = self.connection.prepare(&format!(
                "{HEADS} WHERE scenario = ?1 AND c.id NOT IN (SELECT campaign FROM night_campaign) ORDER BY c.id DESC"
            ))?;
            statement.query_map([scenario], head)?.collect()
        };
        Ok(read().map_err(self.failed("listing the campaigns of"))?.into_iter())
    }

    fn with_text(&self, head: CampaignHead) -> Result<(CampaignHead, String), StoreError> {
        let text = self
            .connection
            .query_row("SELECT scenario_toml FROM campaign WHERE id = ?1", [head.id], |row| row.get(0))
            .map_err(self.failed("reading the scenario of a campaign from"))?;
        Ok((head, text))
    }

    /// The runs a campaign still misses, in their planned order; with `failed`, those that did not complete too. A campaign
    /// that stopped misses none of those it did not come to.
    pub fn missing_runs(&self, campaign: i64, failed: bool) -> Result<Vec<PlannedRun>, StoreError> {
        let read = || -> Result<Vec<PlannedRun>, RowError> {
            let mut statement = self.connection.prepare(&format!(
                "SELECT p.sequence, block, workload, variant, purpose FROM planned_run p
                 JOIN campaign c ON c.id = p.campaign
                 LEFT JOIN ({LAST_TRY}) last USING (sequence) LEFT JOIN run r ON r.id = last.id
                 WHERE p.campaign = ?1 AND ((r.id IS NULL AND c.stopped IS NULL) OR (?2 AND r.status <> 'completed'))
                 ORDER BY p.sequence"
            ))?;
            let mut rows = statement.query(params![campaign, failed])?;
            let mut runs = Vec::new();
            while let Some(row) = rows.next()? {
                runs.push(planned_run(row)?);
            }
            Ok(runs)
        };
        read().map_err(|error| {
            StoreError::rows("reading the plan from", &self.file, Of::Campaign(campaign), error)
        })
    }

    /// The number of the campaign asked for, or of the newest.
    pub fn campaign_id(&self, asked: Option<i64>) -> Result<i64, StoreError> {
        let known = self.campaigns()?;
        let found = known.iter().find(|head| asked.is_none_or(|id| id == head.id));
        found
            .map(|head| head.id)
            .ok_or_else(|| StoreError::NoCampaign { file: self.file.clone(), campaign: asked })
    }

    /// A campaign with every run, as it was measured.
    pub fn load(&self, id: i64) -> Result<Campaign, StoreError> {
        load(&self.connection, id)
            .map_err(|error| {
                StoreError::rows("reading a campaign from", &self.file, Of::Campaign(id), error)
            })?
            .ok_or_else(|| StoreError::NoCampaign { file: self.file.clone(), campaign: Some(id) })
    }
}

/// Writes what a campaign is and every run it shall make.
pub(super) fn insert(transaction: &Transaction<'_>, new: &NewCampaign<'_>) -> Result<i64, RowError> {
    let (plan, design) = (new.plan, &new.plan.design);
    transaction.execute(
        "INSERT INTO campaign (schema_version, scenario, question, scenario_toml, started_at_unix_ms, blocks, seed,
             cooldown_ns, variants, workloads, gates, grouping, stop, factors, uid)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            SCHEMA_VERSION,
            plan.scenario,
            plan.question,
            plan.scenario_toml,
            new.started_at_unix_ms as i64,
            design.blocks,
            design.seed.to_string(),
            design.cooldown_ns.get() as i64,
            json(&plan.variants)?,
            json(&plan.workloads)?,
            json(&plan.gates)?,
            word(&design.grouping)?,
            json(&design.stop)?,
            json(&plan.factors)?,
            new_uid()?,
        ],
    )?;
    let id = transaction.last_insert_rowid();
    for run in &plan.runs {
        transaction.execute(
            "INSERT INTO planned_run VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id, run.sequence, run.block, run.workload, run.variant, word(&run.purpose)?],
        )?;
    }
    Ok(id)
}

const HEADS: &str = "SELECT c.id, scenario, question, started_at_unix_ms,
    (SELECT count(*) FROM planned_run p WHERE p.campaign = c.id),
    (SELECT count(DISTINCT sequence) FROM run r WHERE r.campaign = c.id),
    (SELECT count(*) FROM run r WHERE r.campaign = c.id AND status <> 'completed' AND r.id IN
        (SELECT max(id) FROM run l WHERE l.campaign = c.id GROUP BY sequence)),
    stopped, stop
    FROM campaign c";

fn head(row: &Row<'_>) -> rusqlite::Result<CampaignHead> {
    let (planned, tried) = (row.get(4)?, row.get(5)?);
    let kept: Option<Stopped> = row
        .get::<_, Option<String>>(7)?
        .map(|word| serde_json::from_value(word.into()).map_err(|error| unreadable(7, error)))
        .transpose()?;
    let rule: StopRule =
        serde_json::from_str(&row.get::<_, String>(8)?).map_err(|error| unreadable(8, error))?;
    // That all blocks were made is seen by their runs; only what cuts a campaign short is kept.
    let spent = (rule != StopRule::AllBlocks && tried >= planned).then_some(Stopped::BlocksSpent);
    Ok(CampaignHead {
        id: row.get(0)?,
        scenario: row.get(1)?,
        question: row.get(2)?,
        started_at_unix_ms: row.get::<_, i64>(3)? as u64,
        planned,
        tried,
        not_completed: row.get(6)?,
        stopped: kept.or(spent),
    })
}

fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
}

fn planned_run(row: &Row<'_>) -> Result<PlannedRun, RowError> {
    Ok(PlannedRun {
        sequence: row.get(0)?,
        block: row.get(1)?,
        workload: row.get(2)?,
        variant: row.get(3)?,
        purpose: from_word::<Purpose>(row.get(4)?)?,
    })
}

fn load(connection: &Connection, id: i64) -> Result<Option<Campaign>, RowError> {
    let Some(campaign) = load_head(connection, id)? else { return Ok(None) };
    Ok(Some(Campaign { runs: load_runs(connection, id)?, ..campaign }))
}

/// A campaign without its runs.
pub(super) fn load_head(connection: &Connection, id: i64) -> Result<Option<Campaign>, RowError> {
    let Some(head) = connection.query_row(&format!("{HEADS} WHERE c.id = ?1"), [id], head).optional()? else {
        return Ok(None);
    };
    let mut statement = connection.prepare(
        "SELECT schema_version, scenario_toml, blocks, seed, cooldown_ns, variants, workloads, gates, grouping, stop, factors
         FROM campaign WHERE id = ?1",
    )?;
    let mut rows = statement.query([id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let text = |column: usize| row.get::<_, String>(column);
    let seed = text(3)?.parse().map_err(|_| RowError::Shape("seed".into()))?;
    Ok(Some(Campaign {
        schema_version: row.get(0)?,
        id,
        state: head.state(),
        stopped: head.stopped,
        factors: from_json(&text(10)?)?,
        scenario: head.scenario,
        question: head.question,
        scenario_toml: text(1)?,
        started_at_unix_ms: head.started_at_unix_ms,
        variants: from_json(&text(5)?)?,
        workloads: from_json(&text(6)?)?,
        design: Design {
            blocks: row.get(2)?,
            seed,
            cooldown_ns: Nanos(row.get::<_, i64>(4)? as u64),
            grouping: from_word(text(8)?)?,
            stop: from_json(&text(9)?)?,
        },
        gates: from_json(&text(7)?)?,
        runs: Vec::new(),
    }))
}

fn load_runs(connection: &Connection, id: i64) -> Result<Vec<CampaignRun>, RowError> {
    let mut statement = connection.prepare(&format!(
        "SELECT p.sequence, block, workload, variant, purpose, last.id, pruned_at_unix_ms FROM ({LAST_TRY}) last
         JOIN planned_run p ON p.campaign = ?1 AND p.sequence = last.sequence
         JOIN run USING (id) ORDER BY last.id"
    ))?;
    let mut rows = statement.query([id])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let planned = planned_run(row)?;
        runs.push(CampaignRun {
            sequence: planned.sequence,
            block: planned.block,
            workload: planned.workload,
            variant: planned.variant,
            purpose: planned.purpose,
            record: record::load(connection, row.get(5)?)?,
            pruned_at_unix_ms: row.get::<_, Option<i64>>(6)?.map(|ms| ms as u64),
        });
    }
    Ok(runs)
}
