//! The comparison as JSON, and the whole report as JSON: the data of every other view, with the words beside it.

use schema::{Bytes, Campaign, Purpose};
use schemars::JsonSchema;
use serde::Serialize;

use super::{facts, numbers, sentence::sentence, view::View, view::baseline_spec, words};
use crate::{
    compare::{Comparison, Spread},
    index::Index,
};

/// What `compare --json` and `run --json` print.
#[derive(Serialize, JsonSchema)]
struct Document<'c> {
    /// In one word or two.
    verdict_word: &'static str,
    /// In one sentence.
    verdict_sentence: String,
    /// What the program ends with: 0 fine, 1 regression, 3 could not run, 4 inconclusive or unstable.
    exit_code: u8,
    #[serde(flatten)]
    comparison: &'c Comparison,
}

impl<'c> Document<'c> {
    fn of(comparison: &'c Comparison) -> Self {
        Document {
            verdict_word: words::campaign_verdict(comparison.verdict),
            verdict_sentence: sentence(comparison),
            exit_code: comparison.exit_code(),
            comparison,
        }
    }
}

/// `report.json`: the comparison, and what the report says beside it.
#[derive(Serialize, JsonSchema)]
struct ReportDocument<'c> {
    #[serde(flatten)]
    document: Document<'c>,
    /// What the page says beside the comparison. Null in what `compare --json` and `run --json` print.
    report: Option<Report>,
}

/// What the page says beside the comparison. Lists named `variants` or `values` have an item per variant, in the order of
/// `variants`.
#[derive(Serialize, JsonSchema)]
struct Report {
    /// Version of the program that wrote it.
    version: String,
    /// Start of the campaign, ms since 1970 UTC.
    started_at_unix_ms: u64,
    /// Runs tried.
    runs: u32,
    /// Of them A/A controls.
    controls: u32,
    /// Planned blocks; of a campaign that may stop early, the most.
    blocks: u32,
    /// Seed of the order of the runs.
    seed: u64,
    /// What the reader must know before anything else.
    warnings: Vec<String>,
    /// Names of the variants, the baseline first.
    variants: Vec<String>,
    /// What they set in the scenario.
    settings: Vec<Fact>,
    /// What was measured, by workload and size, over the valid runs of each variant, controls left out.
    numbers: Vec<Numbers>,
    /// What was asked, granted, and where it ran.
    facts: Vec<Facts>,
    /// What changed between runs of one variant though nothing asked for it, in sentences.
    unasked_changes: Vec<String>,
    /// How it was measured, in sentences.
    method: Vec<String>,
    /// What it does not say, in sentences.
    limits: Vec<String>,
    /// The scenario as its author wrote it.
    scenario_toml: String,
}

/// Facts of one subject.
#[derive(Serialize, JsonSchema)]
struct Facts {
    /// For example `Requester`.
    title: String,
    /// In the order of their names.
    facts: Vec<Fact>,
}

/// One fact under every variant.
#[derive(Serialize, JsonSchema)]
struct Fact {
    /// The key in a record, or in the scenario.
    key: String,
    /// In words; of runs that differ, a range or counts.
    values: Vec<String>,
    /// Whether the variants differ.
    differs: bool,
}

/// One number at one size.
#[derive(Serialize, JsonSchema)]
struct Numbers {
    /// Workload name.
    workload: String,
    /// Message size.
    msg_bytes: Bytes,
    /// A metric, or one of the numbers beside them that the CSV has.
    name: String,
    /// Its unit.
    unit: &'static str,
    /// Over the runs of each variant; null where it was not published.
    variants: Vec<Option<Spread>>,
}

/// The comparison, pretty.
pub fn json(comparison: &Comparison) -> String {
    pretty(&Document::of(comparison))
}

/// The whole report, pretty.
pub fn report_json(campaign: &Campaign, comparison: &Comparison) -> String {
    let index = Index::of(campaign);
    let view = View::of(campaign, comparison, &index);
    let controls = campaign.runs.iter().filter(|run| run.purpose == Purpose::Control).count();
    let report = Report {
        started_at_unix_ms: campaign.started_at_unix_ms,
        runs: campaign.runs.len() as u32,
        controls: controls as u32,
        blocks: campaign.design.blocks,
        seed: campaign.design.seed,
        numbers: all_numbers(campaign, &index),
        settings: view.settings.into_iter().map(Fact::of).collect(),
        facts: view.facts.into_iter().map(Facts::of).collect(),
        version: view.version,
        warnings: view.warnings,
        variants: view.variants,
        unasked_changes: view.unasked_changes,
        method: view.method,
        limits: view.limits,
        scenario_toml: view.scenario_toml,
    };
    pretty(&ReportDocument { document: Document::of(comparison), report: Some(report) })
}

/// The JSON Schema of `report.json`, and of what `--json` prints.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(ReportDocument<'_>).to_value()
}

fn pretty(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("a comparison has string keys only") + "\n"
}

fn all_numbers(campaign: &Campaign, index: &Index<'_>) -> Vec<Numbers> {
    let mut all = Vec::new();
    for workload in &campaign.workloads {
        let Some(spec) = baseline_spec(campaign, workload) else { continue };
        for msg_bytes in &spec.msg_bytes {
            let rows = numbers::rows(campaign, index, workload, spec.test, *msg_bytes);
            all.extend(rows.into_iter().map(|row| Numbers {
                workload: workload.name.clone(),
                msg_bytes: *msg_bytes,
                name: row.key,
                unit: row.unit,
                variants: row.variants,
            }));
        }
    }
    all
}

impl Facts {
    fn of(group: facts::FactGroup) -> Self {
        Facts { title: group.title, facts: group.rows.into_iter().map(Fact::of).collect() }
    }
}

impl Fact {
    fn of(row: facts::FactRow) -> Self {
        Fact { key: row.key, values: row.values, differs: row.differs }
    }
}
