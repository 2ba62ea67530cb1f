//! Reads a suite file and the scenarios it names, and collects what is wrong with it.

use std::path::Path;

use reports::history::Rules;
use schema::Metric;

use super::{Entry, Kept, Suite, WrittenLimit, limit};
use crate::{
    scenario::{Section, read_question, read_tables},
    suite::{self, Named, SuiteError, Wrong},
};

/// The median of fewer runs follows a single bad one too easily to be a night's value.
pub const FEWEST_RUNS: u32 = 5;
const MOST_RUNS: u64 = 1_000;
/// Nights: a fence over fewer has no quartiles.
const FEWEST_NIGHTS: u64 = 4;
const MOST_NIGHTS: u64 = 365;

/// Reads and checks a suite file.
pub fn load(file: &Path) -> Result<Suite, SuiteError> {
    parse(file, suite::text_of(file, "scenarios/nightly/soft.toml")?)
}

/// Reads and checks the text of a suite file; scenarios are looked for from its folder on.
pub fn parse(file: &Path, source: String) -> Result<Suite, SuiteError> {
    suite::parse(file, &source, |root, wrong| read(root, file, source.clone(), wrong))
}

/// By what nights are judged, from the text that their suite had; the scenarios it names need not be there any more.
pub fn rules(file: &Path, source: &str) -> Result<Rules, SuiteError> {
    read_tables(file, source, |root, _| Some(read_rules(root))).map_err(SuiteError::Faults)
}

fn read(root: &Section<'_>, file: &Path, source: String, wrong: &Wrong) -> Option<Suite> {
    let question = read_question(root, "suite", "Is this rack as fast as it was last night?");
    let runs = read_runs(root).unwrap_or(FEWEST_RUNS);
    let folder = file.parent().unwrap_or(Path::new(""));
    let tables = root.sections("scenarios");
    let entry = |table: &Section<'_>| {
        let runs = read_runs(table).unwrap_or(runs);
        suite::read_named(table, folder, runs, never_compared, wrong).map(|named| (named, runs))
    };
    let (named, runs): (Vec<Named>, Vec<u32>) = tables.iter().filter_map(entry).unzip();
    let limits: Vec<(Section<'_>, WrittenLimit)> = root
        .sections("limits")
        .into_iter()
        .filter_map(|table| limit::read(&table).map(|limit| (table, limit)))
        .collect();
    let rules = read_rules(root);
    root.finish();
    if tables.is_empty() {
        suite::no_scenario(root);
    }
    suite::refuse_twins(root, &named);
    let whole = named.len() == tables.len();
    let entries: Vec<Entry> =
        named.into_iter().zip(runs).map(|(named, runs)| entry_of(named, runs)).collect();
    if whole {
        limit::check(&limits, &entries);
    }
    Some(Suite {
        name: file.file_stem()?.to_string_lossy().into_owned(),
        file: file.to_owned(),
        source,
        question: question?,
        entries,
        limits: limits.into_iter().map(|(_, limit)| limit).collect(),
        rules,
    })
}

fn read_runs(section: &Section<'_>) -> Option<u32> {
    let runs = section.whole("runs", 1, MOST_RUNS)?;
    if runs.value < u64::from(FEWEST_RUNS) {
        let what = format!(
            "{} are too few: a night's value is the median of its runs, and of fewer than {FEWEST_RUNS} one or two bad ones move it",
            runs.value
        );
        section.fault("runs", runs.span, what);
        return None;
    }
    Some(runs.value as u32)
}

/// Why a metric is kept by no suite of nights.
fn never_compared(metric: Metric) -> Option<&'static str> {
    let why = "is reported, never compared: a run of ordinary length has too few samples beyond it";
    (metric == Metric::P99_99).then_some(why)
}

/// The variant, with every number that is kept of its runs.
fn entry_of(named: Named, runs: u32) -> Entry {
    let mut points = Vec::new();
    for (workload, spec) in named.specs() {
        let metrics = named.metrics_of(spec.test);
        for msg_bytes in &spec.msg_bytes {
            let point = |metric: &Metric| Kept {
                workload: workload.to_owned(),
                msg_bytes: *msg_bytes,
                metric: *metric,
            };
            points.extend(metrics.iter().map(point));
        }
    }
    Entry { variant: named.variant().to_owned(), scenario: named.scenario, runs, points }
}

fn read_rules(root: &Section<'_>) -> Rules {
    let mut rules = Rules::default();
    let Some(section) = root.section("rules") else { return rules };
    rules.smallest_change = section.share("smallest_change");
    if let Some(nights) = section.whole("nights_to_start", FEWEST_NIGHTS, MOST_NIGHTS) {
        rules.nights_to_start = nights.value as u32;
    }
    rules.baseline = section.text("baseline").map(|name| name.value);
    section.finish();
    rules
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use schema::Bytes;

    use super::*;

    const SCENARIO: &str = "question = \"How fast?\"\n[hosts.requester]\ndevice = \"soft\"\n[soft]\nmodel = \"rate=1Gbps\"\n[[workloads]]\nname = \"w\"\ntest = \"bandwidth\"\nop = \"write\"\nsize = [\"4Ki\", \"64Ki\"]\n[[workloads]]\nname = \"l\"\ntest = \"latency\"\nop = \"write\"\n[[variants]]\nname = \"plain\"\nbaseline = true\n[[variants]]\nname = \"other\"\npost_api = \"extended\"\n";
    const GOOD: &str = r#"
question = "As fast as it was?"
runs = 6
[[scenarios]]
file = "link.toml"
[[scenarios]]
file = "link.toml"
variant = "other"
runs = 9
metrics = ["bandwidth", "p99.9"]
[[limits]]
variant = "plain"
workload = "w"
size = "64Ki"
metric = "bandwidth"
at_least = "93 %"
[[limits]]
variant = "plain"
metric = "p50"
at_most = "2.5us"
[rules]
smallest_change = "4%"
nights_to_start = 7
baseline = "before-the-move"
"#;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("link.toml"), SCENARIO).unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("deep/link.toml"), SCENARIO.replace("1Gbps", "2Gbps")).unwrap();
        fs::write(folder.path().join("wrong.toml"), SCENARIO.replace("size", "siez")).unwrap();
        folder
    }

    fn read(text: &str) -> Result<Suite, String> {
        let folder = folder();
        let file: PathBuf = folder.path().join("rack.toml");
        parse(&file, text.to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_suite_is_read_as_written() {
        let suite = read(GOOD).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((suite.name.as_str(), suite.question.as_str()), ("rack", "As fast as it was?"));
        let entries: Vec<(String, u32)> =
            suite.entries.iter().map(|entry| (entry.name(), entry.runs)).collect();
        assert_eq!(entries, [("link/plain".into(), 6), ("link/other".into(), 9)]);
        let rules =
            (suite.rules.smallest_change, suite.rules.nights_to_start, suite.rules.baseline.as_deref());
        assert_eq!(rules, (Some(0.04), 7, Some("before-the-move")));
        let worst: Vec<super::super::Worst> = suite.limits.iter().map(|limit| limit.worst).collect();
        assert_eq!(worst, [super::super::Worst::OfExpected(0.93), super::super::Worst::Value(2_500.0)]);
    }

    #[test]
    fn the_rules_of_a_kept_text_are_those_of_the_suite() {
        let kept = |text: &str| rules(Path::new("kept"), text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(kept(GOOD), read(GOOD).unwrap_or_else(|error| panic!("{error}")).rules);
        assert_eq!(kept(""), Rules::default());
    }

    #[test]
    fn what_is_kept_is_one_number_a_test_and_the_tail_of_latency_unless_the_suite_says() {
        let suite = read(GOOD).unwrap_or_else(|error| panic!("{error}"));
        let kept = |entry: &Entry| -> Vec<String> {
            let point = |kept: &Kept| format!("{} {} {}", kept.workload, kept.msg_bytes, kept.metric);
            entry.points.iter().map(point).collect()
        };
        let usual = ["w 4Ki bandwidth", "w 64Ki bandwidth", "l 8 p50", "l 8 p99"];
        assert_eq!(kept(&suite.entries[0]), usual);
        let asked = ["w 4Ki bandwidth", "w 4Ki p99.9", "w 64Ki bandwidth", "w 64Ki p99.9", "l 8 p99.9"];
        assert_eq!(kept(&suite.entries[1]), asked);
        let on = |limit: usize| {
            let all =
                suite.entries.iter().flat_map(|entry| entry.points.iter().map(move |kept| (entry, kept)));
            all.filter(|(entry, kept)| suite.limits[limit].fits(entry, kept)).count()
        };
        assert_eq!((on(0), on(1)), (1, 1));
        assert_eq!(suite.entries[0].points[1].msg_bytes, Bytes(65_536));
    }

    #[test]
    fn every_refusal_names_its_field_and_its_place() {
        for (from, to, wanted) in [
            ("question = \"As fast as it was?\"", "", "question: is missing; a suite starts with"),
            ("runs = 6", "runs = 3", "runs: 3 are too few: a night's value is the median of its runs"),
            ("runs = 9", "runs = 4", "scenarios[1].runs: 4 are too few"),
            ("runs = 6", "rnus = 6", "rnus: is not a key of this table"),
            ("file = \"link.toml\"", "file = \"lnik.toml\"", "scenarios[0].file: reading"),
            ("file = \"link.toml\"", "", "scenarios[0].file: is missing"),
            (
                "variant = \"other\"",
                "variant = \"othre\"",
                "scenarios[1].variant: scenario `link` has no variant `othre`",
            ),
            (
                "variant = \"other\"",
                "",
                "scenarios[1].file: variant `plain` of this scenario is measured already",
            ),
            (
                "file = \"link.toml\"\nvariant",
                "file = \"deep/link.toml\"\nvariant",
                "scenarios[1].file: another scenario is called `link` already",
            ),
            ("\"p99.9\"]", "\"p98\"]", "scenarios[1].metrics: unknown metric `p98`"),
            ("\"p99.9\"]", "\"p99.99\"]", "scenarios[1].metrics: p99.99 is reported, never compared"),
            ("\"p99.9\"]", "\"bandwidth\"]", "scenarios[1].metrics: bandwidth is given twice"),
            (
                "metrics = [\"bandwidth\", \"p99.9\"]",
                "metrics = 1",
                "scenarios[1].metrics: must be an array of texts",
            ),
            ("at_least = \"93 %\"", "at_most = \"93 %\"", "limits[0].at_most: says nothing of bandwidth"),
            ("at_least = \"93 %\"", "", "limits[0].at_least: is missing"),
            ("at_least = \"93 %\"", "at_least = \"130 %\"", "limits[0].at_least: `130 %` must be above 0 %"),
            ("at_least = \"93 %\"", "at_least = \"93G\"", "limits[0].at_least: rate `93G`: unknown unit"),
            (
                "at_most = \"2.5us\"",
                "at_most = \"93 %\"",
                "limits[1].at_most: a share is of the payload rate",
            ),
            ("at_most = \"2.5us\"", "at_most = \"2.5\"", "limits[1].at_most: duration `2.5` has no unit"),
            ("size = \"64Ki\"", "size = \"1Ki\"", "limits[0]: is on nothing that the suite measures"),
            (
                "metric = \"p50\"\nat_most = \"2.5us\"",
                "metric = \"bandwidth\"\nat_least = \"1Gbps\"",
                "limits[1]: link/plain/w at 64Ki has a limit on bandwidth already",
            ),
            ("nights_to_start = 7", "nights_to_start = 2", "rules.nights_to_start: 2 is outside 4..=365"),
            ("smallest_change = \"4%\"", "smallest_change = 4", "rules.smallest_change: must be a share"),
            ("smallest_change", "smalest_change", "rules.smalest_change: is not a key of this table"),
            ("[[limits]]", "[[limist]]", "limist: is not a key of this table"),
            ("[rules]", "[rules", "rack.toml:"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let text = read(&GOOD.replacen(from, to, 1)).err().unwrap_or_else(|| panic!("{to} was accepted"));
            assert!(text.contains(wanted), "{to}: wanted {wanted}, got:\n{text}");
            assert!(text.contains("rack.toml:") && text.contains('^'), "{to}:\n{text}");
        }
    }

    #[test]
    fn a_near_miss_is_offered() {
        let offered = |from: &str, to: &str| read(&GOOD.replacen(from, to, 1)).err().unwrap();
        assert!(offered("variant = \"other\"", "variant = \"othre\"").contains("did you mean `other`?"));
        assert!(offered("[[limits]]", "[[limist]]").contains("did you mean `limits`?"));
    }

    #[test]
    fn what_is_wrong_with_a_scenario_is_shown_in_its_own_file() {
        let text = read(&GOOD.replacen("link.toml", "wrong.toml", 1)).err().unwrap();
        assert!(text.contains("wrong.toml:") && text.contains("did you mean `size`?"), "{text}");
    }

    #[test]
    fn a_suite_of_nothing_is_refused() {
        let text = read("question = \"x\"").err().unwrap();
        assert!(text.contains("scenarios: there is none"), "{text}");
        let missing = load(Path::new("/nowhere/rack.toml")).err().unwrap().to_string();
        assert!(missing.contains("/nowhere/rack.toml") && missing.contains("soft.toml"), "{missing}");
    }

    #[test]
    fn the_shipped_suites_are_read_and_listed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/nightly");
        let readme = include_str!("../../../../scenarios/README.md");
        for name in ["soft", "roce"] {
            let suite = load(&folder.join(format!("{name}.toml"))).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(suite.source.lines().next(), Some(format!("# {}", suite.question).as_str()), "{name}");
            assert!(readme.contains(&format!("nightly/{name}.toml | {}", suite.question)), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_change_to_a_good_file_panics(at in 0usize..GOOD.len(), junk in "[\\[\\]=\"\\n.a0%]{0,3}", cut in 0usize..6) {
            let end = (at + cut).min(GOOD.len());
            let _ = read(&format!("{}{junk}{}", &GOOD[..at], &GOOD[end..]));
        }
    }
}
