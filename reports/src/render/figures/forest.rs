//! Effects with their intervals, one row a comparison, each beside its margin and its A/A control.

use plotters::{prelude::*, style::text_anchor::HPos};
use schema::Metric;

use super::{
    RenderError,
    axis::{Axis, nice_step, steps},
    figure::{Choice, Drawing, Figure, Numbers, Spot},
    frame::{Chart, Drawn, Frame, Mark, line, mark, text},
    paint::Paint,
};
use crate::{
    compare::{Cell, Comparison, Effect, Method, Verdict},
    render::{change::Written, number, words},
};

/// Rows of one drawing; more make it unreadable, and the table has them all.
const MOST_ROWS: usize = 40;
/// Height of a row with two lines of text, and of one with one.
const TALL: u32 = 104;
const LOW: u32 = 62;
/// Columns of the table of numbers.
const CHANGE: usize = 0;
const CONTROL: usize = 1;

/// The interval plot of the gates; none without an effect to show.
pub(in crate::render) fn gates(
    comparison: &Comparison,
    simulated: Option<&str>,
) -> Result<Option<Figure>, RenderError> {
    let ranked = comparison.gates_by_rank().into_iter();
    let cells: Vec<&Cell> = ranked.filter(|cell| cell.effect.is_some()).take(MOST_ROWS).collect();
    if cells.is_empty() {
        return Ok(None);
    }
    let plot = Plot { comparison, simulated, tall: true };
    let against = match comparison.factorial {
        Some(_) => "with its factor on against off, those that bring most first".to_owned(),
        None => format!("against {}", comparison.baseline),
    };
    let caption = format!(
        "Change of each gate {against}, with its {} interval. The band is the margin: a change inside it does not matter. The open circle is the A/A control, the baseline against itself: where it strays from zero, so may the rest.",
        plot.level()
    );
    let drawings = vec![plot.drawing(&cells, Vec::new(), 0)?];
    let numbers = plot.numbers(&cells);
    let title = "Effects and their intervals".into();
    Ok(Some(Figure { title, caption, choices: Vec::new(), drawings, numbers }))
}

/// The interval plot of everything that was compared in a workload, metric by metric; none where the gates are all there is.
pub(in crate::render) fn comparisons(
    comparison: &Comparison,
    workload: &str,
    simulated: Option<&str>,
) -> Result<Option<Figure>, RenderError> {
    let ours = |cell: &&Cell| cell.workload == workload && cell.effect.is_some();
    let of = |metric: Metric| {
        let cells = comparison.cells.iter().filter(ours).filter(move |cell| cell.metric == metric);
        cells.take(MOST_ROWS).collect::<Vec<&Cell>>()
    };
    let by_metric: Vec<(Metric, Vec<&Cell>)> = Metric::ALL
        .into_iter()
        .map(|metric| (metric, of(metric)))
        .filter(|(_, cells)| !cells.is_empty())
        .collect();
    if by_metric.iter().all(|(_, cells)| cells.iter().all(|cell| cell.gated)) {
        return Ok(None);
    }
    let plot = Plot { comparison, simulated, tall: false };
    let names = by_metric.iter().map(|(metric, _)| words::short_metric(*metric)).collect();
    let choice = Choice::between("Metric", names);
    let (mut drawings, mut numbers) = (Vec::new(), plot.numbers(&[]));
    for (n, (_, cells)) in by_metric.iter().enumerate() {
        let picks = choice.iter().map(|_| n).collect();
        drawings.push(plot.drawing(cells, picks, numbers.rows.len())?);
        numbers.rows.extend(plot.numbers(cells).rows);
    }
    let caption = format!(
        "Change against {} by message size, with its {} interval and its margin, gates among them. What is not a gate carries no verdict: among this many comparisons some look different by luck. Pale: not told from zero after correction for the number of comparisons.",
        comparison.baseline,
        plot.level()
    );
    let title = format!("Every comparison of {workload}");
    Ok(Some(Figure { title, caption, choices: choice.into_iter().collect(), drawings, numbers }))
}

/// What all rows share.
struct Plot<'c> {
    comparison: &'c Comparison,
    simulated: Option<&'c str>,
    /// Whether a row says what it is about in two lines.
    tall: bool,
}

impl Plot<'_> {
    fn level(&self) -> String {
        number::margin(1.0 - self.comparison.alpha)
    }

    fn drawing(&self, cells: &[&Cell], picks: Vec<usize>, first_row: usize) -> Result<Drawing, RenderError> {
        let row_height = if self.tall { TALL } else { LOW };
        let height = 220 + row_height * cells.len() as u32;
        let mut legend = vec![(Mark::Diamond, Paint::Ink, "change".into())];
        if cells.iter().any(|cell| cell.control.is_some()) {
            legend.push((Mark::Ring, Paint::Control, "A/A control".into()));
        }
        legend.push((Mark::Square, Paint::Margin, "margin".into()));
        let frame = Frame {
            height,
            left: 560,
            right: 60,
            simulated: self.simulated,
            legend,
            x: change_axis(cells),
            y: Axis { from: cells.len() as f64 - 0.5, to: -0.5, ticks: Vec::new(), title: String::new() },
        };
        let mut spots = Vec::new();
        let svg = frame.draw("effects", |chart| {
            let rows = || cells.iter().enumerate().map(|(row, cell)| (row as f64, *cell));
            let (from, to) = (chart.x_range().start, chart.x_range().end);
            for (row, cell) in rows() {
                let (left, right) = ((-cell.margin).ln_1p().max(from), cell.margin.ln_1p().min(to));
                let area = [(left, row - 0.42), (right, row + 0.42)];
                chart.plotting_area().draw(&Rectangle::new(area, Paint::Margin.rgb().mix(0.5).filled()))?;
            }
            let zero = [(0.0, -0.5), (0.0, cells.len() as f64 - 0.5)];
            chart.plotting_area().draw(&PathElement::new(zero, line(Paint::Muted, 1.0, 2)))?;
            for (row, cell) in rows() {
                self.label(chart, row, cell)?;
                if let Some(control) = &cell.control {
                    let at = (control.change.ln_1p().clamp(from, to), row + 0.28);
                    interval(chart, at.1, control, Paint::Control, 2)?;
                    mark(chart, Mark::Ring, Paint::Control, at)?;
                    spots.push(Spot::on(chart, at, first_row + row as usize, CONTROL));
                }
                if let Some(effect) = &cell.effect {
                    let at = (effect.change.max(-0.999_999).ln_1p().clamp(from, to), row);
                    interval(chart, row, effect, self.paint(cell), 5)?;
                    mark(chart, Mark::Diamond, self.paint(cell), at)?;
                    spots.push(Spot::on(chart, at, first_row + row as usize, CHANGE));
                }
            }
            Ok(())
        })?;
        Ok(Drawing::new(picks, svg, height, spots))
    }

    /// What the row is about, left of the plot: the question above, verdict and number below; or both in one line.
    fn label(&self, chart: &Chart<'_, '_>, row: f64, cell: &Cell) -> Drawn {
        let change = cell.effect.map_or_else(String::new, |effect| Written::of(&effect, cell.margin).change);
        let (size, paint) = (number::size(cell.msg_bytes), self.paint(cell));
        let from = chart.x_range().start;
        let at = |dy: i32, content: String, color: Paint| {
            let content = shortened(content);
            EmptyElement::at((from, row)) + Text::new(content, (-24, dy), text(color, HPos::Right))
        };
        // The plotting area clips nothing, so that labels may stand beside it.
        let area = chart.plotting_area();
        if !self.tall {
            return area.draw(&at(0, format!("{size}, {}  {change}", cell.candidate), paint));
        }
        let what = format!("{} {size}, {}", cell.workload, cell.candidate);
        let says =
            format!("{}: {} {change}", words::short_metric(cell.metric), words::verdict(&cell.verdict));
        area.draw(&at(-18, what, Paint::Muted))?;
        area.draw(&at(20, says, paint))
    }

    fn paint(&self, cell: &Cell) -> Paint {
        match &cell.verdict {
            Verdict::Improved => Paint::Better,
            Verdict::Regressed | Verdict::Invalid | Verdict::CouldNotRun => Paint::Worse,
            Verdict::Unstable { .. } | Verdict::Inconclusive { .. } => Paint::Undecided,
            Verdict::Negligible | Verdict::Equivalent => Paint::Ink,
            Verdict::Exploratory => match cell.effect {
                Some(effect) if effect.p_adjusted < self.comparison.alpha => Paint::Ink,
                _ => Paint::Muted,
            },
        }
    }

    fn numbers(&self, cells: &[&Cell]) -> Numbers {
        let level = self.level();
        let effect = |effect: &Option<Effect>, margin: f64| {
            effect.map_or_else(String::new, |effect| {
                let Written { change, low, high } = Written::of(&effect, margin);
                let (p, pairs) = (number::p_value(effect.p_adjusted), number::counted(effect.pairs, "pair"));
                format!("{change} ({level} interval {low} to {high}, p {p}, n = {pairs})")
            })
        };
        let row = |cell: &&Cell| {
            let (name, says) =
                (format!("{}, {}", words::subject(cell), cell.candidate), words::verdict(&cell.verdict));
            let cells = [effect(&cell.effect, cell.margin), effect(&cell.control, cell.margin)];
            let rest = [format!("±{}", number::margin(cell.margin)), says.to_owned(), methods(cell)];
            (name, cells.into_iter().chain(rest).collect())
        };
        let columns =
            ["change", "A/A control", "margin", "verdict", "other methods"].map(str::to_owned).to_vec();
        Numbers { about: "Comparison".into(), columns, rows: cells.iter().map(row).collect() }
    }
}

/// What other methods say of the same pairs, and whether they agree.
fn methods(cell: &Cell) -> String {
    let Some(effect) = cell.effect else { return String::new() };
    let written = |change: f64, low: f64, high: f64| {
        let Written { change, low, high } = Written::of(&Effect { change, low, high, ..effect }, cell.margin);
        (change, format!("{low} to {high}"))
    };
    let mut said = vec![format!("better in {} of pairs", number::percent(effect.better_share))];
    said.extend(effect.p_t.map(|p| format!("Student's t: p {}", number::p_value(p))));
    said.extend(effect.p_equivalence.map(|p| format!("within the margin: p {}", number::p_value(p))));
    said.extend(effect.hodges_lehmann.map(|other| {
        let (change, interval) = written(other.change, other.low, other.high);
        format!("Hodges-Lehmann: {change} ({interval})")
    }));
    said.extend(effect.cross_check.map(|check| {
        let method = match check.method {
            Method::HodgesLehmann => "Hodges-Lehmann",
            Method::Bca => "BCa bootstrap",
            Method::Studentised => "studentised bootstrap",
            Method::MovingBlock => "moving-block bootstrap",
            Method::Hierarchical => "hierarchical bootstrap",
        };
        let agrees = match ((effect.low > 0.0 || effect.high < 0.0), (check.low > 0.0 || check.high < 0.0)) {
            (here, there) if here == there => "agrees",
            _ => "does not agree on whether there is a change",
        };
        format!("{method}: {}, {agrees}", written(effect.change, check.low, check.high).1)
    }));
    said.join("; ")
}

/// A label that fits beside the plot.
fn shortened(label: String) -> String {
    const MOST: usize = 38;
    match label.chars().count() {
        0..=MOST => label,
        _ => label.chars().take(MOST - 1).chain(['…']).collect(),
    }
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
