//! Effects with their intervals, one row a gate, each beside its margin and its A/A control.

use plotters::{prelude::*, style::text_anchor::HPos};

use super::{
    Figure, RenderError,
    axis::{Axis, nice_step, steps},
    frame::{Chart, Drawn, Frame, Mark, line, mark, text},
    paint::Paint,
};
use crate::{
    compare::{Cell, Comparison, Effect, Verdict},
    render::{number, words},
};

/// Rows of one figure; more gates than this make it unreadable, and the table has them all.
const MOST_ROWS: usize = 40;
const ROW_HEIGHT: u32 = 104;

/// The interval plot of the gates; none without an effect to show.
pub(in crate::render) fn forest(
    comparison: &Comparison,
    simulated: Option<&str>,
) -> Result<Option<Figure>, RenderError> {
    let cells: Vec<&Cell> = comparison.gates().filter(|cell| cell.effect.is_some()).take(MOST_ROWS).collect();
    if cells.is_empty() {
        return Ok(None);
    }
    let height = 220 + ROW_HEIGHT * cells.len() as u32;
    let frame = Frame {
        height,
        left: 560,
        right: 60,
        simulated,
        legend: vec![
            (Mark::Diamond, Paint::Ink, "change".into()),
            (Mark::Ring, Paint::Control, "A/A control".into()),
            (Mark::Disc, Paint::Margin, "margin".into()),
        ],
        x: change_axis(&cells),
        y: Axis { from: cells.len() as f64 - 0.5, to: -0.5, ticks: Vec::new(), title: String::new() },
    };
    let svg = frame.draw("effects", |chart| {
        cells.iter().enumerate().try_for_each(|(row, cell)| draw_row(chart, row as f64, cell))
    })?;
    let level = number::margin(1.0 - comparison.alpha);
    let caption = format!(
        "Change of each gate against {}, with its {level} interval. The band is the margin: a change inside it does not matter. The open circle is the A/A control, the baseline against itself: where it strays from zero, so may the rest.",
        comparison.baseline
    );
    Ok(Some(Figure::new("Effects and their intervals".into(), caption, svg, height)))
}

fn draw_row(chart: &mut Chart<'_, '_>, row: f64, cell: &Cell) -> Drawn {
    let (left, right) = ((-cell.margin).ln_1p(), cell.margin.ln_1p());
    let (from, to) = {
        let x = chart.x_range();
        (x.start, x.end)
    };
    let band = Rectangle::new(
        [(left.max(from), row - 0.42), (right.min(to), row + 0.42)],
        Paint::Margin.rgb().mix(0.5).filled(),
    );
    chart.plotting_area().draw(&band)?;
    label(chart, row, cell, from)?;
    if let Some(control) = &cell.control {
        interval(chart, row + 0.28, control, Paint::Control, 2)?;
        mark(chart, Mark::Ring, Paint::Control, (control.change.ln_1p().clamp(from, to), row + 0.28))?;
    }
    if let Some(effect) = &cell.effect {
        interval(chart, row, effect, paint(&cell.verdict), 5)?;
        mark(chart, Mark::Diamond, paint(&cell.verdict), (effect.change.ln_1p(), row))?;
    }
    Ok(())
}

/// What the row is about, left of the plot: the question above, verdict and number below.
fn label(chart: &Chart<'_, '_>, row: f64, cell: &Cell, from: f64) -> Drawn {
    let what = format!("{} {}, {}", cell.workload, number::size(cell.msg_bytes), cell.candidate);
    let change = cell.effect.map_or_else(String::new, |effect| number::change(effect.change));
    let says = format!("{}: {} {change}", words::short_metric(cell.metric), words::verdict(&cell.verdict));
    let at = |dy: i32, content: String, color: Paint| {
        EmptyElement::at((from, row)) + Text::new(content, (-24, dy), text(color, HPos::Right))
    };
    // The plotting area clips nothing, so that labels may stand beside it.
    chart.plotting_area().draw(&at(-18, what, Paint::Muted))?;
    chart.plotting_area().draw(&at(20, says, paint(&cell.verdict)))
}

fn interval(chart: &Chart<'_, '_>, row: f64, effect: &Effect, paint: Paint, width: u32) -> Drawn {
    let x = chart.x_range();
    let ends = [effect.low, effect.high].map(|end| end.max(-0.999_999).ln_1p().clamp(x.start, x.end));
    let area = chart.plotting_area();
    area.draw(&PathElement::new([(ends[0], row), (ends[1], row)], line(paint, 1.0, width)))?;
    for end in ends {
        let cap = EmptyElement::at((end, row)) + PathElement::new([(0, -9), (0, 9)], line(paint, 1.0, width));
        area.draw(&cap)?;
    }
    Ok(())
}

fn paint(verdict: &Verdict) -> Paint {
    match verdict {
        Verdict::Improved => Paint::Better,
        Verdict::Regressed | Verdict::Invalid | Verdict::CouldNotRun => Paint::Worse,
        Verdict::Unstable { .. } | Verdict::Inconclusive { .. } => Paint::Undecided,
        Verdict::Negligible | Verdict::Equivalent | Verdict::Exploratory => Paint::Ink,
    }
}

/// An axis in ln(1 + change), on which half and double are equally far from nothing.
fn change_axis(cells: &[&Cell]) -> Axis {
    let effects = cells.iter().flat_map(|cell| [&cell.effect, &cell.control]).flatten();
    let margins = cells.iter().map(|cell| cell.margin.ln_1p());
    let intervals = effects.flat_map(|effect| [effect.low, effect.high]).map(|end| end.max(-0.99).ln_1p());
    // Beyond a factor of 100 an interval is drawn to the edge.
    let (low, high) = margins
        .flat_map(|margin| [-margin, margin])
        .chain(intervals)
        .fold((0.0f64, 0.0f64), |(low, high), end| (low.min(end.max(-4.6)), high.max(end.min(4.6))));
    let air = (high - low) * 0.06;
    let (from, to) = (low - air, high + air);
    let ticks = change_ticks(from.exp_m1(), to.exp_m1());
    let ticks = ticks.into_iter().map(|change| (change.ln_1p(), number::change_short(change))).collect();
    Axis { from, to, ticks, title: "change, candidate against baseline".into() }
}

fn change_ticks(from: f64, to: f64) -> Vec<f64> {
    const COARSE: [f64; 15] =
        [-0.98, -0.95, -0.9, -0.8, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 9.0, 19.0, 49.0];
    if to - from < 0.6 {
        return steps(from, to, nice_step((to - from) / 8.0)).collect();
    }
    // Labels closer than a twelfth of the axis would run into each other; nothing, the reference, always stays.
    let apart = (to.ln_1p() - from.ln_1p()) / 12.0;
    let mut ticks: Vec<f64> = vec![0.0];
    let inside = COARSE.into_iter().filter(|tick| (from..=to).contains(tick));
    for tick in inside {
        if ticks.iter().all(|other| (other.ln_1p() - tick.ln_1p()).abs() >= apart) {
            ticks.push(tick);
        }
    }
    ticks.sort_by(f64::total_cmp);
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_even_when_close_and_ratios_when_far() {
        assert_eq!(change_ticks(-0.031, 0.034), [-0.03, -0.02, -0.01, 0.0, 0.01, 0.02, 0.03]);
        assert!(change_ticks(-0.1, 5.0).contains(&4.0));
        assert!(change_ticks(-0.05, 45.0).len() < 10);
    }
}
