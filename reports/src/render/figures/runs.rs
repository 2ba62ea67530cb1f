//! Every run as a mark, in the order they happened: drift and outliers show here, where a mean would hide them.

use plotters::prelude::*;
use schema::{Bytes, CampaignRun, Metric, Point, Purpose, Test};

use super::{
    RenderError,
    axis::{Axis, nice_step, steps},
    by_size::spread_text,
    figure::{Choice, Drawing, Figure, Numbers, Spot},
    frame::{Frame, Mark, line, mark},
    paint::Paint,
    source::Source,
};
use crate::{
    compare::{Spread, spread},
    render::{number, words},
};

const HEIGHT: u32 = 640;
/// More marks than this are drawn together, some neighbours each.
const MOST_MARKS: usize = 300;
/// More blocks than this are not told apart by shading.
const MOST_SHADED: u32 = 60;

/// A run and its point.
type RunPoint<'c> = (&'c CampaignRun, &'c Point);

/// One mark: a run, or neighbours in time of one variant.
struct Marked<'c> {
    /// First and last run.
    runs: (u32, u32),
    /// As people count, from 1.
    block: u32,
    variant: &'c str,
    control: bool,
    /// Of each metric.
    values: Vec<Option<Spread>>,
}

/// The marks of one message size; none without a completed run.
pub(in crate::render) fn runs(source: &Source<'_>, msg_bytes: Bytes) -> Result<Option<Figure>, RenderError> {
    let points = source.points(msg_bytes);
    let Some(last) = source.campaign.runs.iter().map(|run| run.number()).max().filter(|_| !points.is_empty())
    else {
        return Ok(None);
    };
    let wanted: &[Metric] = match source.test {
        Test::Bandwidth => &[Metric::Bandwidth, Metric::P50, Metric::P99],
        Test::Latency => &[Metric::P50, Metric::P99, Metric::P99_9],
    };
    let metrics = source.published(wanted, &[msg_bytes]);
    let together = points.len().div_ceil(MOST_MARKS) as u32;
    let marked = marked(source, points, &metrics, together);
    let choice = Choice::between("Metric", source.named(&metrics));
    let mut drawings = Vec::new();
    for (n, metric) in metrics.iter().enumerate() {
        drawings.push(drawing(source, &marked, (*metric, n), last, choice.is_some())?);
    }
    let each = match together {
        1 => "Each mark is a run".to_owned(),
        _ => format!(
            "Each mark is the median of the runs of a variant among {together} times as many neighbours as there are variants, its bar from the smallest to the largest"
        ),
    };
    let caption = format!(
        "{each}, in the order they happened ({}); lines are the medians of the variants, shading marks every other block. The axis does not start at zero.",
        number::counted(points.len() as u32, "completed run")
    );
    Ok(Some(Figure {
        title: source.titled("Run by run", msg_bytes),
        caption,
        choices: choice.into_iter().collect(),
        drawings,
        numbers: numbers(&marked, &metrics),
    }))
}

/// Puts neighbours in time of one variant together; with `together` 1, every run stays by itself.
fn marked<'c>(
    source: &Source<'c>,
    points: &[RunPoint<'c>],
    metrics: &[Metric],
    together: u32,
) -> Vec<Marked<'c>> {
    let mut marked = Vec::new();
    for series in source.series() {
        for purpose in [Purpose::Measure, Purpose::Control] {
            let own = |(run, _): &&RunPoint<'c>| run.variant == series.name && run.purpose == purpose;
            let own: Vec<&RunPoint<'c>> = points.iter().filter(own).collect();
            let some = own.chunks(together.max(1) as usize);
            marked.extend(some.filter_map(|some| mark_of(series.name, some, metrics)));
        }
    }
    marked.sort_by_key(|mark| mark.runs);
    marked
}

fn mark_of<'c>(variant: &'c str, runs: &[&RunPoint<'_>], metrics: &[Metric]) -> Option<Marked<'c>> {
    let ((first, _), (last, _)) = runs.first().zip(runs.last())?;
    let value = |metric: &Metric| spread(runs.iter().filter_map(|(_, point)| metric.of(point)));
    Some(Marked {
        runs: (first.number(), last.number()),
        block: first.block + 1,
        variant,
        control: first.purpose == Purpose::Control,
        values: metrics.iter().map(value).collect(),
    })
}

fn drawing(
    source: &Source<'_>,
    marked: &[Marked<'_>],
    (metric, n): (Metric, usize),
    last: u32,
    chosen: bool,
) -> Result<Drawing, RenderError> {
    let values = || marked.iter().filter_map(|mark| mark.values[n]);
    let mut legend = source.legend();
    if marked.iter().any(|mark| mark.control) {
        legend.push((Mark::Ring, Paint::Control, "A/A control".into()));
    }
    let frame = Frame {
        height: HEIGHT,
        left: 190,
        right: 50,
        simulated: source.simulated,
        legend,
        x: sequence_axis(last),
        y: Axis::linear(
            values().flat_map(|spread| [spread.min, spread.max]),
            words::metric(metric, source.test),
            |v| number::value_short(metric, v),
        ),
    };
    let (floor, ceiling) = (frame.y.from, frame.y.to);
    let mut spots = Vec::new();
    let svg = frame.draw("runs", |chart| {
        for (from, to) in shaded(source) {
            let area = [(from - 0.5, floor), (to + 0.5, ceiling)];
            chart.plotting_area().draw(&Rectangle::new(area, Paint::Margin.rgb().mix(0.35).filled()))?;
        }
        for series in &source.series() {
            let own = marked.iter().filter(|mark| mark.variant == series.name && !mark.control);
            if let Some(all) = spread(own.filter_map(|mark| mark.values[n]).map(|spread| spread.median)) {
                let ends = [(1.0, all.median), (f64::from(last), all.median)];
                chart.plotting_area().draw(&PathElement::new(ends, line(series.paint, 0.45, 2)))?;
            }
            for control in [true, false] {
                let shape = if control { (Mark::Ring, Paint::Control) } else { (series.mark, series.paint) };
                let own = |mark: &Marked<'_>| mark.variant == series.name && mark.control == control;
                for (row, this) in marked.iter().enumerate().filter(|(_, mark)| own(mark)) {
                    let Some(value) = this.values[n] else { continue };
                    let x = f64::from(this.runs.0 + this.runs.1) / 2.0;
                    if value.runs > 1 {
                        let bar = [(x, value.min), (x, value.max)];
                        chart.plotting_area().draw(&PathElement::new(bar, line(shape.1, 1.0, 2)))?;
                    }
                    mark(chart, shape.0, shape.1, (x, value.median))?;
                    spots.push(Spot::on(chart, (x, value.median), row, n));
                }
            }
        }
        Ok(())
    })?;
    Ok(Drawing::new(if chosen { vec![n] } else { Vec::new() }, svg, HEIGHT, spots))
}

/// First and last run of every other block; none where blocks are too many to be told apart.
fn shaded(source: &Source<'_>) -> Vec<(f64, f64)> {
    let blocks = source.campaign.runs.iter().map(|run| run.block).max().map_or(0, |last| last + 1);
    if blocks > MOST_SHADED {
        return Vec::new();
    }
    let of = |block: u32| {
        let runs = source.campaign.runs.iter().filter(move |run| run.block == block);
        let sequences = runs.map(|run| f64::from(run.number()));
        let ends =
            sequences.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
        (ends.0 <= ends.1).then_some(ends)
    };
    (1..blocks).step_by(2).filter_map(of).collect()
}

fn sequence_axis(last: u32) -> Axis {
    let step = nice_step(f64::from(last.max(5)) / 8.0).max(1.0);
    let ticks = steps(1.0, f64::from(last), step).map(|tick| (tick, format!("{tick:.0}"))).collect();
    Axis { from: 0.4, to: f64::from(last) + 0.6, ticks, title: "run, in the order of time".into() }
}

fn numbers(marked: &[Marked<'_>], metrics: &[Metric]) -> Numbers {
    let row = |mark: &Marked<'_>| {
        let control = if mark.control { ", A/A control" } else { "" };
        let name = match mark.runs {
            (first, last) if first == last => {
                format!("run {first}, block {}, {}{control}", mark.block, mark.variant)
            }
            (first, last) => format!("runs {first} to {last}, {}{control}", mark.variant),
        };
        let cells = mark.values.iter().zip(metrics).map(|(value, metric)| match value {
            Some(value) if value.runs == 1 => number::value(*metric, value.median),
            Some(value) => spread_text(*metric, value),
            None => String::new(),
        });
        (name, cells.collect())
    };
    let columns = metrics.iter().map(|metric| words::short_metric(*metric)).collect();
    Numbers { about: "Run".into(), columns, rows: marked.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{index::Index, testing::Sample};

    #[test]
    fn a_long_campaign_has_few_marks_and_leaves_no_run_out() {
        let campaign = Sample { blocks: 500, latencies: 0, ..Sample::default() }.campaign();
        let index = Index::of(&campaign);
        let source = Source::of(&campaign, &index, &campaign.workloads[0], Test::Bandwidth);
        let size = Bytes(65_536);
        let figure = runs(&source, size).unwrap().unwrap();
        assert!(figure.numbers.rows.len() <= MOST_MARKS + 3, "{} rows", figure.numbers.rows.len());
        let marked = marked(&source, source.points(size), &[Metric::Bandwidth], 5);
        let runs: u32 = marked.iter().filter_map(|mark| mark.values[0]).map(|spread| spread.runs).sum();
        assert_eq!(runs, 1_500);
    }
}
