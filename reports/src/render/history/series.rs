//! One series in full, in a terminal: its nights as a plot, what changed and by how much, under which configurations, what people
//! said, and the runs of the last nights with how to see them.

use schema::{Certainty, Direction, Night, Origin};

use super::{
    campaigns::{self, Behind, Campaigns},
    plot::{self, Mark},
    scale::Scale,
    screen::Screen,
    words,
};
use crate::{
    history::{ChangePoint, Epoch, NightReport, PointReport, SeriesReport, SeriesState},
    render::{
        change, number,
        terminal::{
            Look,
            layout::{self, Column, Styled},
            style,
        },
    },
};

/// Most columns of a plot.
const WIDEST: usize = 110;
/// Columns of a night, where there are few nights.
const NIGHT: usize = 4;
/// Nights whose runs are listed, unless all are asked for.
const LAST_NIGHTS: usize = 10;

/// One series up to a night, for a terminal like this; nothing where the report has no such series.
pub fn series(report: &NightReport, id: i64, campaigns: &Campaigns, look: &Look) -> Option<String> {
    let series = words::series(report, id)?;
    let page = Page { screen: Screen { report, look }, series, campaigns };
    Some(page.text())
}

struct Page<'p> {
    screen: Screen<'p>,
    series: &'p SeriesReport,
    campaigns: &'p Campaigns,
}

impl Page<'_> {
    fn text(&self) -> String {
        let parts = [
            self.head(),
            self.plot(),
            self.titled("Findings", self.findings()),
            self.titled("Changes", self.changes()),
            self.titled("Configurations", self.configurations()),
            self.titled("This night", self.this_night()),
            self.titled("Notes", self.notes()),
            self.titled("Acknowledged", self.acknowledged()),
            self.titled("Nights", self.nights()),
        ];
        let parts = parts.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"));
        parts.collect::<Vec<_>>().join("\n\n") + "\n"
    }

    fn titled(&self, title: &str, lines: Vec<String>) -> Vec<String> {
        if lines.is_empty() {
            return lines;
        }
        let title = Styled::new(title, self.screen.look.style(style::QUIET)).painted();
        [title].into_iter().chain(lines).collect()
    }

    fn lines(&self, texts: impl IntoIterator<Item = String>) -> Vec<String> {
        texts.into_iter().flat_map(|text| self.screen.look.broken(&format!("  {text}"), 5)).collect()
    }

    fn value(&self, value: f64) -> String {
        number::value(self.series.key.metric, value)
    }

    fn margin(&self) -> f64 {
        self.screen.report.rules.margin(self.series.key.metric)
    }

    fn night(&self, id: i64) -> String {
        words::night(self.screen.report, id)
    }

    fn head(&self) -> Vec<String> {
        let mut lines = self.screen.look.broken(&self.series.key.to_string(), 2);
        let last = match (&self.series.state, self.series.points.last()) {
            (SeriesState::NotMeasured { why }, _) => why.clone(),
            (_, Some(PointReport { night, value: Some(value), .. })) => {
                format!("{} in {}", self.value(*value), self.night(*night))
            }
            _ => "no value".to_owned(),
        };
        let learning = match self.series.state {
            SeriesState::Learning { nights, of } => {
                format!("; {nights} of the {of} nights it takes to tell")
            }
            _ => String::new(),
        };
        let noise = self.series.cv.map(|cv| format!("; noise from night to night {}", number::percent(cv)));
        let text = format!(": {last}{learning}{}", noise.unwrap_or_default());
        lines.extend(self.screen.look.said(&words::state(&self.series.state), &text));
        if words::is_simulated(self.series) {
            let label = "SIMULATED: the software NIC. No network was measured.";
            lines.push(Styled::new(label, self.screen.look.style(style::SIMULATED)).painted());
        }
        lines
    }

    /// Only for a terminal that draws.
    fn plot(&self) -> Vec<String> {
        let points = &self.series.points;
        if !self.screen.look.pictures || points.is_empty() {
            return Vec::new();
        }
        let values: Vec<Option<f64>> = points.iter().map(|point| point.value).collect();
        let (first, latest) = (self.night(points[0].night), self.night(points[points.len() - 1].night));
        let labels_below = first.chars().count() + latest.chars().count() + 2;
        let scale = Scale::of(values.iter().flatten().copied(), self.margin());
        let labels = [self.value(scale.high), self.value(scale.low)];
        let indent = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let width = self.screen.look.width.saturating_sub(indent + 2).clamp(10, WIDEST);
        let width = width.min(NIGHT * points.len()).max(labels_below);
        let drawn = plot::rows(&values, scale, &self.marks(), width);
        let last = drawn.len() - 2;
        let label = |row: usize| match row {
            0 => labels[0].as_str(),
            row if row == last => labels[1].as_str(),
            _ => "",
        };
        let mut lines: Vec<String> = drawn
            .iter()
            .enumerate()
            .map(|(row, text)| {
                let rule = if row > last { ' ' } else { '│' };
                format!("{:>indent$} {rule}{text}", label(row)).trim_end().to_owned()
            })
            .collect();
        let room = width + 2 - labels_below;
        lines.push(format!("{:indent$}  {first}{}{latest}", "", " ".repeat(room)));
        lines
    }

    /// Configurations have letters, changes numbers; of a night that has both, the change is drawn.
    fn marks(&self) -> Vec<Mark> {
        let at = |night: i64| self.series.points.iter().position(|point| point.night == night);
        let epochs = self.series.epochs.iter().enumerate().skip(1);
        let epochs =
            epochs.filter_map(|(n, epoch)| Some(Mark { at: at(epoch.from)?, name: letter(n), line: '╎' }));
        let changes = self.series.change_points.iter().enumerate();
        let changes = changes
            .filter_map(|(n, change)| Some(Mark { at: at(change.night)?, name: digit(n), line: '┃' }));
        epochs.chain(changes).collect()
    }

    fn findings(&self) -> Vec<String> {
        let report = self.screen.report;
        let ours = report
            .findings
            .iter()
            .filter(|finding| finding.members.iter().any(|member| member.series == self.series.id));
        ours.flat_map(|finding| {
            let line = words::finding_line(report, finding);
            self.screen.look.said(&words::finding(finding), &format!(" {line}"))
        })
        .map(|line| format!("  {line}"))
        .collect()
    }

    fn changes(&self) -> Vec<String> {
        let line = |(n, of): (usize, &ChangePoint)| {
            let certainty = match of.certainty {
                Certainty::Confirmed => "confirmed",
                Certainty::Suspected => "suspected",
            };
            let known = of
                .acknowledged
                .as_ref()
                .map(|reason| format!("; acknowledged: {reason}"))
                .unwrap_or_default();
            format!(
                "{}  {}: {}, {}, {certainty}, p {}{known}",
                digit(n),
                self.night(of.night),
                words::change(&of.change, self.margin()),
                words::levels(&of.change, self.series.key.metric),
                number::p_value(of.p),
            )
        };
        self.lines(self.series.change_points.iter().enumerate().map(line))
    }

    fn configurations(&self) -> Vec<String> {
        let line = |(n, of): (usize, &Epoch)| {
            let changes = match of.changes.as_slice() {
                [] => String::new(),
                changes => format!(": {}", words::configuration_changes(changes)),
            };
            let level = of
                .against_the_one_before
                .as_ref()
                .map(|of| format!("; against the one before {}", words::change(of, self.margin())));
            format!(
                "{}  from {}, {} with a value{changes}{}",
                letter(n),
                self.night(of.from),
                number::counted(of.nights, "night"),
                level.unwrap_or_default()
            )
        };
        self.lines(self.series.epochs.iter().enumerate().map(line))
    }

    /// What this night was held against.
    fn this_night(&self) -> Vec<String> {
        let SeriesReport { fence, limit, baseline, key, .. } = self.series;
        let margin = self.margin();
        let fence = fence.map(|of| {
            let again = of.again.map(|again| format!("; measured again {}", change::alone(again, margin)));
            format!(
                "fence: {} off {}, the level of the nights before; the fence is ±{}{}",
                change::alone(of.distance, margin),
                self.value(of.level),
                number::percent(of.fence),
                again.unwrap_or_default()
            )
        });
        let limit = limit.as_ref().map(|of| {
            let side = match key.metric.direction() {
                Direction::HigherIsBetter => "at least",
                Direction::LowerIsBetter => "at most",
            };
            format!("limit: {side} {}, {}", self.value(of.worst), of.basis)
        });
        let baseline = baseline.as_ref().map(|of| {
            let differs = match of.configuration_changes.as_slice() {
                [] => "same configuration".to_owned(),
                changes => format!("configuration differs: {}", words::configuration_changes(changes)),
            };
            format!(
                "baseline {}, {}: {}, {}; {differs}",
                of.name,
                self.night(of.night),
                words::change(&of.change, margin),
                words::levels(&of.change, key.metric)
            )
        });
        self.lines([fence, limit, baseline].into_iter().flatten())
    }

    fn notes(&self) -> Vec<String> {
        let ours = |note: &&schema::Note| note.series.is_none_or(|series| series == self.series.id);
        let line = |note: &schema::Note| format!("{}: {}", self.night(note.night), note.text);
        self.lines(self.screen.report.notes.iter().filter(ours).map(line))
    }

    fn acknowledged(&self) -> Vec<String> {
        let ours = |ack: &&schema::Acknowledgement| ack.series == self.series.id;
        let line = |ack: &schema::Acknowledgement| format!("{}: {}", self.night(ack.night), ack.reason);
        self.lines(self.screen.report.acknowledgements.iter().filter(ours).map(line))
    }

    fn nights(&self) -> Vec<String> {
        let most = if self.screen.look.all { usize::MAX } else { LAST_NIGHTS };
        let points = &self.series.points[self.series.points.len().saturating_sub(most)..];
        let text = |of: &dyn Fn(&PointReport) -> String| -> Vec<Styled> {
            points.iter().rev().map(|point| Styled::plain(of(point))).collect()
        };
        let value = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| self.value(value));
        let range = |point: &PointReport| match (point.low, point.high) {
            (Some(low), Some(high)) => format!("{} to {}", self.value(low), self.value(high)),
            _ => "none".to_owned(),
        };
        let mut columns = vec![
            Column::left("  night", text(&|point| format!("  {}", self.night(point.night)))),
            Column::right("median", text(&|point| value(point.value))),
            Column::right("runs from .. to", text(&range)),
            Column::right("n", text(&|point| point.runs.to_string())),
        ];
        if points.iter().any(|point| point.confirm.is_some()) {
            columns.push(Column::right("again", text(&|point| value(point.confirm))));
        }
        columns.push(Column::left("campaigns", text(&|point| self.campaigns(point.night))));
        let none = |_| Vec::new();
        let mut lines = layout::lines(&columns, self.screen.look.style(style::QUIET), none, none);
        let first = |point: &PointReport| self.campaigns_of(point.night).first().map(|first| first.campaign);
        if let Some(campaign) = points.iter().rev().find_map(first) {
            lines.push(String::new());
            lines.extend(self.screen.look.quiet(&format!(
                "  rdma-harness report {campaign} --out DIR shows the evidence of a campaign, rdma-harness runs {campaign} its runs."
            )));
        }
        lines
    }

    fn campaigns_of(&self, night: i64) -> Vec<Behind<'_>> {
        campaigns::behind(self.screen.report, self.campaigns, night, &self.series.key)
    }

    fn campaigns(&self, night: i64) -> String {
        match words::night_of(self.screen.report, night) {
            Some(night) if night.origin == Origin::Imported => "imported".to_owned(),
            Some(Night { cluster: Some(cluster), .. }) => format!("cluster {cluster}"),
            _ => self.campaigns_of(night).iter().map(Behind::name).collect::<Vec<_>>().join(", "),
        }
    }
}

/// The name of a configuration: A, B, .. Z, then all the same.
fn letter(n: usize) -> char {
    char::from(b'A' + n.min(25) as u8)
}

/// The name of a change: 1, 2, .. 9, then all the same.
fn digit(n: usize) -> char {
    char::from_digit(n as u32 + 1, 10).unwrap_or('+')
}
