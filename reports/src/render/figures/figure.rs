//! A figure as the page takes it: drawings to choose from, and the numbers behind them as a table.

use super::frame::{Chart, WIDTH};

/// A figure, ready to be put on a page.
pub(in crate::render) struct Figure {
    /// What it shows.
    pub(in crate::render) title: String,
    /// How to read it, and what it is drawn from.
    pub(in crate::render) caption: String,
    /// What the reader chooses between; two at most.
    pub(in crate::render) choices: Vec<Choice>,
    /// A drawing for every combination of choices; the first is seen at first.
    pub(in crate::render) drawings: Vec<Drawing>,
    /// What is drawn, in numbers with their unit and n.
    pub(in crate::render) numbers: Numbers,
}

/// Something the reader chooses.
pub(in crate::render) struct Choice {
    /// What is chosen: `Scale`.
    pub(in crate::render) name: &'static str,
    /// What there is: `logarithmic`, `linear`.
    pub(in crate::render) options: Vec<String>,
}

/// One drawing of a figure.
pub(in crate::render) struct Drawing {
    /// Which option of each choice it shows.
    pub(in crate::render) picks: Vec<usize>,
    /// The inside of the `<svg>`.
    pub(in crate::render) svg: String,
    /// Height of the view box.
    pub(in crate::render) height: u32,
    spots: Vec<Spot>,
}

/// A place in a drawing that stands for a cell of the table of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    at: (i32, i32),
    row: usize,
    column: usize,
}

/// The numbers behind a figure.
#[derive(Default)]
pub(in crate::render) struct Numbers {
    /// What the rows are.
    pub(in crate::render) about: String,
    /// What the cells are.
    pub(in crate::render) columns: Vec<String>,
    /// Name and cells of each row; an empty cell has no number.
    pub(in crate::render) rows: Vec<(String, Vec<String>)>,
}

impl Figure {
    /// Width of the view box.
    pub(in crate::render) fn width(&self) -> u32 {
        WIDTH
    }

    /// The title of a drawing: that of the figure, and what is chosen.
    pub(in crate::render) fn title_of(&self, drawing: &Drawing) -> String {
        let chosen = self.choices.iter().zip(&drawing.picks);
        let chosen: Vec<&str> =
            chosen.filter_map(|(choice, pick)| choice.options.get(*pick)).map(String::as_str).collect();
        match chosen.is_empty() {
            true => self.title.clone(),
            false => format!("{}: {}", self.title, chosen.join(", ")),
        }
    }
}

impl Choice {
    /// A choice; none where there is only one thing to choose.
    pub(super) fn between(name: &'static str, options: Vec<String>) -> Option<Self> {
        (options.len() > 1).then_some(Choice { name, options })
    }

    /// Between the scales of an axis: logarithmic is the first.
    pub(super) fn scale() -> Self {
        Choice { name: "Scale", options: vec!["logarithmic".into(), "linear".into()] }
    }
}

impl Drawing {
    pub(super) fn new(picks: Vec<usize>, svg: String, height: u32, spots: Vec<Spot>) -> Self {
        Drawing { picks, svg, height, spots }
    }

    /// `x y row column` of every spot, joined by commas.
    pub(in crate::render) fn spots(&self) -> String {
        let spot = |spot: &Spot| format!("{} {} {} {}", spot.at.0, spot.at.1, spot.row, spot.column);
        self.spots.iter().map(spot).collect::<Vec<_>>().join(",")
    }
}

impl Spot {
    /// A spot at a place of a chart.
    pub(super) fn on(chart: &Chart<'_, '_>, at: (f64, f64), row: usize, column: usize) -> Self {
        Spot { at: chart.backend_coord(&at), row, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_drawing_is_found_by_what_is_chosen() {
        let spots = vec![Spot { at: (10, 20), row: 0, column: 1 }, Spot { at: (30, 40), row: 2, column: 0 }];
        let drawing = Drawing::new(vec![2, 1], String::new(), 1, spots);
        assert_eq!(drawing.spots(), "10 20 0 1,30 40 2 0");
        let metrics = ["p50", "p90", "p99"].map(str::to_owned).to_vec();
        let choices: Vec<Choice> =
            Choice::between("Percentile", metrics).into_iter().chain([Choice::scale()]).collect();
        let figure = Figure {
            title: "Latency".into(),
            caption: String::new(),
            choices,
            drawings: Vec::new(),
            numbers: Numbers::default(),
        };
        assert_eq!(figure.title_of(&drawing), "Latency: p99, linear");
        assert!(Choice::between("Percentile", vec!["p50".into()]).is_none());
    }
}
