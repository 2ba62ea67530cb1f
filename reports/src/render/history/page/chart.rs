//! The small chart of a series: the band of the runs, the medians, levels, epochs and changes, as a few SVG paths.

use std::fmt::Write as _;

use schema::{Certainty, Trend};

use super::{
    Place,
    path::{Frame, HEIGHT, STEP},
};
use crate::{
    history::{ChangePoint, Epoch, SeriesReport},
    render::history::{campaigns, scale::Scale},
};

/// The chart of a series on the nights of its report.
pub(super) struct Chart<'c, 'r> {
    place: &'c Place<'r>,
    series: &'r SeriesReport,
    pub(super) frame: Frame,
}

impl<'c, 'r> Chart<'c, 'r> {
    pub(super) fn of(place: &'c Place<'r>, series: &'r SeriesReport) -> Self {
        let values = series.points.iter().flat_map(|point| [point.value, point.low, point.high]).flatten();
        let scale = Scale::of(values, place.report.rules.margin(series.key.metric));
        Chart { place, series, frame: Frame { nights: place.report.nights.len(), scale } }
    }

    /// What is inside the `svg`.
    pub(super) fn svg(&self) -> String {
        let mut svg = String::new();
        for (from, to) in self.epochs().into_iter().skip(1).step_by(2) {
            let (left, right) = (STEP * from as u32, STEP * to as u32);
            write!(svg, r#"<path class="e" d="M{left} 0H{right}V{HEIGHT}H{left}z"/>"#).expect("a string");
        }
        let mut path = |class: &str, d: String| {
            if !d.is_empty() {
                write!(svg, r#"<path class="{class}" d="{d}"/>"#).expect("a string");
            }
        };
        let at = |night: i64| self.place.position(night);
        let points = &self.series.points;
        let runs = points.iter().filter_map(|point| Some((at(point.night)?, [point.low?, point.high?])));
        path("b", self.frame.band(&runs.collect::<Vec<_>>()));
        path("w", self.levels());
        let medians = points.iter().filter_map(|point| Some((at(point.night)?, point.value?)));
        path("v", self.frame.line(&medians.collect::<Vec<_>>()));
        path("y", self.notes());
        for change in &self.series.change_points {
            svg.push_str(&self.change(change));
        }
        svg
    }

    /// Positions of the first night of each epoch and of the one behind its last.
    pub(super) fn epochs(&self) -> Vec<(usize, usize)> {
        // An epoch that began before the nights that are shown begins with them.
        let start = |epoch: &Epoch| self.place.position(epoch.from).unwrap_or(0);
        let starts: Vec<usize> = self.series.epochs.iter().map(start).collect();
        let ends = starts.iter().skip(1).copied().chain([self.frame.nights]);
        starts.iter().copied().zip(ends).collect()
    }

    /// The levels on both sides of every change, as far as they hold.
    fn levels(&self) -> String {
        let changes: Vec<(usize, &ChangePoint)> = self
            .series
            .change_points
            .iter()
            .filter_map(|change| Some((self.place.position(change.night)?, change)))
            .collect();
        let mut path = String::new();
        for (start, end) in self.epochs() {
            let inside: Vec<_> = changes.iter().filter(|(at, _)| (start..end).contains(at)).collect();
            if let Some((at, first)) = inside.first().filter(|(at, _)| *at > start) {
                path += &self.frame.level([start, at - 1], first.change.before);
            }
            for (n, (at, change)) in inside.iter().enumerate() {
                let next = inside.get(n + 1).map_or(end, |(next, _)| *next);
                path += &self.frame.level([*at, next.max(at + 1) - 1], change.change.after);
            }
        }
        path
    }

    /// A line where the level changed, and a dot at the new level that leads to the evidence where there is some.
    fn change(&self, change: &ChangePoint) -> String {
        let Some(at) = self.place.position(change.night) else { return String::new() };
        let class = class(change);
        let (left, x, y) = (STEP * at as u32, self.frame.x(at), self.frame.y(change.change.after));
        let line = format!(r#"<path class="c {class}" d="M{left} 0V{HEIGHT}"/>"#);
        let dot = format!(r#"<path class="d {class}" d="M{x} {y}h0"/>"#);
        let behind =
            campaigns::behind(self.place.report, self.place.campaigns, change.night, &self.series.key);
        match behind.iter().find_map(|behind| behind.page) {
            Some(page) => format!(r#"{line}<a href="{page}" tabindex="-1">{dot}</a>"#),
            None => line + &dot,
        }
    }

    fn notes(&self) -> String {
        let ours = |note: &&schema::Note| note.series.is_none_or(|series| series == self.series.id);
        let notes = self.place.report.notes.iter().filter(ours);
        let ticks = notes.filter_map(|note| {
            Some(format!("M{} {}v-16", self.frame.x(self.place.position(note.night)?), HEIGHT))
        });
        ticks.collect()
    }
}

/// The class of the colour of a change.
pub(super) fn class(change: &ChangePoint) -> &'static str {
    match (change.trend, change.certainty) {
        _ if change.acknowledged.is_some() => "same",
        (_, Certainty::Suspected) => "open",
        (Trend::Regressed, Certainty::Confirmed) => "bad",
        (Trend::Improved, Certainty::Confirmed) => "good",
    }
}
