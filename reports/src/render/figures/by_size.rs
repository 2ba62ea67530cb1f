//! The primary metric by message size: median of the runs, smallest to largest.

use plotters::prelude::*;
use schema::{Bytes, Metric};

use super::{
    Figure, RenderError, Source,
    axis::Axis,
    frame::{Frame, line, mark},
};
use crate::{
    compare::{Spread, spread},
    render::{number, words},
};

const HEIGHT: u32 = 720;

/// The figure; none for a workload of one size.
pub(in crate::render) fn by_size(source: Source<'_>, sizes: &[Bytes]) -> Result<Option<Figure>, RenderError> {
    let metric = Metric::primary(source.test);
    let series = source.series();
    let spreads: Vec<Vec<(f64, Spread)>> =
        series.iter().map(|s| by_place(source, s.name, sizes, metric)).collect();
    let values = || spreads.iter().flatten().flat_map(|(_, spread)| [spread.min, spread.max]);
    if sizes.len() < 2 || values().next().is_none() {
        return Ok(None);
    }
    let frame = Frame {
        height: HEIGHT,
        left: 190,
        right: 50,
        simulated: source.simulated,
        legend: source.legend(),
        x: Axis::places(sizes.iter().map(|size| number::size(*size)).collect(), "message size".into()),
        y: Axis::log(values(), words::metric(metric, source.test), |v| number::value_short(metric, v)),
    };
    let svg = frame.draw("by size", |chart| {
        for (n, (series, spreads)) in series.iter().zip(&spreads).enumerate() {
            // Side by side, so that equal values do not hide each other.
            let aside = (n as f64 - (series_count(&frame) - 1.0) / 2.0) * 0.06;
            let median = |(place, spread): &(f64, Spread)| (place + aside, spread.median.log10());
            chart.draw_series(LineSeries::new(spreads.iter().map(median), line(series.paint, 1.0, 4)))?;
            for at in spreads {
                let (x, _) = median(at);
                let ends = [(x, at.1.min.log10()), (x, at.1.max.log10())];
                chart.plotting_area().draw(&PathElement::new(ends, line(series.paint, 1.0, 4)))?;
                mark(chart, series.mark, series.paint, median(at))?;
            }
        }
        Ok(())
    })?;
    let name = words::metric(metric, source.test);
    let runs = spreads.iter().flatten().map(|(_, spread)| spread.runs).min().unwrap_or(0);
    let caption = format!(
        "Median of the runs of a variant, at least {} a size; bars reach from the smallest to the largest run. Logarithmic.",
        number::counted(runs, "run")
    );
    let title = format!("{} by message size, {}", words::capitalised(&name), source.workload.name);
    Ok(Some(Figure::new(title, caption, svg, HEIGHT)))
}

fn series_count(frame: &Frame<'_>) -> f64 {
    frame.legend.len() as f64
}

fn by_place(source: Source<'_>, variant: &str, sizes: &[Bytes], metric: Metric) -> Vec<(f64, Spread)> {
    let at = |(place, size): (usize, &Bytes)| {
        let numbers = source.points_of(variant, *size).filter_map(|point| metric.of(point));
        spread(numbers.filter(|number| *number > 0.0)).map(|spread| (place as f64, spread))
    };
    sizes.iter().enumerate().filter_map(at).collect()
}
