//! Workflow commands of GitHub Actions: annotations of a run. A step shows ten errors and ten warnings and drops the rest in
//! silence, so what is beyond ten is counted in the last of them; the summary has it all.

use crate::{
    history::{NightFinding, NightReport, SeriesState},
    render::history::told,
};
use schema::{Certainty, Trend};

/// Annotations of one kind that a step shows.
const MOST: usize = 10;

/// A line an annotation: regressions and what could not be measured are errors, suspicions warnings, the verdict a notice.
pub fn github_annotations(report: &NightReport) -> String {
    let findings = |is: fn(&NightFinding) -> bool| {
        report
            .findings
            .iter()
            .filter(move |finding| is(finding))
            .map(|finding| told::finding(report, finding))
    };
    let missing = report.series.iter().filter_map(|series| match &series.state {
        SeriesState::NotMeasured { why } => Some(("Not measured", format!("{}: {why}", series.key))),
        _ => None,
    });
    let regressions = findings(NightFinding::alarms).map(|told| (told.word, told.line));
    let suspicions = findings(suspected).map(|told| (told.word, told.line));
    let mut text = commands(report, "error", regressions.chain(missing).collect());
    text += &commands(report, "warning", suspicions.collect());
    text + &command(report, "notice", "Night", &told::night(report))
}

fn suspected(finding: &NightFinding) -> bool {
    finding.acknowledged.is_none()
        && finding.trend == Trend::Regressed
        && finding.certainty == Certainty::Suspected
}

fn commands(report: &NightReport, kind: &str, all: Vec<(&'static str, String)>) -> String {
    let shown = if all.len() > MOST { MOST - 1 } else { all.len() };
    let mut text: String =
        all[..shown].iter().map(|(word, line)| command(report, kind, word, line)).collect();
    if shown < all.len() {
        let rest = format!("{} more are in the summary of this job", all.len() - shown);
        text += &command(report, kind, "And more", &rest);
    }
    text
}

fn command(report: &NightReport, kind: &str, word: &str, line: &str) -> String {
    let simulated = if told::simulated(report).is_some() { " (simulated)" } else { "" };
    format!("::{kind} title={}::{}\n", property(&format!("{}: {word}{simulated}", report.suite)), data(line))
}

/// What follows the command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A value between the commas of the command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::night_report;

    #[test]
    fn ten_of_a_kind_at_most_and_the_last_counts_the_rest() {
        let mut report = night_report();
        let alarming = report.findings[0].clone();
        report.findings.extend(std::iter::repeat_n(alarming, 20));
        let text = github_annotations(&report);
        let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("::error ")).collect();
        assert_eq!(errors.len(), 10);
        // 4 and 20 regressions, and a series that was not measured.
        assert!(errors[9].ends_with("::16 more are in the summary of this job"), "{}", errors[9]);
    }

    #[test]
    fn nothing_in_a_name_ends_a_command_or_begins_another() {
        let mut report = night_report();
        report.suite = "a,b::c\n::error::d".into();
        report.series[2].key.workload = "100%\r\n::stop".into();
        let text = github_annotations(&report);
        assert!(text.lines().all(|line| line.matches("::").count() >= 2 && line.starts_with("::")), "{text}");
        assert!(text.contains("title=a%2Cb%3A%3Ac%0A%3A%3Aerror%3A%3Ad%3A Regressed::"), "{text}");
        assert!(text.contains("100%25%0D%0A::stop"), "{text}");
    }
}
