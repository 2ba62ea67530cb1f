//! Heat maps: changes by message size and metric, or by message size and candidate. Colour says which way and by how many
//! margins, the text says how much; what is not told from noise is pale.

use plotters::{prelude::*, style::text_anchor::HPos};
use schema::{Bytes, Direction, Metric};

use super::{
    RenderError,
    axis::Axis,
    figure::{Choice, Drawing, Figure, Numbers, Spot},
    frame::{Frame, Mark, text},
    paint::Paint,
};
use crate::{
    compare::{Asks, Cell, Comparison},
    render::{change::Written, number, words},
};

/// Columns that fit with their text.
const MOST_COLUMNS: usize = 10;
const ROW_HEIGHT: u32 = 62;

/// Sizes by metrics, one candidate at a time; none for one size.
pub(in crate::render) fn by_metric(
    comparison: &Comparison,
    workload: &str,
    simulated: Option<&str>,
) -> Result<Option<Figure>, RenderError> {
    let map = Map::of(comparison, workload, simulated);
    if map.sizes.len() < 2 {
        return Ok(None);
    }
    let columns = map.metrics.iter().map(|metric| words::short_metric(*metric)).collect::<Vec<_>>();
    let picks = |candidate: usize, column: usize| (candidate, map.metrics[column]);
    let title = format!("Changes by size and metric, {workload}");
    let options = map.candidates.iter().map(|candidate| (*candidate).to_owned()).collect();
    map.figure(title, "Candidate", options, columns, picks).map(Some)
}

/// Sizes by candidates, or by factors, one metric at a time; none for one candidate.
pub(in crate::render) fn by_candidate(
    comparison: &Comparison,
    workload: &str,
    simulated: Option<&str>,
) -> Result<Option<Figure>, RenderError> {
    let map = Map::of(comparison, workload, simulated);
    if map.candidates.len() < 2 {
        return Ok(None);
    }
    let columns: Vec<String> =
        map.candidates.iter().take(MOST_COLUMNS).map(|candidate| (*candidate).to_owned()).collect();
    let picks = |metric: usize, column: usize| (column, map.metrics[metric]);
    let title = format!("Changes by size and {}, {workload}", map.what());
    let options = map.metrics.iter().map(|metric| words::short_metric(*metric)).collect();
    map.figure(title, "Metric", options, columns, picks).map(Some)
}

/// The cells of a workload by what they compare.
struct Map<'c> {
    comparison: &'c Comparison,
    simulated: Option<&'c str>,
    cells: Vec<&'c Cell>,
    sizes: Vec<Bytes>,
    metrics: Vec<Metric>,
    candidates: Vec<&'c str>,
}

impl<'c> Map<'c> {
    fn of(comparison: &'c Comparison, workload: &str, simulated: Option<&'c str>) -> Self {
        let ours = comparison.cells.iter().filter(|cell| cell.workload == workload && cell.effect.is_some());
        // Of a factorial campaign the factors are the columns: their interactions are ranked elsewhere.
        let factors = ours.clone().any(|cell| cell.asks == Asks::Factor);
        let wanted = if factors { Asks::Factor } else { Asks::Variant };
        let cells: Vec<&Cell> = ours.filter(|cell| cell.asks == wanted).collect();
        let mut sizes: Vec<Bytes> = cells.iter().map(|cell| cell.msg_bytes).collect();
        sizes.sort();
        sizes.dedup();
        let metrics =
            Metric::ALL.into_iter().filter(|metric| cells.iter().any(|cell| cell.metric == *metric));
        let metrics = metrics.collect();
        let mut candidates: Vec<&str> = Vec::new();
        for cell in &cells {
            if !candidates.contains(&cell.candidate.as_str()) {
                candidates.push(&cell.candidate);
            }
        }
        Map { comparison, simulated, cells, sizes, metrics, candidates }
    }

    fn what(&self) -> &'static str {
        let factors = self.cells.iter().any(|cell| cell.asks == Asks::Factor);
        if factors { "factor" } else { "candidate" }
    }

    fn cell(&self, size: Bytes, (candidate, metric): (usize, Metric)) -> Option<&'c Cell> {
        let name = self.candidates.get(candidate)?;
        self.cells
            .iter()
            .find(|cell| cell.msg_bytes == size && cell.metric == metric && cell.candidate == **name)
            .copied()
    }

    /// A drawing for each option; `at` says which candidate and metric a column is under an option.
    fn figure(
        &self,
        title: String,
        choice: &'static str,
        options: Vec<String>,
        columns: Vec<String>,
        at: impl Fn(usize, usize) -> (usize, Metric),
    ) -> Result<Figure, RenderError> {
        let (mut drawings, mut rows) = (Vec::new(), Vec::new());
        for (n, option) in options.iter().enumerate() {
            let picks = if options.len() > 1 { vec![n] } else { Vec::new() };
            drawings.push(self.drawing(&columns, picks, rows.len(), |column| at(n, column))?);
            for size in &self.sizes {
                let cell = |column: usize| {
                    self.cell(*size, at(n, column)).map_or_else(String::new, |cell| self.told(cell))
                };
                rows.push((
                    format!("{option}, {}", number::size(*size)),
                    (0..columns.len()).map(cell).collect(),
                ));
            }
        }
        let caption = format!(
            "Change against {} at each message size. ▲ is better and ▼ is worse, whatever the sign; the colour deepens at one margin and again at three. Pale without a sign: not told from no change after correction for the number of comparisons.",
            self.comparison.baseline
        );
        let numbers = Numbers { about: format!("{choice} and size"), columns, rows };
        Ok(Figure {
            title,
            caption,
            choices: Choice::between(choice, options).into_iter().collect(),
            drawings,
            numbers,
        })
    }

    fn drawing(
        &self,
        columns: &[String],
        picks: Vec<usize>,
        first_row: usize,
        at: impl Fn(usize) -> (usize, Metric),
    ) -> Result<Drawing, RenderError> {
        let height = 160 + ROW_HEIGHT * self.sizes.len() as u32;
        let rows = self.sizes.len() as f64;
        let sizes =
            self.sizes.iter().enumerate().map(|(row, size)| (row as f64, number::size(*size))).collect();
        let frame = Frame {
            height,
            left: 190,
            right: 30,
            simulated: self.simulated,
            legend: vec![
                (Mark::Square, Paint::Cooler(2), "▲ better".into()),
                (Mark::Square, Paint::Warmer(2), "▼ worse".into()),
                (Mark::Square, Paint::Still, "not told from no change".into()),
            ],
            x: Axis::places(columns.iter().map(|name| fitted(name, columns.len())).collect(), String::new()),
            y: Axis { from: rows - 0.5, to: -0.5, ticks: sizes, title: String::new() },
        };
        let mut spots = Vec::new();
        let svg = frame.draw("heat map", |chart| {
            for (row, size) in self.sizes.iter().enumerate() {
                for column in 0..columns.len() {
                    let Some(cell) = self.cell(*size, at(column)) else { continue };
                    let middle = (column as f64, row as f64);
                    let (paint, ink, content) = self.look(cell);
                    let area = [(middle.0 - 0.49, middle.1 - 0.46), (middle.0 + 0.49, middle.1 + 0.46)];
                    chart.plotting_area().draw(&Rectangle::new(area, paint.rgb().filled()))?;
                    let label =
                        EmptyElement::at(middle) + Text::new(content, (0, 0), text(ink, HPos::Center));
                    chart.plotting_area().draw(&label)?;
                    spots.push(Spot::on(chart, middle, first_row + row, column));
                }
            }
            Ok(())
        })?;
        Ok(Drawing::new(picks, svg, height, spots))
    }

    /// Ground, ink and text of a cell.
    fn look(&self, cell: &Cell) -> (Paint, Paint, String) {
        let Some(effect) = cell.effect else { return (Paint::Still, Paint::Muted, String::new()) };
        let change = Written::of(&effect, cell.margin).change;
        if effect.p_adjusted >= self.comparison.alpha || effect.change == 0.0 {
            return (Paint::Still, Paint::Muted, change);
        }
        let margins = effect.change.ln_1p().abs() / cell.margin.ln_1p().max(f64::MIN_POSITIVE);
        let step = match margins {
            margins if margins < 1.0 => 1,
            margins if margins < 3.0 => 2,
            _ => 3,
        };
        match (effect.change > 0.0) == (cell.metric.direction() == Direction::HigherIsBetter) {
            true => (Paint::Cooler(step), Paint::Ink, format!("▲ {change}")),
            false => (Paint::Warmer(step), Paint::Ink, format!("▼ {change}")),
        }
    }

    fn told(&self, cell: &Cell) -> String {
        let Some(effect) = cell.effect else { return String::new() };
        let Written { change, low, high } = Written::of(&effect, cell.margin);
        let level = number::margin(1.0 - self.comparison.alpha);
        let (p, pairs) = (number::p_value(effect.p_adjusted), number::counted(effect.pairs, "pair"));
        format!("{change} ({level} interval {low} to {high}, p {p}, n = {pairs})")
    }
}

/// A name cut to the width of one of so many columns; the table of numbers has it whole.
fn fitted(name: &str, columns: usize) -> String {
    /// What all columns have together, by the width of a letter.
    const LETTERS: usize = 100;
    let most = LETTERS / columns.max(1);
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompareOptions, compare, testing};
    use pretty_assertions::assert_eq;

    #[test]
    fn sizes_by_metric_for_each_candidate_and_by_candidate_for_each_metric() {
        let campaign = testing::named("several_sizes").unwrap();
        let comparison = compare(&campaign, &CompareOptions::default());
        let one = by_metric(&comparison, "write", None).unwrap().unwrap();
        assert_eq!(
            (one.drawings.len(), one.choices[0].options.clone()),
            (2, vec!["deep".into(), "deeper".into()])
        );
        let other = by_candidate(&comparison, "write", None).unwrap().unwrap();
        assert_eq!(other.numbers.columns, ["deep", "deeper"]);
        assert_eq!(other.drawings.len(), one.numbers.columns.len());
        assert!(by_metric(&comparison, "nothing", None).unwrap().is_none());
    }

    #[test]
    fn a_long_name_is_cut_to_its_column() {
        assert_eq!(fitted("deep", 8), "deep");
        assert_eq!(fitted("deep+list+governor+pause", 8), "deep+list+g…");
        assert_eq!(fitted("deep+list+governor+pause", 2), "deep+list+governor+pause");
    }

    #[test]
    fn what_is_not_told_from_no_change_is_pale_and_has_no_sign() {
        let campaign = testing::named("inconclusive").unwrap();
        let comparison = compare(&campaign, &CompareOptions::default());
        let map = Map::of(&comparison, "write", None);
        for cell in &map.cells {
            let (ground, _, content) = map.look(cell);
            let told = cell.effect.unwrap().p_adjusted < comparison.alpha;
            assert_eq!(ground != Paint::Still, told, "{content}");
            assert_eq!(content.contains(['▲', '▼']), told, "{content}");
        }
        assert!(map.cells.iter().any(|cell| map.look(cell).0 == Paint::Still));
    }
}
