//! The exports of a judged night, compared with what they were. `UPDATE_GOLDEN=1 cargo test -p reports` writes them anew.

mod common;

use std::{collections::HashSet, fs, path::Path};

use proptest::prelude::*;
use reports::{
    export::night::{self, Format},
    history::SeriesState,
    testing::{awkward_night, night_history, night_report, quiet_night_report},
};
use serde_json::Value;

fn golden(name: &str, text: &str) {
    common::golden(&format!("nights/{name}"), text);
}

#[test]
fn a_night_with_every_kind_of_finding() {
    let (history, report) = (night_history(), night_report());
    for format in Format::ALL.into_iter().filter(|format| ![Format::Csv, Format::Json].contains(format)) {
        golden(format.file(), &format.of(&history, &report));
    }
}

#[test]
fn a_night_with_nothing_to_say() {
    let report = quiet_night_report();
    for format in [Format::Markdown, Format::GithubAnnotations] {
        golden(&format!("quiet-{}", format.file()), &format.of(&night_history(), &report));
    }
}

#[test]
fn the_runs_behind_a_night() {
    let mut history = night_history();
    history.nights.drain(..18);
    golden("runs.csv", &night::long_csv(&history));
}

/// What is written here is read by the tools it is for, in the end-to-end tests.
#[test]
fn names_that_mean_something_to_a_format() {
    let (history, report) = awkward_night();
    for format in Format::ALL.into_iter().filter(|format| *format != Format::Json) {
        golden(&format!("awkward/{}", format.file()), &format.of(&history, &report));
    }
}

fn names_in(text: &str) -> HashSet<String> {
    let word = |rest: &str| {
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_')).unwrap_or(rest.len());
        rest[..end].to_owned()
    };
    text.match_indices("rdma_bench_").map(|(at, _)| word(&text[at..])).collect()
}

#[test]
fn the_dashboard_asks_for_what_is_exported_and_for_nothing_else() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/grafana-dashboard.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let queries: Vec<&str> = dashboard["panels"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap())
        .map(|target| target["expr"].as_str().unwrap())
        .collect();
    let asked = names_in(&(queries.join("\n") + &dashboard["templating"].to_string()));
    let exported = names_in(&night::prometheus(&night_report()));
    assert!(asked.len() > 10, "{asked:?}");
    assert!(asked.is_subset(&exported), "not exported: {:?}", asked.difference(&exported));
}

#[test]
fn every_sample_in_the_documentation_is_out_of_a_real_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../docs/outputs.md")).unwrap();
    let mut samples = 0;
    let fences: Vec<&str> = page.split("```").collect();
    for fence in fences.iter().skip(1).step_by(2) {
        let (head, body) = fence.split_once('\n').unwrap();
        let Some((_, file)) = head.split_once(' ') else { continue };
        let folder = if file.starts_with("clusters/") { "tests/golden" } else { "tests/golden/nights" };
        let real = fs::read_to_string(root.join(folder).join(file)).unwrap();
        let mut rest = real.lines();
        for line in body.lines().filter(|line| *line != "…") {
            assert!(rest.any(|real| real == line), "{file} has no such line there: {line}");
        }
        samples += 1;
    }
    assert_eq!(samples, 13);
}

/// A line of Prometheus' text format, read as its grammar says: a name, labels with escapes, a number.
fn is_sample(line: &str) -> bool {
    let Some((_, labels)) = line.split_once('{') else { return false };
    let mut chars = labels.chars();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => match chars.next() {
                Some('\\' | '"' | 'n') => {}
                _ => return false,
            },
            '"' => quoted = !quoted,
            '}' if !quoted => return chars.as_str().trim_start().parse::<f64>().is_ok(),
            _ => {}
        }
    }
    false
}

/// Any text, with more than its share of what means something to one form or another.
fn name() -> impl Strategy<Value = String> {
    let telling = prop::sample::select("\n\r\t\"'\\,;:%<>&|{}=#".chars().collect::<Vec<char>>());
    prop::collection::vec(prop_oneof![any::<char>(), telling], 0..20).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_name_breaks_out_of_its_place(names in prop::array::uniform4(name())) {
        let mut report = night_report();
        let [suite, workload, host, why] = names;
        report.suite.clone_from(&suite);
        for series in &mut report.series {
            series.key.workload.clone_from(&workload);
            series.key.requester.host.clone_from(&host);
            if let SeriesState::NotMeasured { why: known } = &mut series.state {
                known.clone_from(&why);
            }
        }
        let metrics = night::prometheus(&report);
        let samples: Vec<&str> = metrics.split('\n').filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        prop_assert!(samples.iter().all(|line| is_sample(line)), "{metrics}");
        prop_assert_eq!(samples.len(), night::prometheus(&night_report()).lines().filter(|line| !line.starts_with('#')).count());
        let annotations = night::github_annotations(&report);
        prop_assert_eq!(annotations.split('\n').count(), 1 + 5 + 1 + 1);
        let table = night::wide_csv(&report);
        let rows: Vec<usize> =
            csv::Reader::from_reader(table.as_bytes()).records().map(|row| row.unwrap().len()).collect();
        prop_assert_eq!(rows, vec![4 + report.series.len(); report.nights.len()]);
        let benchmarks: Value = serde_json::from_str(&night::bencher(&report)).unwrap();
        let measures = benchmarks.as_object().unwrap().values().map(|measures| measures.as_object().unwrap().len());
        prop_assert_eq!(measures.sum::<usize>(), 11);
        let cases = night::junit(&report);
        prop_assert_eq!(cases.matches("<testcase ").count(), report.series.len());
    }
}
