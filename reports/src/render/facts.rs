//! Parameters and environment as rows of text: what every variant asked, was granted and ran on, and where that differs.
//!
//! Rows are made from the records' JSON, so that a field added to a record is in the report without a line of code here, and
//! under the name the record format documents.

use std::collections::{BTreeMap, BTreeSet};

use schema::{BitsPerSec, Bytes, Campaign, Nanos, RunRecord, SideRecord, Variant};
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
    let column = |variant: &Variant| {
        let mut column = Tally::default();
        let spec = specs.and_then(|specs| specs.get(&variant.name));
        spec.into_iter().for_each(|spec| column.add(facts(spec, "not set")));
        column
    };
    let columns: Vec<Tally> = campaign.variants.iter().map(column).collect();
    let rows = rows(&columns.iter().collect::<Vec<_>>());
    FactGroup { title: format!("Parameters of {workload}, as asked"), rows }
}

/// What the runs of each variant were granted and ran on, read once.
pub(super) struct Environment<'c> {
    variants: Vec<(&'c str, [Tally; 3])>,
}

/// The parts of a record that tell where it ran, with the title of each.
const PARTS: [(&str, Part); 3] = [
    ("Granted by the devices", |record| record.granted.as_ref().map(known)),
    ("Requester", |record| record.requester.as_ref().map(of_side)),
    ("Responder", |record| record.responder.as_ref().map(of_side)),
];
type Part = fn(&RunRecord) -> Option<Facts>;

impl<'c> Environment<'c> {
    pub(super) fn of(campaign: &'c Campaign) -> Self {
        let mut variants: Vec<(&str, [Tally; 3])> =
            campaign.variants.iter().map(|variant| (variant.name.as_str(), Default::default())).collect();
        for run in &campaign.runs {
            let Some((_, tallies)) = variants.iter_mut().find(|(name, _)| *name == run.variant) else {
                continue;
            };
            for ((_, part), tally) in PARTS.iter().zip(tallies) {
                part(&run.record).into_iter().for_each(|facts| tally.add(facts));
            }
        }
        Environment { variants }
    }

    /// One group for the device's grants, one per side.
    pub(super) fn groups(&self) -> Vec<FactGroup> {
        let group = |(part, (title, _)): (usize, &(&str, Part))| {
            let columns: Vec<&Tally> = self.variants.iter().map(|(_, tallies)| &tallies[part]).collect();
            FactGroup { title: (*title).into(), rows: rows(&columns) }
        };
        PARTS.iter().enumerate().map(group).filter(|group| !group.rows.is_empty()).collect()
    }

    /// What changed between runs of one variant though nothing asked for it, in sentences.
    pub(super) fn unasked_changes(&self) -> Vec<String> {
        let mut changes = Vec::new();
        for (variant, [_, requester, responder]) in &self.variants {
            for (side, tally) in [("requester", requester), ("responder", responder)] {
                let changed = tally.0.iter().filter(|(key, values)| {
                    values.len() > 1 && tally.settles(key) && !key.starts_with("gid_table")
                });
                changes.extend(
                    changed.map(|(key, values)| format!("{variant}, {side} {key}: {}", counted(values))),
                );
            }
        }
        changes
    }
}

/// How often each value of each key occurs in the runs of a variant.
#[derive(Default)]
struct Tally(BTreeMap<String, BTreeMap<String, u32>>);

impl Tally {
    fn add(&mut self, facts: Facts) {
        for (key, value) in facts {
            *self.0.entry(key).or_default().entry(value).or_default() += 1;
        }
    }

    /// Whether a fact should be the same in every run. A thread that was not pinned may be seen anywhere.
    fn settles(&self, key: &str) -> bool {
        let pinned = || {
            let places = self.0.get("placement.cpu_pinned");
            places.is_some_and(|places| places.keys().any(|place| place != UNKNOWN))
        };
        !VOLATILE.iter().any(|volatile| key.contains(volatile)) && (key != "placement.cpus_seen" || pinned())
    }
}

/// Entries of the GID table that the run did not use: they come and go with addresses, and change nothing.
const OTHER_GIDS: &str = "gid_table.";

/// What a side's record says, with the GIDs that it did not use apart.
fn of_side(side: &SideRecord) -> Facts {
    let mut facts = known(side);
    let used = side.gid.as_ref().map(|gid| gid.index);
    let entries = number::counted_as(side.gid_table.len() as u32, "entry", "entries");
    facts.insert("gid_table".into(), if side.gid_table.is_empty() { "none".into() } else { entries });
    for entry in side.gid_table.iter().filter(|entry| Some(entry.index) != used) {
        let netdev = entry.netdev.as_deref().unwrap_or("no netdev");
        let text = format!("{} {} {netdev}", entry.gid, entry.gid_type);
        facts.insert(format!("{OTHER_GIDS}{}", entry.index), text);
    }
    facts
}

/// One row per key; each column holds the facts of a variant's runs.
fn rows(columns: &[&Tally]) -> Vec<FactRow> {
    let keys: BTreeSet<&String> = columns.iter().flat_map(|column| column.0.keys()).collect();
    let (others, keys): (Vec<_>, Vec<_>) = keys.into_iter().partition(|key| key.starts_with(OTHER_GIDS));
    let row = |key: &String| {
        let values: Vec<String> =
            columns.iter().map(|column| column.0.get(key).map_or_else(String::new, summary)).collect();
        let may_differ = columns.iter().any(|column| column.settles(key));
        let differs = may_differ && values.windows(2).any(|two| two[0] != two[1]);
        FactRow { key: key.clone(), values, differs }
    };
    let differing = others.into_iter().filter(|key| row(key).differs).count();
    let mut rows: Vec<FactRow> = keys.into_iter().map(row).collect();
    if let Some(table) = rows.iter_mut().find(|row| row.key == "gid_table").filter(|_| differing > 0) {
        let note = format!("; {differing} not in use {}", if differing == 1 { "differs" } else { "differ" });
        table.values.iter_mut().for_each(|value| value.push_str(&note));
        table.differs = false;
    }
    rows
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

/// What stands for a null in a record: it could not be read.
const UNKNOWN: &str = "not known";

fn known(of: &impl Serialize) -> Facts {
    facts(of, UNKNOWN)
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
        Value::Null => UNKNOWN.into(),
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

    fn changes(campaign: &Campaign) -> Vec<String> {
        Environment::of(campaign).unasked_changes()
    }

    #[test]
    fn a_thread_that_was_not_pinned_may_be_seen_anywhere() {
        let mut campaign = Sample { blocks: 2, ..Sample::default() }.campaign();
        let last = campaign.runs.iter().rposition(|run| run.variant == "deep").unwrap();
        campaign.runs[last].record.responder.as_mut().unwrap().placement.cpus_seen = vec![7];
        assert_eq!(changes(&campaign), ["deep, responder placement.cpus_seen: 3 (1 run), 7 (1 run)"]);
        for run in &mut campaign.runs {
            run.record.responder.as_mut().unwrap().placement.cpu_pinned = None;
        }
        assert_eq!(changes(&campaign), Vec::<String>::new());
    }

    #[test]
    fn gids_that_no_run_used_are_counted_and_called_no_difference() {
        let mut campaign = Sample { blocks: 2, ..Sample::default() }.campaign();
        let entry = |index: u32, gid: &str| schema::record::GidRecord {
            index,
            gid: gid.into(),
            gid_type: "RoCE v2".into(),
            netdev: Some("eth0".into()),
            note: String::new(),
        };
        for run in &mut campaign.runs {
            let side = run.record.requester.as_mut().unwrap();
            side.gid = Some(entry(1, "::ffff:10.0.0.1"));
            side.gid_table = vec![entry(0, "fe80::1"), entry(1, "::ffff:10.0.0.1")];
            if run.variant == "deep" {
                side.gid_table.push(entry(2, &format!("fe80::{}", run.block)));
            }
        }
        let environment = Environment::of(&campaign);
        assert_eq!(environment.unasked_changes(), Vec::<String>::new());
        let groups = environment.groups();
        let requester = groups.iter().find(|group| group.title == "Requester").unwrap();
        assert_eq!(requester.differing(), 0);
        assert!(!requester.rows.iter().any(|row| row.key.starts_with("gid_table.")));
        let table = requester.rows.iter().find(|row| row.key == "gid_table").unwrap();
        assert_eq!(table.values, ["2 entries; 1 not in use differs", "3 entries; 1 not in use differs"]);
        let used = requester.rows.iter().find(|row| row.key == "gid.gid").unwrap();
        assert_eq!(used.values, ["::ffff:10.0.0.1", "::ffff:10.0.0.1"]);
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
        assert_eq!(changes(&campaign), Vec::<String>::new());
        for run in campaign.runs.iter_mut().filter(|run| run.block > 2 && run.variant == "deep") {
            run.record.responder.as_mut().unwrap().host.kernel = "6.12.49".into();
        }
        assert_eq!(changes(&campaign), ["deep, responder host.kernel: 6.12.48 (3 runs), 6.12.49 (1 run)"]);
    }

    #[test]
    fn numbers_that_vary_are_a_range() {
        let values = ["0.3", "0.25", "12"].map(|value| (value.to_owned(), 1));
        assert_eq!(summary(&BTreeMap::from(values)), "0.25 to 12");
    }
}
