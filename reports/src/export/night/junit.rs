//! JUnit XML, as CI servers show it: a suite a scenario, a case a series. A regression is a failure, what could not be measured
//! an error, what nobody can tell yet is skipped.

use std::collections::HashMap;

use schema::SeriesKey;

use super::series::{measured, names};
use crate::{
    export::junit::{Case, Document, Outcome, Said, Suite, named, xml},
    history::{NightReport, SeriesReport, SeriesState},
    render::{history::told, number},
};

/// The night.
pub fn junit(report: &NightReport) -> String {
    let names = names(report, SeriesKey::to_string);
    let mut scenarios: Vec<&str> = report.series.iter().map(|series| series.key.scenario.as_str()).collect();
    scenarios.sort_unstable();
    scenarios.dedup();
    let suites = scenarios.into_iter().map(|scenario| suite(report, scenario, &names)).collect();
    Document { suites }.text()
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
}
