//! Percentile curves: the median of the runs of a variant, in a band from the lowest run to the highest.

use plotters::prelude::*;
use schema::Bytes;

use super::{
    RenderError,
    axis::Axis,
    figure::{Choice, Drawing, Figure, Numbers, Spot},
    frame::{Frame, band, line, mark},
    source::Source,
    tails::{TOLD, Tails, decades, runs_read},
};
use crate::render::number;

const HEIGHT: u32 = 760;

/// The percentile curves of one message size; none without a completed run.
pub(in crate::render) fn percentiles(
    source: &Source<'_>,
    msg_bytes: Bytes,
    tails: &[Tails],
) -> Result<Option<Figure>, RenderError> {
    let Some(first) = tails.first() else { return Ok(None) };
    let mut drawings = Vec::new();
    for (pick, log) in [true, false].into_iter().enumerate() {
        drawings.push(drawing(source, tails, pick, log)?);
    }
    let caption = format!(
        "{} by percentile. Each line is the median of the runs of a variant at that percentile, the band around it reaches from the lowest run to the highest ({}). A curve ends where fewer than 10 messages of a run lie beyond.",
        source.spans(msg_bytes),
        runs_read(first)
    );
    Ok(Some(Figure {
        title: source.titled("Latency by percentile", msg_bytes),
        caption,
        choices: vec![Choice::scale()],
        drawings,
        numbers: numbers(source, tails),
    }))
}

fn drawing(source: &Source<'_>, tails: &[Tails], pick: usize, log: bool) -> Result<Drawing, RenderError> {
    let curves = || tails.iter().flat_map(|tails| &tails.curve);
    let depth = curves().map(|at| at.tail).fold(1.0, f64::max);
    let values = curves().flat_map(|at| [at.ns.min.max(1.0), at.ns.max]);
    let frame = Frame {
        height: HEIGHT,
        left: 170,
        right: 80,
        simulated: source.simulated,
        legend: source.legend(),
        x: tail_axis(depth),
        y: Axis::of(log, values, "latency".into(), number::nanos_short),
    };
    let y = |ns: f64| if log { ns.max(1.0).log10() } else { ns };
    let series = source.series();
    let mut spots = Vec::new();
    let svg = frame.draw("percentiles", |chart| {
        for tails in tails {
            let edge = |ns: fn(&crate::compare::Spread) -> f64| {
                tails.curve.iter().map(move |at| (at.tail, y(ns(&at.ns)))).collect::<Vec<_>>()
            };
            band(chart, &edge(|ns| ns.min), &edge(|ns| ns.max), tails.paint)?;
        }
        for tails in tails {
            let median = tails.curve.iter().map(|at| (at.tail, y(at.ns.median)));
            chart.draw_series(LineSeries::new(median, line(tails.paint, 1.0, 5)))?;
            for at in &tails.curve {
                let Some(row) = at.told else { continue };
                let place = (at.tail, y(at.ns.median));
                mark(chart, series[tails.variant].mark, tails.paint, place)?;
                spots.push(Spot::on(chart, place, row, tails.variant));
            }
        }
        Ok(())
    })?;
    Ok(Drawing::new(vec![pick], svg, HEIGHT, spots))
}

fn numbers(source: &Source<'_>, tails: &[Tails]) -> Numbers {
    let mut columns = vec![String::new(); source.variants().len()];
    for tails in tails {
        columns[tails.variant] = format!("n = {}", runs_read(tails));
    }
    let columns = source.variants().into_iter().zip(columns);
    let cell = |variant: usize, row: usize| {
        let at = tails
            .iter()
            .filter(|tails| tails.variant == variant)
            .flat_map(|tails| &tails.curve)
            .find(|at| at.told == Some(row));
        at.map_or_else(String::new, |at| {
            let [median, min, max] = [at.ns.median, at.ns.min, at.ns.max].map(number::nanos);
            format!("{median} ({min} to {max})")
        })
    };
    let columns: Vec<String> = columns.map(|(name, runs)| format!("{name}, {runs}")).collect();
    let rows = TOLD.iter().enumerate().map(|(row, percent)| {
        (format!("p{percent}"), (0..columns.len()).map(|variant| cell(variant, row)).collect::<Vec<_>>())
    });
    let rows = rows.filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty())).collect();
    Numbers { about: "Percentile: median of the runs, lowest to highest".into(), rows, columns }
}

/// 0, 50, 90, 99, 99.9 and so on.
fn tail_axis(depth: f64) -> Axis {
    let decades_of_ten = (1..=(depth + 1e-9).floor() as u32).map(|decades| {
        let nines = 100.0 - 100.0 * 10f64.powi(-(decades as i32));
        let digits = decades.saturating_sub(2) as usize;
        (f64::from(decades), format!("p{nines:.digits$}"))
    });
    let ticks = [(0.0, "min".to_owned()), (decades(50.0), "p50".to_owned())];
    let ticks = ticks.into_iter().chain(decades_of_ten).collect();
    Axis { from: 0.0, to: depth, ticks, title: "percentile, each tick a tenth of the messages left".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_percentiles() {
        let texts: Vec<String> = tail_axis(4.2).ticks.into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["min", "p50", "p90", "p99", "p99.9", "p99.99"]);
    }
}
