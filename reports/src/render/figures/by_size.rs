//! Metrics by message size: median of the runs, smallest to largest.

use plotters::prelude::*;
use schema::{Bytes, Metric, Test};

use super::{
    RenderError,
    axis::Axis,
    figure::{Choice, Drawing, Figure, Numbers, Spot},
    frame::{Frame, line, mark},
    source::Source,
};
use crate::{
    compare::{Spread, spread},
    render::{number, words},
};

const HEIGHT: u32 = 720;

/// Of every variant, the spread of its runs at every size; none where no run has the metric.
type Spreads = Vec<Vec<Option<Spread>>>;

/// Bandwidth and message rate; none for a latency test and for one size.
pub(in crate::render) fn throughput_by_size(
    source: &Source<'_>,
    sizes: &[Bytes],
) -> Result<Option<Figure>, RenderError> {
    let title = format!("Bandwidth and message rate by message size, {}", source.workload.name);
    by_size(source, sizes, title, &[Metric::Bandwidth, Metric::MessageRate])
}

/// Latency percentiles; none for one size.
pub(in crate::render) fn latency_by_size(
    source: &Source<'_>,
    sizes: &[Bytes],
) -> Result<Option<Figure>, RenderError> {
    let load = if source.test == Test::Bandwidth { " under load" } else { "" };
    let title = format!("Latency{load} by message size, {}", source.workload.name);
    by_size(source, sizes, title, &[Metric::P50, Metric::P90, Metric::P99, Metric::P99_9])
}

fn by_size(
    source: &Source<'_>,
    sizes: &[Bytes],
    title: String,
    metrics: &[Metric],
) -> Result<Option<Figure>, RenderError> {
    let metrics = source.published(metrics, sizes);
    if sizes.len() < 2 || metrics.is_empty() {
        return Ok(None);
    }
    let spreads: Vec<Spreads> = metrics.iter().map(|metric| spreads(source, sizes, *metric)).collect();
    let choice = Choice::between("Metric", source.named(&metrics));
    let mut drawings = Vec::new();
    for (n, (metric, spreads)) in metrics.iter().zip(&spreads).enumerate() {
        for (pick, log) in [true, false].into_iter().enumerate() {
            let picks = choice.iter().map(|_| n).chain([pick]).collect();
            drawings.push(drawing(source, sizes, (*metric, spreads), (picks, log, n * sizes.len()))?);
        }
    }
    let runs = spreads.iter().flatten().flatten().flatten().map(|spread| spread.runs).min().unwrap_or(0);
    let caption = format!(
        "Median of the runs of a variant, at least {} a size; bars reach from the smallest to the largest run.",
        number::counted(runs, "run")
    );
    let choices = choice.into_iter().chain([Choice::scale()]).collect();
    let numbers = numbers(source, sizes, &metrics, &spreads);
    Ok(Some(Figure { title, caption, choices, drawings, numbers }))
}

fn drawing(
    source: &Source<'_>,
    sizes: &[Bytes],
    (metric, spreads): (Metric, &Spreads),
    (picks, log, first_row): (Vec<usize>, bool, usize),
) -> Result<Drawing, RenderError> {
    let values = spreads.iter().flatten().flatten().flat_map(|spread| [spread.min, spread.max]);
    let frame = Frame {
        height: HEIGHT,
        left: 190,
        right: 50,
        simulated: source.simulated,
        legend: source.legend(),
        x: Axis::places(sizes.iter().map(|size| number::size(*size)).collect(), "message size".into()),
        y: Axis::of(log, values, words::metric(metric, source.test), |v| number::value_short(metric, v)),
    };
    let y = |value: f64| if log { value.log10() } else { value };
    let mut spots = Vec::new();
    let count = spreads.len() as f64;
    let svg = frame.draw("by size", |chart| {
        for (variant, (series, spreads)) in source.series().iter().zip(spreads).enumerate() {
            // Side by side, so that equal values do not hide each other.
            let aside = (variant as f64 - (count - 1.0) / 2.0) * (0.3 / count).min(0.05);
            let at: Vec<(usize, f64, Spread)> = spreads
                .iter()
                .enumerate()
                .filter_map(|(place, spread)| spread.map(|spread| (place, place as f64 + aside, spread)))
                .collect();
            let medians = at.iter().map(|(_, x, spread)| (*x, y(spread.median)));
            chart.draw_series(LineSeries::new(medians, line(series.paint, 1.0, 4)))?;
            for (_, x, spread) in &at {
                let ends = [(*x, y(spread.min)), (*x, y(spread.max))];
                chart.plotting_area().draw(&PathElement::new(ends, line(series.paint, 1.0, 4)))?;
            }
            for (place, x, spread) in &at {
                mark(chart, series.mark, series.paint, (*x, y(spread.median)))?;
                spots.push(Spot::on(chart, (*x, y(spread.median)), first_row + place, variant));
            }
        }
        Ok(())
    })?;
    Ok(Drawing::new(picks, svg, HEIGHT, spots))
}

fn spreads(source: &Source<'_>, sizes: &[Bytes], metric: Metric) -> Spreads {
    let of = |variant: &str, size: &Bytes| {
        let points = source.points_of(variant, *size);
        let numbers = points.iter().filter_map(|point| metric.of(point));
        spread(numbers.filter(|number| *number > 0.0))
    };
    let variants = source.series();
    variants.iter().map(|series| sizes.iter().map(|size| of(series.name, size)).collect()).collect()
}

fn numbers(source: &Source<'_>, sizes: &[Bytes], metrics: &[Metric], spreads: &[Spreads]) -> Numbers {
    let mut rows = Vec::new();
    for (metric, spreads) in metrics.iter().zip(spreads) {
        for (place, size) in sizes.iter().enumerate() {
            let cells = spreads.iter().map(|variant| {
                variant[place].map_or_else(String::new, |spread| spread_text(*metric, &spread))
            });
            let name = format!("{}, {}", words::short_metric(*metric), number::size(*size));
            rows.push((name, cells.collect()));
        }
    }
    let about = "Metric and size: median of the runs, smallest to largest".into();
    Numbers { about, columns: source.variants(), rows }
}

/// Median, smallest, largest and n.
pub(super) fn spread_text(metric: Metric, spread: &Spread) -> String {
    let [median, min, max] = [spread.median, spread.min, spread.max].map(|v| number::value(metric, v));
    format!("{median} ({min} to {max}, n = {})", number::counted(spread.runs, "run"))
}
