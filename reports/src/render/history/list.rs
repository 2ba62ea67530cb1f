//! A history in a terminal: the verdict on the last night, its findings, and a row a series with its last nights as a picture.

use super::{screen::Screen, spark, words};
use crate::{
    history::{NightReport, SeriesReport, SeriesState},
    render::terminal::{
        Look,
        layout::{self, Column, Styled},
        style,
    },
};

/// Of more series than this, steady ones are counted and not listed, unless all are asked for.
const MANY: usize = 40;
/// Most characters of a picture; beyond these a row is hard to follow.
const WIDEST: usize = 60;
/// Fewest characters of a picture beside its numbers.
const NARROWEST: usize = 24;

/// The history up to a night, for a terminal like this.
pub fn terminal(report: &NightReport, look: &Look) -> String {
    Screen { report, look }.list()
}

impl Screen<'_> {
    fn list(&self) -> String {
        let findings: Vec<String> = self
            .report
            .findings
            .iter()
            .flat_map(|finding| {
                let line = words::finding_line(self.report, finding);
                self.look.said(&words::finding(finding), &format!(" {line}"))
            })
            .collect();
        let mut shown: Vec<&SeriesReport> = self.report.series.iter().collect();
        shown.sort_by_key(|series| words::rank(&series.state));
        let all = shown.len();
        if all > MANY && !self.look.all {
            shown.retain(|series| series.state != SeriesState::Steady);
        }
        let parts = [self.verdict(), findings, self.rows(&shown), self.key(all - shown.len())];
        let parts = parts.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"));
        parts.collect::<Vec<_>>().join("\n\n") + "\n"
    }

    /// A row a series; its name above it where both are too wide side by side.
    fn rows(&self, shown: &[&SeriesReport]) -> Vec<String> {
        if shown.is_empty() {
            return Vec::new();
        }
        let state = Column::left("state", each(shown, |series| self.state(series)));
        let name = Column::left("series", each(shown, |series| Styled::plain(series.key.to_string())));
        let numbers = self.numbers(shown);
        let names = self.look.style(style::QUIET);
        let none = |_| Vec::new();
        if !self.look.pictures {
            let columns: Vec<Column> = [state, name].into_iter().chain(numbers).collect();
            return layout::lines(&columns, names, none, none);
        }
        let taken = |columns: &[&Column]| {
            let others: usize =
                numbers.iter().chain(columns.iter().copied()).map(|c| c.width() + layout::GAP).sum();
            self.look.width.saturating_sub(others)
        };
        let nights = |width| Column::left("nights", each(shown, |series| self.nights(series, width)));
        let beside = taken(&[&state, &name]);
        if beside >= NARROWEST {
            let columns: Vec<Column> =
                [state, name, nights(beside.min(WIDEST))].into_iter().chain(numbers).collect();
            return layout::lines(&columns, names, none, none);
        }
        let below = taken(&[&state]).clamp(8, WIDEST);
        let columns: Vec<Column> = [state, nights(below)].into_iter().chain(numbers.clone()).collect();
        layout::lines(&columns, names, |row| self.look.broken(&shown[row].key.to_string(), 2), none)
    }

    fn state(&self, series: &SeriesReport) -> Styled {
        let badge = words::state(&series.state);
        Styled::new(format!("{} {}", badge.sign, badge.word), self.look.style(style::badge(&badge)))
    }

    fn nights(&self, series: &SeriesReport, width: usize) -> Styled {
        let badge = words::state(&series.state);
        let line = spark::line(series, &self.report.rules, width);
        Styled::new(line, self.look.style(style::badge(&badge)))
    }

    fn numbers(&self, shown: &[&SeriesReport]) -> [Column; 3] {
        let change = |series: &SeriesReport| {
            let margin = self.report.rules.margin(series.key.metric);
            let present = series.epochs.last().map_or(i64::MIN, |epoch| epoch.from);
            let last = series.change_points.iter().rfind(|change| change.night >= present);
            last.map_or_else(|| "none".to_owned(), |last| words::change_alone(&last.change, margin))
        };
        let text = |of: &dyn Fn(&SeriesReport) -> String| each(shown, |series| Styled::plain(of(series)));
        [
            Column::right("last", text(&words::last)),
            Column::right("last change", text(&change)),
            Column::right("noise", text(&words::noise)),
        ]
    }

    fn key(&self, left_out: usize) -> Vec<String> {
        let mut lines = Vec::new();
        if left_out > 0 {
            lines.extend(
                self.look.broken(&format!("{left_out} steady series are not listed; --all lists them."), 2),
            );
        }
        if self.look.pictures {
            lines.extend(self.look.quiet(spark::KEY));
        }
        lines
    }
}

fn each(shown: &[&SeriesReport], of: impl Fn(&SeriesReport) -> Styled) -> Vec<Styled> {
    shown.iter().map(|series| of(series)).collect()
}
