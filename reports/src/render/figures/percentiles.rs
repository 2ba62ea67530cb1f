//! Percentile curves: all runs of a variant together, and each run thinly behind them.

use hdrhistogram::Histogram;
use plotters::prelude::*;
use schema::{Bytes, histogram::MIN_TAIL_SAMPLES};

use super::{
    Figure, RenderError, Source,
    axis::Axis,
    frame::{Frame, line},
};
use crate::render::{number, words};

const HEIGHT: u32 = 760;
/// Distance of the points of a curve, in decades of the share that lies beyond.
const STEP: f64 = 0.05;
/// Distance for the thin curves of single runs.
const COARSE_STEP: f64 = 0.1;

/// A curve: how far into the tail (decades of the share beyond), and log10 of the latency in ns.
type Curve = Vec<(f64, f64)>;

/// The percentile curves of one message size; none without a completed run.
pub(in crate::render) fn percentiles(
    source: Source<'_>,
    msg_bytes: Bytes,
) -> Result<Option<Figure>, RenderError> {
    let mut curves = Vec::new();
    for series in source.series() {
        let histograms = decoded(source, series.name, msg_bytes)?;
        let Some(all) = merged(&histograms) else { continue };
        let single: Vec<Curve> = histograms.iter().map(|run| curve(run, COARSE_STEP)).collect();
        curves.push((series.paint, curve(&all, STEP), single, all.len()));
    }
    if curves.is_empty() {
        return Ok(None);
    }
    let points = || curves.iter().flat_map(|(_, all, single, _)| single.iter().flatten().chain(all)).copied();
    let depth = points().map(|(tail, _)| tail).fold(1.0, f64::max);
    let frame = Frame {
        height: HEIGHT,
        left: 170,
        right: 80,
        simulated: source.simulated,
        legend: source.legend(),
        x: tail_axis(depth),
        y: Axis::log(points().map(|(_, ns)| 10f64.powf(ns)), "latency".into(), number::nanos_short),
    };
    let svg = frame.draw("percentiles", |chart| {
        for (paint, all, single, _) in &curves {
            for run in single {
                chart.draw_series(LineSeries::new(run.iter().copied(), line(*paint, 0.22, 2)))?;
            }
            chart.draw_series(LineSeries::new(all.iter().copied(), line(*paint, 1.0, 5)))?;
        }
        Ok(())
    })?;
    let messages = curves.iter().map(|(_, _, _, messages)| *messages).min().unwrap_or(0);
    let caption = format!(
        "{} by percentile; both axes are logarithmic. Bold: all runs of a variant together, at least {} messages each; thin: single runs. A curve ends where fewer than 10 messages lie beyond.",
        spans(source, msg_bytes),
        number::grouped(messages)
    );
    let title = format!("Latency by percentile, {} at {}", source.workload.name, number::size(msg_bytes));
    Ok(Some(Figure::new(title, caption, svg, HEIGHT)))
}

/// What the latencies span; of variants in closed and open loops, both.
fn spans(source: Source<'_>, msg_bytes: Bytes) -> String {
    let mut spans: Vec<String> = Vec::new();
    for (_, point) in source.points(msg_bytes) {
        let span = words::latency(point.latency_ns.kind);
        if !spans.contains(&span) {
            spans.push(span);
        }
    }
    spans.join("; ")
}

fn decoded(source: Source<'_>, variant: &str, msg_bytes: Bytes) -> Result<Vec<Histogram<u64>>, RenderError> {
    source
        .points_of(variant, msg_bytes)
        .map(|point| {
            let workload = source.workload.name.clone();
            point.histogram.decode().map_err(|source| RenderError::Histogram { workload, msg_bytes, source })
        })
        .collect()
}

fn merged(histograms: &[Histogram<u64>]) -> Option<Histogram<u64>> {
    let (first, rest) = histograms.split_first()?;
    let mut all = first.clone();
    for histogram in rest {
        // Same bounds in every record, so there is always room.
        all.add(histogram).ok()?;
    }
    Some(all)
}

fn curve(histogram: &Histogram<u64>, step: f64) -> Curve {
    let deepest = (histogram.len() as f64 / MIN_TAIL_SAMPLES).log10().max(0.0);
    (0..=(deepest / step) as u32)
        .map(|i| f64::from(i) * step)
        .map(|tail| (tail, histogram.value_at_quantile(1.0 - 10f64.powf(-tail)).max(1)))
        .map(|(tail, ns)| (tail, (ns as f64).log10()))
        .collect()
}

/// 0, 50, 90, 99, 99.9 and so on.
fn tail_axis(depth: f64) -> Axis {
    let decades = (1..=depth.floor() as u32).map(|decades| {
        let nines = 100.0 - 100.0 * 10f64.powi(-(decades as i32));
        let digits = decades.saturating_sub(2) as usize;
        (f64::from(decades), format!("{nines:.digits$}"))
    });
    let ticks = [(0.0, "0".to_owned()), (2f64.log10(), "50".to_owned())].into_iter().chain(decades).collect();
    Axis { from: 0.0, to: depth, ticks, title: "percentile".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::histogram::new_latency_histogram;

    #[test]
    fn a_curve_ends_where_ten_samples_lie_beyond() {
        let mut histogram = new_latency_histogram();
        (1..=10_000).for_each(|ns| histogram.record(ns).unwrap());
        let curve = curve(&histogram, STEP);
        assert_eq!(curve.last().unwrap().0, 3.0);
        // Values are kept to three digits.
        assert!((10f64.powf(curve.last().unwrap().1) - 9_990.0).abs() < 10.0);
    }

    #[test]
    fn ticks_are_percentiles() {
        let texts: Vec<String> = tail_axis(4.2).ticks.into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["0", "50", "90", "99", "99.9", "99.99"]);
    }
}
