//! JUnit XML, as CI servers show it: a suite a scenario, a case a series. A regression is a failure, what could not be measured
//! an error, what nobody can tell yet is skipped.
//!
//! The schema of Ant's files is met. It lets no case have properties, so the numbers of the cases are properties of their suite,
//! named after the case.

use std::collections::HashMap;

use askama::Template;
use schema::SeriesKey;

use super::series::{measured, names};
use crate::{
    history::{NightReport, SeriesReport, SeriesState},
    render::{history::told, number},
};

#[derive(Template)]
#[template(path = "junit.xml")]
struct Document {
    suites: Vec<Suite>,
}

struct Suite {
    name: String,
    package: String,
    timestamp: String,
    cases: Vec<Case>,
    properties: Vec<(String, String)>,
}

struct Case {
    name: String,
    classname: String,
    outcome: Outcome,
}

enum Outcome {
    Passed,
    Failed(Said),
    Errored(Said),
    Skipped(Said),
}

struct Said {
    kind: &'static str,
    message: String,
    text: String,
}

impl Suite {
    fn count(&self, is: fn(&Outcome) -> bool) -> usize {
        self.cases.iter().filter(|case| is(&case.outcome)).count()
    }

    fn failures(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    fn errors(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Errored(_)))
    }

    fn skipped(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Skipped(_)))
    }
}

/// The night.
pub fn junit(report: &NightReport) -> String {
    let names = names(report, SeriesKey::to_string);
    let mut scenarios: Vec<&str> = report.series.iter().map(|series| series.key.scenario.as_str()).collect();
    scenarios.sort_unstable();
    scenarios.dedup();
    let suites = scenarios.into_iter().map(|scenario| suite(report, scenario, &names)).collect();
    Document { suites }.render().expect("the template only fills in texts") + "\n"
}

fn suite(report: &NightReport, scenario: &str, names: &HashMap<i64, String>) -> Suite {
    let mine = |series: &&SeriesReport| series.key.scenario == scenario;
    let case = |series: &SeriesReport| Case {
        name: xml(&names[&series.id]),
        classname: xml(&format!("{}.{scenario}", report.suite)),
        outcome: outcome(report, series),
    };
    Suite {
        name: named(scenario),
        package: xml(&report.suite),
        timestamp: number::utc_iso(report.night.started_at_unix_ms).replace('Z', ""),
        cases: report.series.iter().filter(mine).map(case).collect(),
        properties: properties(report, scenario, names),
    }
}

/// A suite must have a name, though a table that was imported may have none for its scenario.
fn named(scenario: &str) -> String {
    if scenario.trim().is_empty() { "unnamed".to_owned() } else { xml(scenario) }
}

fn properties(report: &NightReport, scenario: &str, names: &HashMap<i64, String>) -> Vec<(String, String)> {
    let mut all = vec![("night".to_owned(), report.night.id.to_string())];
    if let Some(simulated) = told::simulated(report) {
        all.push(("simulated".to_owned(), xml(&simulated)));
    }
    let changed = told::changed_in(report, report.night.id);
    if !changed.is_empty() {
        all.push(("configuration".to_owned(), xml(&changed)));
    }
    for (series, point, value) in measured(report).filter(|(series, ..)| series.key.scenario == scenario) {
        let mut number =
            |what: &str, value: String| all.push((xml(&format!("{} {what}", names[&series.id])), value));
        number("value", value.to_string());
        number("unit", series.key.metric.unit().to_owned());
        number("runs", point.runs.to_string());
        if let Some(fence) = &series.fence {
            number("level", fence.level.to_string());
            number("distance", fence.distance.to_string());
            number("fence", fence.fence.to_string());
        }
    }
    all
}

fn outcome(report: &NightReport, series: &SeriesReport) -> Outcome {
    let said = |kind: &'static str, otherwise: &str| {
        let lines: Vec<String> = told::of_series(report, series)
            .iter()
            .map(|told| format!("{}: {}", told.word, told.line))
            .collect();
        let message = lines.first().cloned().unwrap_or_else(|| otherwise.to_owned());
        Said { kind, message: xml(&message), text: xml(&lines.join("\n")) }
    };
    match &series.state {
        SeriesState::Regressed => {
            Outcome::Failed(said("regressed", "the level is a regression's since an earlier night"))
        }
        SeriesState::NotMeasured { why } => Outcome::Errored(said("not_measured", why)),
        SeriesState::Suspected => Outcome::Skipped(said("suspected", "a change is suspected")),
        SeriesState::Learning { nights, of } => Outcome::Skipped(said(
            "learning",
            &format!("{nights} of {of} nights of this configuration: too few to tell"),
        )),
        SeriesState::Steady | SeriesState::Improved | SeriesState::Acknowledged => Outcome::Passed,
    }
}

/// What XML has no character for, replaced by the sign for that; the rest is escaped by the template.
fn xml(text: &str) -> String {
    let allowed =
        |c: char| matches!(c, '\t' | '\n' | '\r') || (c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'));
    text.chars().map(|c| if allowed(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{night_report, quiet_night_report};

    #[test]
    fn every_state_has_its_outcome() {
        let text = junit(&night_report());
        let count = |what: &str| text.matches(what).count();
        // Five regressed; one was not measured; two are suspected and one is young; the others pass.
        assert_eq!(
            (count("<testcase "), count("<failure "), count("<error "), count("<skipped ")),
            (12, 5, 1, 3)
        );
        assert!(!junit(&quiet_night_report()).contains("<failure "));
    }

    #[test]
    fn what_xml_cannot_hold_is_replaced_and_the_rest_escaped() {
        let mut report = night_report();
        report.series[0].key.workload = "a\u{1}<&\"'\u{ffff}ä".into();
        let text = junit(&report);
        assert!(text.contains("a\u{fffd}&#60;&#38;&#34;&#39;\u{fffd}ä"), "{text}");
        assert!(!text.contains('\u{1}'));
    }

    #[test]
    fn a_suite_without_a_name_gets_one() {
        assert_eq!(named(" "), "unnamed");
    }
}
