//! A series on the page: its name and state, its chart, its changes, and its numbers on demand.

use schema::{ConfigurationChange, Metric};

use super::{Place, chart, chart::Chart};
use crate::{
    history::{ChangePoint, PointReport, SeriesReport, SeriesState},
    render::{
        history::{campaigns, words},
        number,
        view::Badge,
    },
};

/// Nights in the table that is there without the script, which puts in all.
const ROWS: usize = 14;
/// Percent of the width of a chart that the size of a change takes.
const TAG: usize = 20;
/// Percent of the width of a chart from which on there is no room to the right.
const RIGHT_END: usize = 88;
/// Changes told under the chart; the others are drawn.
const CHANGES: usize = 3;

pub(super) struct Card<'r> {
    pub(super) series: &'r SeriesReport,
    /// The name that the command line takes.
    pub(super) name: String,
    pub(super) badge: Badge,
    /// [`words::rank`], to sort by.
    pub(super) rank: u8,
    /// `64 KiB bandwidth`
    pub(super) title: String,
    /// `write, deep`
    pub(super) about: String,
    pub(super) ends: String,
    pub(super) now: String,
    /// What the state means where it needs words.
    pub(super) why: String,
    pub(super) noise: String,
    /// For sorting: the last change and the noise, as shares; empty where there is none.
    pub(super) keys: [String; 2],
    pub(super) label: String,
    /// The ends of the chart's scale.
    pub(super) top: String,
    pub(super) bottom: String,
    pub(super) width: u32,
    pub(super) svg: String,
    /// Where the epochs begin and how wide they are, in percent, and what changed.
    pub(super) epochs: Vec<Tag>,
    /// The changes, where they are and how large.
    pub(super) tags: Vec<Tag>,
    pub(super) changes: Vec<ChangeRow>,
    pub(super) more_changes: usize,
    pub(super) data: Data,
    pub(super) rows: Vec<[String; 5]>,
}

/// A text at a place along a chart.
pub(super) struct Tag {
    pub(super) left: String,
    pub(super) width: String,
    pub(super) class: String,
    pub(super) text: String,
}

/// A change in words, with links to the evidence.
pub(super) struct ChangeRow {
    pub(super) class: &'static str,
    pub(super) sign: &'static str,
    pub(super) text: String,
    pub(super) links: Vec<Link>,
}

/// Where evidence is.
pub(super) struct Link {
    pub(super) href: String,
    pub(super) text: String,
}

/// The numbers for the script: medians, smallest and largest runs in one unit, `-` where there is none.
pub(super) struct Data {
    pub(super) unit: &'static str,
    /// Positions of the nights, as stretches: `0-9 12-20`.
    pub(super) nights: String,
    pub(super) values: [String; 3],
}

impl<'r> Card<'r> {
    pub(super) fn of(place: &Place<'r>, series: &'r SeriesReport) -> Self {
        let key = &series.key;
        let chart = Chart::of(place, series);
        let badge = words::state(&series.state);
        let title = format!("{} {}", number::size(key.msg_bytes), words::metric(key.metric));
        let engine = if key.engine == "verbs-bench" { String::new() } else { format!(", {}", key.engine) };
        let about = format!("{}, {}{engine}", key.workload, key.variant);
        let ends = format!("{} → {}", key.requester, key.responder);
        let now = words::last(series);
        let margin = place.report.rules.margin(key.metric);
        let why = match &series.state {
            SeriesState::Learning { nights, of } => format!("{nights} of the {of} nights it takes to tell"),
            SeriesState::NotMeasured { why } => why.clone(),
            _ => String::new(),
        };
        let last = series.change_points.last();
        let share = |share: Option<f64>| share.map_or(String::new(), |share| format!("{:.4}", share.abs()));
        let digits = Digits::of(key.metric, chart.frame.scale.high);
        let told = series.change_points.len().min(CHANGES);
        Card {
            name: key.to_string(),
            rank: words::rank(&series.state),
            label: format!(
                "{title} of {about}, {ends}: {}, last {now}. Arrow keys read the nights.",
                badge.word
            ),
            badge,
            title,
            about,
            ends,
            now,
            why,
            noise: words::noise(series),
            keys: [share(last.map(|last| last.change.change)), share(series.cv)],
            top: number::value_short(key.metric, chart.frame.scale.high),
            bottom: number::value_short(key.metric, chart.frame.scale.low),
            width: chart.frame.width(),
            epochs: epochs(&chart, series),
            tags: tags(place, &chart, series, margin),
            changes: series.change_points.iter().rev().take(told).map(|c| change(place, series, c)).collect(),
            more_changes: series.change_points.len() - told,
            data: Data::of(place, series, digits),
            rows: series.points.iter().rev().take(ROWS).map(|point| row(place, digits, point)).collect(),
            svg: chart.svg(),
            series,
        }
    }
}

fn percent(part: usize, of: usize) -> String {
    format!("{:.2}", part as f64 / of.max(1) as f64 * 100.0)
}

/// None where there is one configuration: it has nothing to be told from.
fn epochs(chart: &Chart<'_, '_>, series: &SeriesReport) -> Vec<Tag> {
    let nights = chart.frame.nights;
    // Short: there is little room, and what it was before stands under the boundary in the table.
    let name = |change: &ConfigurationChange| {
        format!("{} {}", change.what, change.to.as_deref().unwrap_or("unknown"))
    };
    let names =
        series.epochs.iter().map(|epoch| epoch.changes.iter().map(name).collect::<Vec<_>>().join("; "));
    let tag = |((from, to), text): ((usize, usize), String)| Tag {
        left: percent(from, nights),
        width: percent(to - from, nights),
        class: String::new(),
        text,
    };
    chart.epochs().into_iter().zip(names).skip(1).map(tag).collect()
}

/// The sizes of the last changes, where they stand; one too near to a later one is told under the chart alone.
fn tags(place: &Place<'_>, chart: &Chart<'_, '_>, series: &SeriesReport, margin: f64) -> Vec<Tag> {
    let nights = chart.frame.nights;
    let mut free_up_to = nights;
    let mut tags = Vec::new();
    for change in series.change_points.iter().rev().take(CHANGES) {
        let Some(at) = place.position(change.night).filter(|at| *at <= free_up_to) else { continue };
        free_up_to = at.saturating_sub(nights * TAG / 100);
        // A text at the right end stands left of its line.
        let side = if at * 100 > nights * RIGHT_END { " end" } else { "" };
        tags.push(Tag {
            left: percent(at, nights),
            width: String::new(),
            class: format!("{}{side}", chart::class(change)),
            text: words::change_alone(&change.change, margin),
        });
    }
    tags
}

fn change(place: &Place<'_>, series: &SeriesReport, of: &ChangePoint) -> ChangeRow {
    let class = chart::class(of);
    let sign = match class {
        "bad" => "▼",
        "good" => "▲",
        "same" => "✓",
        _ => "?",
    };
    let margin = place.report.rules.margin(series.key.metric);
    let known = of.acknowledged.as_ref().map(|reason| format!("; known: {reason}")).unwrap_or_default();
    let text = format!(
        "{}: {}, {}{known}",
        place.night(of.night),
        words::change(&of.change, margin),
        words::levels(&of.change, series.key.metric)
    );
    ChangeRow { class, sign, text, links: links(place, series, of.night) }
}

/// The reports of a night's campaigns that measured a series.
pub(super) fn links(place: &Place<'_>, series: &SeriesReport, night: i64) -> Vec<Link> {
    let behind = campaigns::behind(place.report, place.campaigns, night, &series.key);
    let link = |one: campaigns::Behind<'_>| {
        Some(Link { href: one.page?.to_owned(), text: format!("campaign {}", one.name()) })
    };
    behind.into_iter().filter_map(link).collect()
}

/// How the numbers of a series are written: in one unit, and to four digits of the largest.
#[derive(Clone, Copy)]
struct Digits {
    divisor: f64,
    unit: &'static str,
    decimals: usize,
}

impl Digits {
    fn of(metric: Metric, largest: f64) -> Self {
        let (divisor, unit) = number::unit_of(metric, largest);
        let whole_digits = (largest / divisor).abs().max(1.0).log10().floor() as usize + 1;
        Digits { divisor, unit, decimals: 4usize.saturating_sub(whole_digits) }
    }

    fn plain(&self, value: f64) -> String {
        format!("{:.*}", self.decimals, value / self.divisor)
    }
}

fn row(place: &Place<'_>, digits: Digits, point: &PointReport) -> [String; 5] {
    let value = |value: Option<f64>| {
        value.map_or_else(|| "none".to_owned(), |value| format!("{} {}", digits.plain(value), digits.unit))
    };
    let date = place.position(point.night).map(|at| number::date(place.report.nights[at].started_at_unix_ms));
    [
        point.night.to_string(),
        date.unwrap_or_default(),
        value(point.value),
        value(point.low),
        value(point.high),
    ]
}

impl Data {
    fn of(place: &Place<'_>, series: &SeriesReport, digits: Digits) -> Self {
        let column = |of: fn(&PointReport) -> Option<f64>| {
            let text = |point| of(point).map_or_else(|| "-".to_owned(), |value| digits.plain(value));
            series.points.iter().map(text).collect::<Vec<String>>().join(" ")
        };
        let at: Vec<usize> = series.points.iter().filter_map(|point| place.position(point.night)).collect();
        let stretches = at.chunk_by(|one, next| one + 1 == *next);
        let nights = stretches.map(|stretch| format!("{}-{}", stretch[0], stretch[stretch.len() - 1]));
        Data {
            unit: digits.unit,
            nights: nights.collect::<Vec<_>>().join(" "),
            values: [column(|point| point.value), column(|point| point.low), column(|point| point.high)],
        }
    }
}
