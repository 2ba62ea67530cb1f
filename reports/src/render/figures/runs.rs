//! Every run as a dot, in the order they happened: drift and outliers show here, where a mean would hide them.

use plotters::prelude::*;
use schema::{Bytes, CampaignRun, Metric, Purpose};

use super::{
    Figure, RenderError, Source,
    axis::{Axis, nice_step, steps},
    frame::{Frame, Mark, line, mark},
    paint::Paint,
};
use crate::{
    compare::spread,
    render::{number, words},
};

const HEIGHT: u32 = 640;

/// The dots of one message size; none without a completed run.
pub(in crate::render) fn runs(source: Source<'_>, msg_bytes: Bytes) -> Result<Option<Figure>, RenderError> {
    let metric = Metric::primary(source.test);
    let dots: Vec<(&CampaignRun, f64)> = source
        .points(msg_bytes)
        .filter_map(|(run, point)| metric.of(point).map(|value| (run, value)))
        .collect();
    let Some(last) = source.campaign.runs.iter().map(|run| run.number()).max().filter(|_| !dots.is_empty())
    else {
        return Ok(None);
    };
    let series = source.series();
    let mut legend = source.legend();
    legend.push((Mark::Ring, Paint::Control, "A/A control".into()));
    let frame = Frame {
        height: HEIGHT,
        left: 190,
        right: 50,
        simulated: source.simulated,
        legend,
        x: sequence_axis(last),
        y: Axis::linear(dots.iter().map(|(_, value)| *value), words::metric(metric, source.test), |v| {
            number::value_short(metric, v)
        }),
    };
    let svg = frame.draw("runs", |chart| {
        for series in &series {
            let own =
                dots.iter().filter(|(run, _)| run.variant == series.name && run.purpose == Purpose::Measure);
            if let Some(spread) = spread(own.map(|(_, value)| *value)) {
                let ends = [(1.0, spread.median), (f64::from(last), spread.median)];
                chart.plotting_area().draw(&PathElement::new(ends, line(series.paint, 0.45, 2)))?;
            }
        }
        for (run, value) in &dots {
            let at = (f64::from(run.number()), *value);
            let series = series.iter().find(|series| series.name == run.variant);
            match (run.purpose, series) {
                (Purpose::Control, _) => mark(chart, Mark::Ring, Paint::Control, at)?,
                (_, Some(series)) => mark(chart, series.mark, series.paint, at)?,
                (_, None) => {}
            }
        }
        Ok(())
    })?;
    let name = words::metric(metric, source.test);
    let caption = format!(
        "{} of each of {} completed runs, in the order they happened; lines are the medians of the variants. The axis does not start at zero.",
        words::capitalised(&name),
        dots.len()
    );
    let title = format!("Run by run, {} at {}", source.workload.name, number::size(msg_bytes));
    Ok(Some(Figure::new(title, caption, svg, HEIGHT)))
}

fn sequence_axis(last: u32) -> Axis {
    let step = nice_step(f64::from(last.max(5)) / 8.0).max(1.0);
    let ticks = steps(1.0, f64::from(last), step).map(|tick| (tick, format!("{tick:.0}"))).collect();
    Axis { from: 0.4, to: f64::from(last) + 0.6, ticks, title: "run".into() }
}
