//! The columns of a table of cells: what is said, of what, with which numbers, and drawn.

use super::{
    Screen,
    layout::{Column, Styled},
    picture, style,
};
use crate::{
    compare::{Cell, Effect},
    render::{change::Written, number, view, words},
};

impl Screen<'_> {
    /// What is said of gates; nothing of other cells.
    pub(super) fn verdicts(&self, cells: &[&Cell]) -> Vec<Column> {
        let badge = |cell: &&Cell| {
            let badge = view::badge(words::verdict(&cell.verdict));
            Styled::new(format!("{} {}", badge.sign, badge.word), self.look.style(style::badge(&badge)))
        };
        let judged = cells.iter().any(|cell| cell.gated);
        judged.then(|| Column::left("verdict", cells.iter().map(badge).collect())).into_iter().collect()
    }

    /// What it is said of; the candidate last.
    pub(super) fn about(&self, cells: &[&Cell]) -> [Column; 4] {
        [
            Column::left("metric", each(cells, |cell| words::metric(cell.metric, cell.test))),
            Column::left("workload", each(cells, |cell| cell.workload.clone())),
            Column::right("size", each(cells, |cell| number::size(cell.msg_bytes))),
            Column::left("candidate", each(cells, |cell| cell.candidate.clone())),
        ]
    }

    pub(super) fn numbers(&self, cells: &[&Cell]) -> Vec<Column> {
        let written = |cell: &Cell, text: fn(Written) -> String| match &cell.effect {
            Some(effect) => text(Written::of(effect, cell.margin)),
            None => "none".to_owned(),
        };
        let interval = words::interval_name(self.comparison);
        vec![
            Column::right("change", each(cells, |cell| written(cell, |written| written.change))),
            Column::right(
                interval,
                each(cells, |cell| written(cell, |w| format!("{} .. {}", w.low, w.high))),
            ),
            Column::right("margin", each(cells, |cell| format!("±{}", number::margin(cell.margin)))),
            Column::right("pairs", each(cells, |cell| cell.pairs.len().to_string())),
        ]
    }

    pub(super) fn more_numbers(&self, cells: &[&Cell]) -> Vec<Column> {
        let of = |effect: Option<&Effect>, text: &dyn Fn(&Effect) -> String| {
            Styled::plain(effect.map_or_else(|| "none".to_owned(), text))
        };
        let p = |cell: &&Cell| of(cell.effect.as_ref(), &|effect| number::p_value(effect.p_adjusted));
        let control = |cell: &&Cell| {
            of(cell.control.as_ref(), &|control| Written::of(control, cell.margin / 2.0).change)
        };
        vec![
            Column::right("p", cells.iter().map(p).collect()),
            Column::right("A/A", cells.iter().map(control).collect()),
        ]
    }

    pub(super) fn pictures(&self, cells: &[&Cell]) -> Vec<Column> {
        let interval = |cell: &&Cell| {
            let drawn = cell.effect.as_ref().map(|effect| picture::interval(effect, cell.margin));
            let badge = view::badge(words::verdict(&cell.verdict));
            Styled::new(
                drawn.unwrap_or_else(|| " ".repeat(picture::WIDTH)),
                self.look.style(style::badge(&badge)),
            )
        };
        vec![
            Column::left("interval beside margin", cells.iter().map(interval).collect()),
            Column::left(
                "pair by pair",
                cells.iter().map(|cell| Styled::plain(picture::pairs(cell))).collect(),
            ),
        ]
    }
}

/// A plain text a cell.
fn each(cells: &[&Cell], text: impl Fn(&Cell) -> String) -> Vec<Styled> {
    cells.iter().map(|cell| Styled::plain(text(cell))).collect()
}
