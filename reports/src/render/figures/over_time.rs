//! Within the runs: every interval over the Measure phase. A stall, a warm-up too short, a drift show here.

use plotters::prelude::*;
use schema::{Bytes, Metric, Point, Purpose, Test, record::Interval};

use super::{
    RenderError,
    axis::Axis,
    figure::{Choice, Drawing, Figure, Numbers, Spot},
    frame::{Frame, band, line, mark},
    source::{Series, Source},
};
use crate::{
    compare::{Spread, spread},
    render::{number, words},
};

const HEIGHT: u32 = 640;
/// Places in time: more are not seen.
const MOST_PLACES: usize = 40;
/// Runs of a variant that are drawn by themselves: those that stray farthest from the median.
const MOST_STRAYS: usize = 3;

/// What is followed over time.
#[derive(Clone, Copy)]
struct Level {
    name: &'static str,
    metric: Metric,
    of: fn(&Point, &Interval) -> Option<f64>,
}

const LEVELS: [Level; 3] = [
    Level {
        name: "bandwidth",
        metric: Metric::Bandwidth,
        of: |point, interval| {
            let seconds = interval.duration_ns.get() as f64 / 1e9;
            let bits = interval.messages as f64 * point.msg_bytes.get() as f64 * 8.0;
            (point.test == Test::Bandwidth && seconds > 0.0).then(|| bits / seconds)
        },
    },
    Level { name: "p50", metric: Metric::P50, of: |_, interval| interval.p50_ns.map(|ns| ns as f64) },
    Level { name: "p99", metric: Metric::P99, of: |_, interval| interval.p99_ns.map(|ns| ns as f64) },
];

impl Level {
    /// A level as it was kept: latencies of an interval have two digits.
    fn text(&self, value: f64) -> String {
        match self.metric.quantile() {
            None => number::value(self.metric, value),
            Some(_) => number::nanos_of_interval(value),
        }
    }
}

/// A run's level at every place; none where it has no interval there.
type Line = Vec<Option<f64>>;

/// The runs of a variant over time.
struct Group<'c> {
    series: Series<'c>,
    variant: usize,
    /// Run and its level.
    lines: Vec<(u32, Line)>,
    /// Over the runs, at every place.
    spreads: Vec<Option<Spread>>,
}

/// The time series of one message size; none where no run has two intervals.
pub(in crate::render) fn over_time(
    source: &Source<'_>,
    msg_bytes: Bytes,
) -> Result<Option<Figure>, RenderError> {
    let places = Places::of(source, msg_bytes);
    let shown: Vec<(Level, Vec<Group<'_>>)> = LEVELS
        .into_iter()
        .map(|level| (level, groups(source, msg_bytes, level, &places)))
        .filter(|(_, groups)| !groups.is_empty())
        .collect();
    if places.count < 2 || shown.is_empty() {
        return Ok(None);
    }
    let names = shown.iter().map(|(level, _)| level.name.to_owned()).collect();
    let choice = Choice::between("Metric", names);
    let mut drawings = Vec::new();
    for (n, (level, groups)) in shown.iter().enumerate() {
        let picks = choice.iter().map(|_| n).collect();
        drawings.push(drawing(source, *level, groups, &places, (picks, n * places.count))?);
    }
    let runs = shown.iter().flat_map(|(_, groups)| groups).map(|group| group.lines.len()).min().unwrap_or(0);
    let each = match places.together {
        1 => format!("each interval ({})", places.length()),
        n => format!(
            "every {n} intervals ({}), of which each run shows the one farthest from its median",
            places.length()
        ),
    };
    let caption = format!(
        "The median of the runs of a variant in {each}, in a band from the lowest run to the highest, at least {} each; thin lines are the {MOST_STRAYS} runs of a variant that stray farthest. Level lines and narrow bands are what sound runs look like. The axis does not start at zero.",
        number::counted(runs as u32, "run")
    );
    Ok(Some(Figure {
        title: source.titled("Within the runs, over time", msg_bytes),
        caption,
        choices: choice.into_iter().collect(),
        drawings,
        numbers: numbers(source, &shown, &places),
    }))
}

/// The places in time that all runs share.
struct Places {
    count: usize,
    /// Intervals at a place.
    together: usize,
    /// Of one interval, s.
    seconds: f64,
}

impl Places {
    fn of(source: &Source<'_>, msg_bytes: Bytes) -> Self {
        let points = source.points(msg_bytes);
        let most = points.iter().map(|(_, point)| point.intervals.len()).max().unwrap_or(0);
        let first = points.iter().find_map(|(_, point)| point.intervals.first());
        let together = most.div_ceil(MOST_PLACES).max(1);
        let seconds = first.map_or(0.0, |interval| interval.duration_ns.get() as f64 / 1e9);
        Places { count: most.div_ceil(together), together, seconds }
    }

    /// Middle of a place, s.
    fn middle(&self, place: usize) -> f64 {
        (place as f64 + 0.5) * self.seconds * self.together as f64
    }

    fn length(&self) -> String {
        number::nanos(self.seconds * self.together as f64 * 1e9)
    }

    /// A run at every place. Of several intervals, that farthest from the run's median: a hiccup is not averaged away.
    fn line(&self, level: Level, point: &Point) -> Line {
        let levels: Vec<Option<f64>> =
            point.intervals.iter().map(|interval| (level.of)(point, interval)).collect();
        let Some(all) = spread(levels.iter().flatten().copied()) else { return Vec::new() };
        let off = |value: &f64| (value - all.median).abs();
        let farthest =
            |some: &[Option<f64>]| some.iter().flatten().copied().max_by(|a, b| off(a).total_cmp(&off(b)));
        levels.chunks(self.together).map(farthest).collect()
    }
}

fn groups<'c>(source: &Source<'c>, msg_bytes: Bytes, level: Level, places: &Places) -> Vec<Group<'c>> {
    let mut groups = Vec::new();
    for (variant, series) in source.series().into_iter().enumerate() {
        let own = source.points(msg_bytes).iter();
        let own = own.filter(|(run, _)| run.variant == series.name && run.purpose == Purpose::Measure);
        let lines = own.map(|(run, point)| (run.number(), places.line(level, point)));
        let lines: Vec<(u32, Line)> = lines.filter(|(_, line)| line.iter().flatten().count() > 1).collect();
        let at =
            |place: usize| spread(lines.iter().filter_map(|(_, line)| line.get(place).copied().flatten()));
        let spreads: Vec<Option<Spread>> = (0..places.count).map(at).collect();
        if !lines.is_empty() {
            groups.push(Group { series, variant, lines, spreads });
        }
    }
    groups
}

impl Group<'_> {
    /// The run and how far it strays from the median at its worst, the farthest first.
    fn strays(&self) -> Vec<&(u32, Line)> {
        let off = |(_, line): &&(u32, Line)| {
            let both = line.iter().zip(&self.spreads);
            let off =
                both.filter_map(|(value, spread)| Some((value.as_ref()? - spread.as_ref()?.median).abs()));
            off.fold(0.0, f64::max)
        };
        let mut lines: Vec<&(u32, Line)> = self.lines.iter().collect();
        lines.sort_by(|a, b| off(b).total_cmp(&off(a)));
        lines.truncate(MOST_STRAYS);
        lines
    }
}

fn drawing(
    source: &Source<'_>,
    level: Level,
    groups: &[Group<'_>],
    places: &Places,
    (picks, first_row): (Vec<usize>, usize),
) -> Result<Drawing, RenderError> {
    let values = groups.iter().flat_map(|group| &group.spreads).flatten();
    let name = words::metric(level.metric, source.test);
    let end = places.count as f64 * places.seconds * places.together as f64;
    let frame = Frame {
        height: HEIGHT,
        left: 190,
        right: 50,
        simulated: source.simulated,
        legend: source.legend(),
        x: Axis::linear([0.0, end].into_iter(), "time in the Measure phase".into(), |s| {
            format!("{} s", number::plain(s))
        }),
        y: Axis::linear(values.flat_map(|spread| [spread.min, spread.max]), name, |v| {
            number::value_short(level.metric, v)
        }),
    };
    let mut spots = Vec::new();
    let at = |place: usize, value: f64| (places.middle(place), value);
    let svg = frame.draw("over time", |chart| {
        for group in groups {
            let edge = |of: fn(&Spread) -> f64| {
                let spreads = group.spreads.iter().enumerate();
                let edge = spreads.filter_map(|(place, spread)| Some(at(place, of(spread.as_ref()?))));
                edge.collect::<Vec<(f64, f64)>>()
            };
            band(chart, &edge(|spread| spread.min), &edge(|spread| spread.max), group.series.paint)?;
        }
        for group in groups {
            for (_, stray) in group.strays() {
                let places = stray.iter().enumerate().filter_map(|(place, value)| Some(at(place, (*value)?)));
                chart.draw_series(LineSeries::new(places, line(group.series.paint, 0.5, 2)))?;
            }
        }
        for Group { series, variant, spreads, .. } in groups {
            let medians = || {
                let spreads = spreads.iter().enumerate();
                spreads.filter_map(|(place, spread)| Some((place, at(place, spread.as_ref()?.median))))
            };
            chart.draw_series(LineSeries::new(medians().map(|(_, at)| at), line(series.paint, 1.0, 4)))?;
            for (place, at) in medians() {
                mark(chart, series.mark, series.paint, at)?;
                spots.push(Spot::on(chart, at, first_row + place, *variant));
            }
        }
        Ok(())
    })?;
    Ok(Drawing::new(picks, svg, HEIGHT, spots))
}

fn numbers(source: &Source<'_>, shown: &[(Level, Vec<Group<'_>>)], places: &Places) -> Numbers {
    let mut rows = Vec::new();
    for (level, groups) in shown {
        for place in 0..places.count {
            let mut cells = vec![String::new(); source.variants().len()];
            for group in groups {
                let text = group.spreads[place].map(|spread| told(*level, group, place, &spread));
                cells[group.variant] = text.unwrap_or_default();
            }
            rows.push((format!("{}, at {}", level.name, number::nanos(places.middle(place) * 1e9)), cells));
        }
    }
    let about = "Metric and time: median of the runs, lowest to highest".into();
    Numbers { about, columns: source.variants(), rows }
}

/// The runs at a place, with the one that strays farthest from their median.
fn told(level: Level, group: &Group<'_>, place: usize, spread: &Spread) -> String {
    let off = |value: f64| (value - spread.median).abs();
    let here = group.lines.iter().filter_map(|(run, line)| Some((run, line.get(place).copied().flatten()?)));
    let stray = here.max_by(|(_, a), (_, b)| off(*a).total_cmp(&off(*b)));
    let stray = stray.map_or_else(String::new, |(run, _)| format!(", farthest: run {run}"));
    let [median, min, max] = [spread.median, spread.min, spread.max].map(|value| level.text(value));
    format!("{median} ({min} to {max}{stray})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{index::Index, testing};
    use pretty_assertions::assert_eq;

    #[test]
    fn a_hiccup_is_not_averaged_away() {
        let mut point = testing::point_of_bandwidth(Bytes(64), 1e9);
        point.intervals = (0..100).map(|i| testing::interval(i, 1_000)).collect();
        point.intervals[37].messages = 10;
        let places = Places { count: 34, together: 3, seconds: 0.1 };
        let line = places.line(LEVELS[0], &point);
        assert_eq!(line.len(), 34);
        assert_eq!(line[12], Some(10.0 * 64.0 * 8.0 / 0.1));
        assert_eq!(line.iter().filter(|level| **level == line[12]).count(), 1);
    }

    #[test]
    fn the_run_that_strays_is_drawn_and_named() {
        let mut campaign = testing::Sample::default().campaign();
        let stray = campaign.runs.iter().position(|run| run.block == 4 && run.variant == "deep").unwrap();
        campaign.runs[stray].record.points[0].intervals[5].messages /= 2;
        let index = Index::of(&campaign);
        let source = Source::of(&campaign, &index, &campaign.workloads[0], Test::Bandwidth);
        let figure = over_time(&source, Bytes(65_536)).unwrap().unwrap();
        let (name, cells) = &figure.numbers.rows[5];
        assert_eq!(name, "bandwidth, at 550 ms");
        let farthest = format!("farthest: run {})", campaign.runs[stray].number());
        assert!(cells[1].ends_with(&farthest), "{cells:?}");
    }
}
