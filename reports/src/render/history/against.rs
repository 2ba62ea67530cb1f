//! A night against a pinned one, series by series, and what else differs between the two.

use schema::{ConfigurationChange, FoundBy};

use super::{screen::Screen, words};
use crate::{
    history::{BaselineReport, NightReport, SeriesReport},
    render::{
        number,
        terminal::{
            Look,
            layout::{self, Column, Styled},
            style,
        },
    },
};

/// How the night of a report stands to the baseline that its rules name, for a terminal like this.
pub fn against_baseline(report: &NightReport, look: &Look) -> String {
    let shown: Vec<(&SeriesReport, &BaselineReport)> =
        report.series.iter().filter_map(|series| Some((series, series.baseline.as_ref()?))).collect();
    let Some((_, baseline)) = shown.first() else {
        return "no series has a value in both nights\n".to_owned();
    };
    let screen = Screen { report, look };
    let (night, pinned) = (words::night(report, report.night.id), words::night(report, baseline.night));
    let head = format!("{night} against `{}`, {pinned}", baseline.name);
    let parts = [vec![head], screen.compared(&shown), screen.differs(&shown)];
    let parts = parts.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"));
    parts.collect::<Vec<_>>().join("\n\n") + "\n"
}

impl Screen<'_> {
    fn compared(&self, shown: &[(&SeriesReport, &BaselineReport)]) -> Vec<String> {
        let text = |of: &dyn Fn(&SeriesReport, &BaselineReport) -> String| -> Vec<Styled> {
            shown.iter().map(|(series, baseline)| Styled::plain(of(series, baseline))).collect()
        };
        let margin = |series: &SeriesReport| self.report.rules.margin(series.key.metric);
        let columns = [
            Column::left("", shown.iter().map(|(series, _)| self.found(series)).collect()),
            Column::left("series", text(&|series, _| series.key.to_string())),
            Column::right("pinned", text(&|series, of| number::value(series.key.metric, of.change.before))),
            Column::right("night", text(&|series, of| number::value(series.key.metric, of.change.after))),
            Column::right("change", text(&|series, of| words::change(&of.change, margin(series)))),
            Column::right("margin", text(&|series, _| format!("±{}", number::margin(margin(series))))),
        ];
        layout::lines(&columns, self.look.style(style::QUIET), |_| Vec::new(), |_| Vec::new())
    }

    /// What is said of a series because of the baseline; nothing where it is within its margin and noise.
    fn found(&self, series: &SeriesReport) -> Styled {
        let of = |finding: &&crate::history::NightFinding| {
            let mut members = finding.members.iter();
            members.any(|member| member.series == series.id && member.found_by == FoundBy::Baseline)
        };
        let badge = self.report.findings.iter().find(of).map(words::finding);
        badge.map_or_else(Styled::default, |badge| {
            Styled::new(format!("{} {}", badge.sign, badge.word), self.look.style(style::badge(&badge)))
        })
    }

    /// What differs between the configurations of both nights, each once.
    fn differs(&self, shown: &[(&SeriesReport, &BaselineReport)]) -> Vec<String> {
        let mut all: Vec<&ConfigurationChange> = Vec::new();
        for change in shown.iter().flat_map(|(_, baseline)| &baseline.configuration_changes) {
            if !all.contains(&change) {
                all.push(change);
            }
        }
        let line = |change: &ConfigurationChange| format!("differs: {}", words::configuration_change(change));
        all.into_iter().flat_map(|change| self.look.broken(&line(change), 2)).collect()
    }
}

#[cfg(test)]
mod tests {
    use schema::{Certainty, ConfigurationChange, Trend};

    use super::*;
    use crate::{
        history::{Change, Member, NightFinding},
        testing::night_report,
    };

    const PLAIN: Look = Look { width: 100, colours: false, pictures: false, all: false };

    #[test]
    fn each_series_stands_beside_its_pinned_value_and_what_else_differs_is_named_once() {
        let mut report = night_report();
        report.findings.clear();
        let (pinned, night) = (report.nights[0].id, report.night.id);
        for series in &mut report.series {
            series.baseline = Some(BaselineReport {
                name: "good".into(),
                night: pinned,
                change: Change {
                    before: 100e9,
                    after: 95e9,
                    change: -0.05,
                    low: Some(-0.06),
                    high: Some(-0.04),
                },
                configuration_changes: vec![ConfigurationChange {
                    what: "requester.firmware".into(),
                    from: Some("20.31".into()),
                    to: Some("20.32".into()),
                }],
            });
        }
        let (first, all) = (report.series[0].id, report.series.len());
        report.findings.push(NightFinding {
            found_by: FoundBy::Baseline,
            certainty: Certainty::Confirmed,
            trend: Trend::Regressed,
            since: night,
            new: true,
            acknowledged: None,
            endpoint: None,
            members: vec![Member {
                series: first,
                found_by: FoundBy::Baseline,
                certainty: Certainty::Confirmed,
                change: None,
                p: None,
                cause: None,
            }],
        });
        let text = against_baseline(&report, &PLAIN);
        assert!(
            text.starts_with(&format!("night {night} (")) && text.contains("against `good`, night"),
            "{text}"
        );
        assert_eq!(text.matches("\u{2212}5.0% (\u{2212}6.0% to \u{2212}4.0%)").count(), all, "{text}");
        assert_eq!(text.matches("differs: requester.firmware 20.31 → 20.32").count(), 1, "{text}");
        assert_eq!(text.to_lowercase().matches("regress").count(), 1, "{text}");
    }

    #[test]
    fn two_nights_without_a_series_in_common_are_not_compared() {
        let mut report = night_report();
        report.series.iter_mut().for_each(|series| series.baseline = None);
        assert_eq!(against_baseline(&report, &PLAIN), "no series has a value in both nights\n");
    }
}
