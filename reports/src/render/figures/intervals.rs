//! Within the runs: the level of every interval over the Measure phase. A stall, a warm-up too short, a drift show here.

use plotters::prelude::*;
use schema::{Bytes, Metric, Point, Purpose, Test};

use super::{
    Figure, RenderError, Source,
    axis::Axis,
    frame::{Frame, line},
};
use crate::{
    compare::interval_level,
    render::{number, words},
};

const HEIGHT: u32 = 640;
/// More points than this on one line are not seen.
const MOST_POINTS: usize = 60;

/// The time series of one message size; none where no run has two intervals.
pub(in crate::render) fn intervals(
    source: Source<'_>,
    msg_bytes: Bytes,
) -> Result<Option<Figure>, RenderError> {
    let series = source.series();
    let lines: Vec<_> = source
        .points(msg_bytes)
        .filter(|(run, _)| run.purpose == Purpose::Measure)
        .filter_map(|(run, point)| {
            let paint = series.iter().find(|series| series.name == run.variant)?.paint;
            Some((paint, over_time(source.test, point)))
        })
        .filter(|(_, line)| line.len() > 1)
        .collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let points = || lines.iter().flat_map(|(_, line)| line).copied();
    let metric = Metric::primary(source.test);
    let what = match source.test {
        Test::Bandwidth => "bandwidth",
        Test::Latency => "p50 latency",
    };
    let frame = Frame {
        height: HEIGHT,
        left: 190,
        right: 50,
        simulated: source.simulated,
        legend: source.legend(),
        x: Axis::linear(points().map(|(seconds, _)| seconds), "time in the Measure phase".into(), |s| {
            format!("{} s", number::plain(s))
        }),
        y: Axis::linear(points().map(|(_, level)| level), what.into(), |v| number::value_short(metric, v)),
    };
    let svg = frame.draw("intervals", |chart| {
        for (paint, points) in &lines {
            chart.draw_series(LineSeries::new(points.iter().copied(), line(*paint, 0.5, 3)))?;
        }
        Ok(())
    })?;
    let caption = format!(
        "{} of each interval, one line a run, {} runs. Level lines are what a sound run looks like. The axis does not start at zero.",
        words::capitalised(what),
        lines.len()
    );
    let title = format!("Within the runs, {} at {}", source.workload.name, number::size(msg_bytes));
    Ok(Some(Figure::new(title, caption, svg, HEIGHT)))
}

/// Middle of each interval in seconds, and its level in the unit of the primary metric.
fn over_time(test: Test, point: &Point) -> Vec<(f64, f64)> {
    let unit = match test {
        Test::Bandwidth => point.msg_bytes.get() as f64 * 8.0,
        Test::Latency => 1.0,
    };
    let every = point.intervals.len().div_ceil(MOST_POINTS).max(1);
    point
        .intervals
        .iter()
        .step_by(every)
        .filter_map(|interval| {
            let middle = interval.start_ns.get() as f64 + interval.duration_ns.get() as f64 / 2.0;
            interval_level(test, interval).map(|level| (middle / 1e9, level * unit))
        })
        .collect()
}
