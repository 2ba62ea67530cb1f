//! Takes out of old runs what only a closer look at them needs: samples, time series and the evidence of hosts. What was
//! published of them, the values of nights, and everything of nights that something was said about stay.

use std::fs;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use rusqlite::{Connection, Transaction, params};
use schema::{EncodedHistogram, histogram::new_latency_histogram};
use serde_json::{Map, Value as Json};

use super::{
    Of, Store, StoreError, cluster,
    columns::{RowError, from_json, json},
    record,
};

/// What may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneRule {
    /// Only runs of campaigns and clusters that began before, ms since 1970 UTC.
    pub before_unix_ms: u64,
    /// Nights too that something was found in, or that a person noted, acknowledged or pinned.
    pub also_flagged: bool,
    /// Campaigns and clusters too that belong to no night.
    pub also_campaigns: bool,
}

/// What a rule means for a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prunable {
    /// Campaigns with runs to prune.
    pub campaigns: Vec<i64>,
    /// Their nights.
    pub nights: Vec<i64>,
    /// Old nights that stay whole, because something was said about them.
    pub flagged: Vec<i64>,
    /// Runs to prune.
    pub runs: u32,
    /// Clusters with records to prune.
    pub clusters: Vec<i64>,
    /// Their runs.
    pub pair_runs: u32,
}

/// What became of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// Its size before, log included.
    pub bytes_before: u64,
    /// Its size after, log included.
    pub bytes_after: u64,
}

/// Nights that something was said about.
pub(super) const FLAGGED: &str =
    "SELECT night FROM reported UNION SELECT since FROM reported UNION SELECT night FROM note
    UNION SELECT night FROM acknowledgement UNION SELECT night FROM baseline";

impl Store {
    /// What a rule would prune. Writes nothing.
    pub fn prunable(&self, rule: &PruneRule) -> Result<Prunable, StoreError> {
        self.read("looking for what is old in", Of::Store, |connection| prunable(connection, rule))
    }

    /// Prunes, a campaign or a cluster at a time, then gives the space back to the disk. Killed in between, what was not reached is still
    /// whole. The time is in ms since 1970 UTC.
    pub fn prune(&mut self, what: &Prunable, now_unix_ms: u64) -> Result<Pruned, StoreError> {
        let bytes_before = self.bytes();
        for campaign in &what.campaigns {
            self.write("pruning", Of::Campaign(*campaign), |transaction| {
                prune(transaction, *campaign, now_unix_ms)
            })?;
        }
        for cluster in &what.clusters {
            self.write("pruning", Of::Cluster(*cluster), |transaction| {
                cluster::prune::prune(transaction, *cluster, now_unix_ms)
            })?;
        }
        // The log is emptied into the file as far as no reader needs it; the rest goes when the last one closes.
        self.connection
            .execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
            .map_err(self.failed("giving free space back from"))?;
        Ok(Pruned { bytes_before, bytes_after: self.bytes() })
    }

    /// Bytes on disk, log included.
    pub fn bytes(&self) -> u64 {
        let mut log = self.file.clone().into_os_string();
        log.push("-wal");
        let size = |path: &std::path::Path| fs::metadata(path).map_or(0, |file| file.len());
        size(&self.file) + size(log.as_ref())
    }
}

fn prunable(connection: &Connection, rule: &PruneRule) -> Result<Prunable, RowError> {
    let mut statement = connection.prepare(&format!(
        "SELECT c.id, n.night, count(*), n.night IN ({FLAGGED}) FROM campaign c JOIN run r ON r.campaign = c.id
         LEFT JOIN night_campaign n ON n.campaign = c.id
         WHERE c.started_at_unix_ms < ?1 AND r.pruned_at_unix_ms IS NULL AND (n.night IS NOT NULL OR ?2)
         GROUP BY c.id ORDER BY c.id"
    ))?;
    let mut rows = statement.query(params![rule.before_unix_ms as i64, rule.also_campaigns])?;
    let mut found = Prunable::default();
    while let Some(row) = rows.next()? {
        let night: Option<i64> = row.get(1)?;
        let flagged: Option<bool> = row.get(3)?;
        if flagged == Some(true) && !rule.also_flagged {
            found.flagged.extend(night);
            continue;
        }
        found.campaigns.push(row.get(0)?);
        found.nights.extend(night);
        found.runs += row.get::<_, u32>(2)?;
    }
    cluster::prune::prunable(connection, rule, &mut found)?;
    for nights in [&mut found.nights, &mut found.flagged] {
        nights.sort_unstable();
        nights.dedup();
    }
    Ok(found)
}

fn prune(transaction: &Transaction<'_>, campaign: i64, now_unix_ms: u64) -> Result<(), RowError> {
    let empty = EncodedHistogram::encode(&new_latency_histogram(), 0).hdr_v2_deflate_base64;
    let whole = "SELECT id FROM run WHERE campaign = ?1 AND pruned_at_unix_ms IS NULL";
    transaction.execute(
        &format!(
            "UPDATE histogram SET hdr_v2_deflate = ?2 WHERE point IN (SELECT id FROM point WHERE run IN ({whole}))"
        ),
        params![campaign, BASE64.decode(&empty)?],
    )?;
    let points = format!("SELECT id, rest FROM point WHERE run IN ({whole})");
    rewrite(transaction, &points, "UPDATE point SET rest = ?2 WHERE id = ?1", campaign, |rest| {
        rest.insert("intervals".to_owned(), Json::Array(Vec::new()));
        rest.values_mut().for_each(|value| empty_histograms(value, &empty));
    })?;
    let runs = format!("SELECT id, rest FROM run WHERE id IN ({whole})");
    rewrite(transaction, &runs, "UPDATE run SET rest = ?2 WHERE id = ?1", campaign, |rest| {
        rest.insert("evidence".to_owned(), Json::Array(Vec::new()));
    })?;
    transaction.execute(
        "UPDATE run SET pruned_at_unix_ms = ?2 WHERE campaign = ?1 AND pruned_at_unix_ms IS NULL",
        params![campaign, now_unix_ms as i64],
    )?;
    Ok(())
}

/// Changes the JSON object of every row that `select` gives as `(id, rest)`.
fn rewrite(
    transaction: &Transaction<'_>,
    select: &str,
    update: &str,
    campaign: i64,
    change: impl Fn(&mut Map<String, Json>),
) -> Result<(), RowError> {
    let rows: Vec<(i64, String)> = transaction
        .prepare_cached(select)?
        .query_map([campaign], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut update = transaction.prepare_cached(update)?;
    for (id, rest) in rows {
        let mut rest = from_json(&rest)?;
        change(&mut rest);
        update.execute(params![id, json(&rest)?])?;
    }
    Ok(())
}

/// Empties every histogram within a document, such as that of the other direction.
fn empty_histograms(value: &mut Json, empty: &str) {
    let Json::Object(object) = value else { return };
    for (key, value) in object {
        match value {
            Json::String(bytes) if key == record::HDR => empty.clone_into(bytes),
            value => empty_histograms(value, empty),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;
    use reports::testing::Sample;
    use schema::{Campaign, NightPart, record::Reverse};

    use super::*;
    use crate::store::tests::{begin_night, fill, plan_of, value};
    use crate::store::{NewCampaign, Store};

    const OLD: PruneRule =
        PruneRule { before_unix_ms: u64::MAX >> 1, also_flagged: false, also_campaigns: false };

    fn sample() -> Campaign {
        let mut campaign = Sample { blocks: 1, latencies: 5_000, ..Sample::default() }.campaign();
        let point = &mut campaign.runs[0].record.points[0];
        point.completion_histogram = Some(point.histogram.clone());
        point.completion_latency_ns = Some(point.latency_ns.clone());
        point.reverse = Some(Reverse {
            messages: point.messages,
            duration_ns: point.duration_ns,
            bandwidth_bits_per_sec: 1.0,
            messages_per_sec: 1.0,
            latency_ns: point.latency_ns.clone(),
            histogram: point.histogram.clone(),
        });
        campaign
    }

    /// A store with a night of one campaign, which comes back with its number.
    fn night(folder: &Path) -> (Store, i64, Campaign) {
        let mut store = Store::create_or_open(&folder.join("store.db")).unwrap();
        let night = begin_night(&mut store, "s", 1_000);
        let mut campaign = sample();
        let plan = plan_of(&campaign);
        let new = NewCampaign { plan: &plan, started_at_unix_ms: campaign.started_at_unix_ms };
        campaign.id = store.begin_in_night(night, NightPart::First, &new).unwrap();
        fill(&mut store, &campaign);
        store.keep_values(night, &[value("write", 1.0)]).unwrap();
        store.end_night(night, 2_000).unwrap();
        (store, night, campaign)
    }

    #[test]
    fn what_was_published_stays_and_the_samples_go() {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, night, mut campaign) = night(folder.path());
        let history = store.history("s", None).unwrap();
        let what = store.prunable(&OLD).unwrap();
        assert_eq!((&what.campaigns, &what.nights, what.runs), (&vec![campaign.id], &vec![night], 3));
        let pruned = store.prune(&what, 77_000).unwrap();
        assert!(pruned.bytes_after < pruned.bytes_before, "{pruned:?}");

        let empty = EncodedHistogram::encode(&new_latency_histogram(), 0);
        for run in &mut campaign.runs {
            run.pruned_at_unix_ms = Some(77_000);
            run.record.evidence.clear();
            for point in &mut run.record.points {
                point.intervals.clear();
                point.histogram = empty.clone();
                point.completion_histogram = point.completion_histogram.as_ref().map(|_| empty.clone());
                let histogram = empty.clone();
                point.reverse = point.reverse.take().map(|reverse| Reverse { histogram, ..reverse });
            }
        }
        assert_eq!(store.load(campaign.id).unwrap(), campaign);
        assert_eq!(store.history("s", None).unwrap(), history);
        assert_eq!(store.prunable(&OLD).unwrap(), Prunable::default(), "nothing is pruned twice");
    }

    #[test]
    fn a_night_that_something_was_said_about_stays_whole_unless_asked() {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, night, campaign) = night(folder.path());
        store.set_baseline("s", "good", night, 3_000).unwrap();
        let what = store.prunable(&OLD).unwrap();
        assert_eq!((what.flagged, what.runs), (vec![night], 0));
        let what = store.prunable(&PruneRule { also_flagged: true, ..OLD }).unwrap();
        assert_eq!((what.campaigns, what.flagged), (vec![campaign.id], vec![]));
    }

    #[test]
    fn young_runs_and_campaigns_of_no_night_stay_unless_asked() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("store.db")).unwrap();
        let mut campaign = sample();
        let plan = plan_of(&campaign);
        campaign.id = store.begin(&NewCampaign { plan: &plan, started_at_unix_ms: 5_000 }).unwrap();
        fill(&mut store, &campaign);
        let campaigns = |before_unix_ms, also_campaigns| {
            store.prunable(&PruneRule { before_unix_ms, also_campaigns, ..OLD }).unwrap().campaigns
        };
        assert!(campaigns(5_001, false).is_empty());
        assert!(campaigns(5_000, true).is_empty());
        assert_eq!(campaigns(5_001, true), [campaign.id]);
    }
}
