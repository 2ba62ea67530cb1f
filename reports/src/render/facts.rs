//! Parameters and environment as rows of text: what every variant asked, was granted and ran on, and where that differs.
//!
//! Rows are made from the records' JSON, so that a field added to a record is in the report without a line of code here, and
//! under the name the record format documents.

use std::collections::BTreeMap;

use schema::{BitsPerSec, Bytes, Campaign, CampaignRun, Nanos, RunRecord, SideRecord};
use serde::Serialize;
use serde_json::Value;

use super::number;

/// Facts of one subject, a row each.
pub(super) struct FactGroup {
    /// For example `Requester`.
    pub(super) title: String,
    /// In the order of their names.
    pub(super) rows: Vec<FactRow>,
}

impl FactGroup {
    /// How many rows differ between the variants.
    pub(super) fn differing(&self) -> usize {
        self.rows.iter().filter(|row| row.differs).count()
    }
}

/// One fact under every variant.
pub(super) struct FactRow {
    /// The key in the record's JSON.
    pub(super) key: String,
    /// One value per variant.
    pub(super) values: Vec<String>,
    /// Whether the variants differ.
    pub(super) differs: bool,
}

/// A value per key.
type Facts = BTreeMap<String, String>;

/// What is measured anew in each run and never twice the same.
const VOLATILE: [&str; 6] = [
    "clock.drift_ppm",
    "clock.overhead_ns",
    "clock.resolution_ns",
    "clock.ticks_per_sec",
    "noise_",
    "involuntary_switches",
];

/// The parameters of a workload, as asked.
pub(super) fn parameters(campaign: &Campaign, workload: &str) -> FactGroup {
    let specs = campaign.workloads.iter().find(|known| known.name == workload).map(|known| &known.specs);
    let columns: Vec<Vec<Facts>> = campaign
        .variants
        .iter()
        .map(|variant| {
            specs
                .and_then(|specs| specs.get(&variant.name))
                .map(|spec| facts(spec, "not set"))
                .into_iter()
                .collect()
        })
        .collect();
    FactGroup { title: format!("Parameters of {workload}, as asked"), rows: rows(&columns) }
}

/// What was granted and where it ran: one group for the device's grants, one per side.
pub(super) fn environment(campaign: &Campaign) -> Vec<FactGroup> {
    let group = |title: &str, part: fn(&RunRecord) -> Option<Facts>| {
        let columns: Vec<Vec<Facts>> = campaign
            .variants
            .iter()
            .map(|variant| runs_of(campaign, &variant.name).filter_map(|run| part(&run.record)).collect())
            .collect();
        FactGroup { title: title.into(), rows: rows(&columns) }
    };
    let groups = [
        group("Granted by the devices", |record| record.granted.as_ref().map(known)),
        group("Requester", |record| record.requester.as_ref().map(known)),
        group("Responder", |record| record.responder.as_ref().map(known)),
    ];
    groups.into_iter().filter(|group| !group.rows.is_empty()).collect()
}

/// What changed between runs of one variant though nothing asked for it, in sentences.
pub(super) fn unasked_changes(campaign: &Campaign) -> Vec<String> {
    let mut changes = Vec::new();
    for variant in &campaign.variants {
        for (side, part) in SIDES {
            let runs: Vec<Facts> =
                runs_of(campaign, &variant.name).filter_map(|run| part(&run.record)).collect();
            for (key, values) in by_key(&runs) {
                if values.len() > 1 && !VOLATILE.iter().any(|volatile| key.contains(volatile)) {
                    changes.push(format!("{}, {side} {key}: {}", variant.name, counted(&values)));
                }
            }
        }
    }
    changes
}

type Part = fn(&RunRecord) -> Option<Facts>;
const SIDES: [(&str, Part); 2] = [
    ("requester", |record| record.requester.as_ref().map(settled)),
    ("responder", |record| record.responder.as_ref().map(settled)),
];

/// What should be the same in every run of a variant: a thread that was not pinned may be seen anywhere.
fn settled(side: &SideRecord) -> Facts {
    let mut facts = known(side);
    if side.placement.cpu_pinned.is_none() {
        facts.remove("placement.cpus_seen");
    }
    facts
}

fn runs_of<'c>(campaign: &'c Campaign, variant: &'c str) -> impl Iterator<Item = &'c CampaignRun> {
    campaign.runs.iter().filter(move |run| run.variant == variant)
}

/// One row per key; each column holds the facts of a variant's runs.
fn rows(columns: &[Vec<Facts>]) -> Vec<FactRow> {
    let columns: Vec<_> = columns.iter().map(|runs| by_key(runs)).collect();
    let keys: std::collections::BTreeSet<&String> = columns.iter().flat_map(|column| column.keys()).collect();
    keys.into_iter()
        .map(|key| {
            let values: Vec<String> =
                columns.iter().map(|column| column.get(key).map_or_else(String::new, summary)).collect();
            let volatile = VOLATILE.iter().any(|volatile| key.contains(volatile));
            let differs = !volatile && values.windows(2).any(|two| two[0] != two[1]);
            FactRow { key: key.clone(), values, differs }
        })
        .collect()
}

/// How often each value of each key occurs.
fn by_key(runs: &[Facts]) -> BTreeMap<String, BTreeMap<String, u32>> {
    let mut keys: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for (key, value) in runs.iter().flatten() {
        *keys.entry(key.clone()).or_default().entry(value.clone()).or_default() += 1;
    }
    keys
}

/// One value as it is, several numbers as their range, several texts with their counts.
fn summary(values: &BTreeMap<String, u32>) -> String {
    if let (1, Some((value, _))) = (values.len(), values.first_key_value()) {
        return value.clone();
    }
    let numbers: Option<Vec<f64>> = values.keys().map(|value| value.parse().ok()).collect();
    match numbers {
        Some(mut numbers) => {
            numbers.sort_by(f64::total_cmp);
            format!("{} to {}", numbers[0], numbers[numbers.len() - 1])
        }
        None => counted(values),
    }
}

fn counted(values: &BTreeMap<String, u32>) -> String {
    const MOST: usize = 4;
    let some =
        values.iter().take(MOST).map(|(value, runs)| format!("{value} ({})", number::counted(*runs, "run")));
    let mut text = some.collect::<Vec<_>>().join(", ");
    if values.len() > MOST {
        text.push_str(&format!(" and {} others", values.len() - MOST));
    }
    text
}

/// What a record says; null is what could not be read.
fn known(of: &impl Serialize) -> Facts {
    facts(of, "not known")
}

fn facts(of: &impl Serialize, unknown: &str) -> Facts {
    let mut facts = Facts::new();
    let value = serde_json::to_value(of).expect("records have string keys only");
    flatten("", &value, unknown, &mut facts);
    facts
}

fn flatten(key: &str, value: &Value, unknown: &str, facts: &mut Facts) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                flatten(&key, value, unknown, facts);
            }
        }
        Value::Null => {
            facts.insert(key.to_owned(), unknown.to_owned());
        }
        leaf => {
            facts.insert(key.to_owned(), text(key, leaf));
        }
    }
}

/// A value in the unit its key ends in.
fn text(key: &str, value: &Value) -> String {
    let sized = |whole: u64| match key {
        key if key.ends_with("_ns") => Nanos(whole).to_string(),
        key if key.ends_with("_bytes") => Bytes(whole).to_string(),
        key if key.ends_with("_bits_per_sec") => BitsPerSec(whole).to_string(),
        _ => whole.to_string(),
    };
    match value {
        Value::Null => "not known".into(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), sized),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) => items.iter().map(|item| text(key, item)).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name} {}", text(name, value)));
            fields.collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sample;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_thread_that_was_not_pinned_may_be_seen_anywhere() {
        let mut side = crate::testing::side(schema::Side::Responder);
        assert!(settled(&side).contains_key("placement.cpus_seen"));
        side.placement.cpu_pinned = None;
        assert!(!settled(&side).contains_key("placement.cpus_seen"));
    }

    #[test]
    fn what_the_variants_set_differs_and_the_rest_does_not() {
        let group = parameters(&Sample::default().campaign(), "write");
        let differing: Vec<_> = group
            .rows
            .iter()
            .filter(|row| row.differs)
            .map(|row| (row.key.as_str(), &row.values[..]))
            .collect();
        assert_eq!(differing, [("tx_depth", &["16".to_owned(), "128".to_owned()][..])]);
        let duration = group.rows.iter().find(|row| row.key == "stop.duration_ns").unwrap();
        assert_eq!(duration.values, ["2s", "2s"]);
    }

    #[test]
    fn a_kernel_updated_half_way_is_called_out() {
        let mut campaign = Sample { blocks: 4, ..Sample::default() }.campaign();
        assert_eq!(unasked_changes(&campaign), Vec::<String>::new());
        for run in campaign.runs.iter_mut().filter(|run| run.block > 2 && run.variant == "deep") {
            run.record.responder.as_mut().unwrap().host.kernel = "6.12.49".into();
        }
        assert_eq!(
            unasked_changes(&campaign),
            ["deep, responder host.kernel: 6.12.48 (3 runs), 6.12.49 (1 run)"]
        );
    }

    #[test]
    fn numbers_that_vary_are_a_range() {
        let values = ["0.3", "0.25", "12"].map(|value| (value.to_owned(), 1));
        assert_eq!(summary(&BTreeMap::from(values)), "0.25 to 12");
    }
}
