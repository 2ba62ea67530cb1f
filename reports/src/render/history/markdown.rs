//! A night as Markdown, for a ticket or the summary of a CI job: the verdict, what was found, what changed in configurations;
//! every series folded.

use std::fmt::Write as _;

use super::words;
use crate::{
    history::{NightFinding, NightReport, SeriesReport, SeriesState},
    render::{
        markdown::{escaped, folded, table},
        number,
    },
};

/// Rows of the folded table of series, at most: a ticket takes 64 KiB, and the history has them all.
const MOST_SERIES: usize = 200;

/// The night.
pub fn markdown(report: &NightReport) -> String {
    let mut text = String::new();
    head(&mut text, report);
    findings(&mut text, report);
    not_measured(&mut text, report);
    epochs(&mut text, report);
    series(&mut text, report);
    remarks(&mut text, report);
    rules(&mut text, report);
    text
}

fn head(text: &mut String, report: &NightReport) {
    let night = words::night(report, report.night.id);
    let _ = write!(text, "# {}, {night}\n\n", escaped(&report.suite));
    if let Some(simulated) = words::simulated(report) {
        let _ = write!(text, "> **{}**\n\n", escaped(&simulated));
    }
    let verdict = words::verdict(report.verdict);
    let _ = write!(text, "{} **{}.** {}.\n\n", verdict.sign, verdict.word, escaped(&words::claim(report)));
    if !report.configuration_changes.is_empty() {
        let changes = words::configuration_changes(&report.configuration_changes);
        let _ = write!(text, "Configuration changed this night: {}.\n\n", escaped(&changes));
    }
}

fn findings(text: &mut String, report: &NightReport) {
    if report.findings.is_empty() {
        return;
    }
    text.push_str("## Findings\n\n");
    let rows = report.findings.iter().flat_map(|finding| finding_rows(report, finding));
    table(text, &["", "since", "series", "how much", "how it was found"], rows);
    text.push('\n');
}

/// A row a member; what holds for the finding stands in its first.
fn finding_rows(report: &NightReport, finding: &NightFinding) -> Vec<Vec<String>> {
    let row = |(i, member): (usize, &crate::history::Member)| {
        let badge = words::finding(finding);
        let new = if finding.new { ", new" } else { "" };
        let since = words::night(report, finding.since);
        let head = [format!("{} {}{new}", badge.sign, badge.word), since];
        let [word, since] = if i == 0 { head } else { Default::default() };
        let name = words::series(report, member.series).map_or_else(String::new, |of| of.key.to_string());
        let how = words::how(finding, member.found_by, member.certainty);
        vec![word, since, name, words::how_much_of(report, member), how]
    };
    finding.members.iter().enumerate().map(row).collect()
}

fn not_measured(text: &mut String, report: &NightReport) {
    let lines: Vec<String> = report.series.iter().filter_map(missing).collect();
    if !lines.is_empty() {
        let _ = write!(text, "## Not measured\n\n{}\n\n", lines.join("\n"));
    }
}

fn missing(series: &SeriesReport) -> Option<String> {
    match &series.state {
        SeriesState::NotMeasured { why } => {
            Some(format!("- {}: {}", escaped(&series.key.to_string()), escaped(why)))
        }
        _ => None,
    }
}

fn epochs(text: &mut String, report: &NightReport) {
    let line = |night: &schema::Night| {
        let changes = words::changed_in(report, night.id);
        (!changes.is_empty()).then(|| format!("- {}: {}", words::night(report, night.id), escaped(&changes)))
    };
    let lines: Vec<String> = report.nights.iter().rev().filter_map(line).collect();
    if !lines.is_empty() {
        text.push_str("## Configurations\n\nNights are compared within one configuration.\n\n");
        let _ = write!(text, "{}\n\n", lines.join("\n"));
    }
}

fn series(text: &mut String, report: &NightReport) {
    let mut all: Vec<&SeriesReport> = report.series.iter().collect();
    all.sort_by_key(|series| words::rank(&series.state));
    let left_out = all.len().saturating_sub(MOST_SERIES);
    let shown = &all[..all.len() - left_out];
    folded(text, &format!("All {} series", all.len()), |text| {
        table(
            text,
            &["", "series", "this night", "level before", "distance", "fence"],
            shown.iter().map(|one| row(one)),
        );
        if left_out > 0 {
            let _ = write!(
                text,
                "\n{} more: `rdma-harness history`.\n",
                number::counted_as(left_out as u32, "series", "series")
            );
        }
        text.push('\n');
    });
}

fn row(series: &SeriesReport) -> Vec<String> {
    let badge = words::state(&series.state);
    let fence = series.fence.as_ref();
    let cell = |of: &dyn Fn(&crate::history::FenceReport) -> String| fence.map_or_else(String::new, of);
    vec![
        format!("{} {}", badge.sign, badge.word),
        series.key.to_string(),
        words::last(series),
        cell(&|fence| number::value(series.key.metric, fence.level)),
        cell(&|fence| number::change(fence.distance)),
        cell(&|fence| number::percent(fence.fence)),
    ]
}

fn remarks(text: &mut String, report: &NightReport) {
    let notes = report.notes.iter().map(|note| (note.night, note.text.clone()));
    let known = report.acknowledgements.iter().map(|known| (known.night, format!("known: {}", known.reason)));
    let mut all: Vec<(i64, String)> = notes.chain(known).collect();
    if all.is_empty() {
        return;
    }
    all.sort_by_key(|(night, _)| std::cmp::Reverse(*night));
    folded(text, "Remarks", |text| {
        for (night, said) in &all {
            let _ = writeln!(text, "- {}: {}", words::night(report, *night), escaped(said));
        }
        text.push('\n');
    });
}

fn rules(text: &mut String, report: &NightReport) {
    let rules = &report.rules;
    folded(text, "By what it was judged", |text| {
        let _ = write!(
            text,
            "- Fence: the upper quartile of the changes from night to night of the last {} nights and {} interquartile ranges beyond.\n\
             - Change points: p below {}, larger than {} coefficients of variation, confirmed after {}.\n\
             - False findings among all findings of a night: {} at most (Benjamini-Hochberg).\n\
             - A series is judged from {} of one configuration on.\n\n",
            rules.fence_nights,
            rules.fence_iqr,
            rules.change_point_p,
            rules.cv_multiple,
            number::counted(rules.nights_after, "night"),
            number::margin(rules.false_discovery_rate),
            number::counted(rules.nights_to_start, "night"),
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::night_report;

    #[test]
    fn text_of_people_stays_in_its_cell() {
        let mut report = night_report();
        report.series[0].key.workload = "a|b\n<script>".into();
        report.notes[0].text = "x\n# y".into();
        let text = markdown(&report);
        assert!(!text.contains("<script>") && !text.contains("\n# y"), "{text}");
        assert!(text.contains("a\\|b &lt;script>"), "{text}");
    }

    #[test]
    fn of_many_series_those_worth_a_look_come_first() {
        let mut report = night_report();
        let steady = report.series[11].clone();
        report.series = std::iter::repeat_n(steady, MOST_SERIES + 3).chain(report.series).collect();
        let text = markdown(&report);
        assert!(text.contains("15 series more: `rdma-harness history`."), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("| ✕ Not measured")).count(), 1);
    }
}
