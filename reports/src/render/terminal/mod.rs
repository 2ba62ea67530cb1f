//! The comparison for a terminal: the verdict, a row a gate with its interval and its pairs as pictures, what stands behind
//! it, and the verdict again, where the prompt is. Plain text without pictures for a pipe or a file.

mod columns;
pub(super) mod layout;
mod picture;
pub(super) mod style;
mod told;

use super::{evidence, ranking, sentence, view, words};
use crate::compare::{Cell, Comparison};
use layout::{Column, Styled};

/// How the terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns of it.
    pub width: usize,
    /// Whether it shows colours.
    pub colours: bool,
    /// Whether intervals and pairs are drawn in characters, and long lines broken: for a person, not for a pipe.
    pub pictures: bool,
    /// Whether cells that are no gates are listed, too.
    pub all: bool,
}

impl Look {
    /// What a pipe or a file gets.
    pub const PLAIN: Look = Look { width: 100, colours: false, pictures: false, all: false };
}

/// The comparison as plain text.
pub fn table(comparison: &Comparison) -> String {
    terminal(comparison, &Look::PLAIN)
}

/// The comparison for a terminal like this.
pub fn terminal(comparison: &Comparison, look: &Look) -> String {
    Screen { comparison, look }.text()
}

struct Screen<'s> {
    comparison: &'s Comparison,
    look: &'s Look,
}

impl Screen<'_> {
    fn text(&self) -> String {
        let gates = self.comparison.gates_by_rank();
        let mut parts = vec![self.verdict()];
        if !gates.is_empty() {
            parts.push(self.cells(&gates));
        }
        let factors = ranking::lines(self.comparison);
        parts.push(factors.iter().flat_map(|line| self.broken(&format!("  {line}"), 4)).collect());
        let others: Vec<&Cell> = self.comparison.cells.iter().filter(|cell| !cell.gated).collect();
        if self.look.all && !others.is_empty() {
            let about = "Beside the gates, for exploration: no verdict, p corrected by Benjamini-Hochberg.";
            parts.push([self.broken(about, 0), self.cells(&others)].concat());
        }
        parts.push(self.remarks(&gates));
        parts.push(self.verdict());
        let parts: Vec<String> =
            parts.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
        parts.join("\n\n") + "\n"
    }

    /// The verdict in one sentence, and what is simulated, each with its colour.
    fn verdict(&self) -> Vec<String> {
        if !self.look.pictures {
            return vec![sentence::sentence(self.comparison)];
        }
        let word = words::campaign_verdict(self.comparison.verdict);
        let badge = view::badge(word);
        let head = format!("{} {word}:", badge.sign);
        let mut lines = self.broken(&format!("{} {}", badge.sign, sentence::said(self.comparison)), 2);
        if let Some(rest) = lines[0].strip_prefix(&head) {
            let head = Styled::new(head.as_str(), self.look.style(style::badge(&badge)));
            lines[0] = format!("{}{rest}", head.painted());
        }
        if let Some(simulated) = sentence::simulated(self.comparison) {
            let mut label = self.broken(&simulated, 2);
            let style = self.look.style(style::SIMULATED);
            label.iter_mut().for_each(|line| *line = Styled::new(line.as_str(), style).painted());
            lines.extend(label);
        }
        lines
    }

    /// Lines of a text: one, where nobody looks at it in a terminal.
    fn broken(&self, text: &str, indent: usize) -> Vec<String> {
        if self.look.pictures {
            layout::wrapped(text, self.look.width, indent)
        } else {
            vec![text.to_owned()]
        }
    }

    /// A row a cell. Pictures stand beside the numbers where there is room, else below them; where the numbers alone are too
    /// wide, what they are about stands above them.
    fn cells(&self, cells: &[&Cell]) -> Vec<String> {
        let names = self.look.style(style::QUIET);
        let (verdict, about, numbers) = (self.verdicts(cells), self.about(cells), self.numbers(cells));
        if !self.look.pictures {
            let columns: Vec<Column> =
                verdict.into_iter().chain(about).chain(numbers).chain(self.more_numbers(cells)).collect();
            return layout::lines(&columns, names, |_| Vec::new(), |_| Vec::new());
        }
        let pictures = self.pictures(cells);
        let drawn = |row: usize| {
            let drawn: Vec<String> = pictures.iter().map(|column| column.cells[row].painted()).collect();
            vec![format!("    {}", drawn.join("  ").trim_end())]
        };
        let subject = |row: usize| {
            let subject = |row: usize| words::subject(cells[row]);
            let new = row == 0 || subject(row) != subject(row - 1);
            if new { vec![words::capitalised(&subject(row))] } else { Vec::new() }
        };
        let width =
            |parts: &[&[Column]]| parts.iter().map(|part| layout::width(part) + layout::GAP).sum::<usize>();
        let room = self.look.width + layout::GAP;
        let none = |_| Vec::new();
        let mut lines = if width(&[&verdict, &about, &numbers, &pictures]) <= room {
            let mut columns: Vec<Column> =
                verdict.into_iter().chain(about).chain(numbers).chain(pictures).collect();
            for column in self.more_numbers(cells) {
                if layout::width(&columns) + layout::GAP + column.width() <= self.look.width {
                    columns.push(column);
                }
            }
            layout::lines(&columns, names, none, none)
        } else if width(&[&verdict, &about, &numbers]) <= room {
            let columns: Vec<Column> = verdict.into_iter().chain(about).chain(numbers).collect();
            layout::lines(&columns, names, none, drawn)
        } else {
            let [candidate, ..] = &about[3..] else { return Vec::new() };
            let columns: Vec<Column> =
                verdict.into_iter().chain([candidate.clone()]).chain(numbers).collect();
            if layout::width(&columns) <= self.look.width {
                layout::lines(&columns, names, subject, drawn)
            } else {
                self.stacked(&columns, subject, drawn)
            }
        };
        lines.push(String::new());
        for key in [picture::INTERVAL_KEY, picture::PAIRS_KEY] {
            lines.extend(self.broken(key, 2).into_iter().map(|line| Styled::new(line, names).painted()));
        }
        lines
    }

    /// Where not even a few numbers fit side by side: a line each.
    fn stacked(
        &self,
        columns: &[Column],
        above: impl Fn(usize) -> Vec<String>,
        below: impl Fn(usize) -> Vec<String>,
    ) -> Vec<String> {
        let name = self.look.style(style::QUIET);
        let rows = columns.first().map_or(0, |column| column.cells.len());
        let mut lines = Vec::new();
        for row in 0..rows {
            lines.extend(above(row).iter().flat_map(|line| self.broken(line, 2)));
            for column in columns {
                let name = Styled::new(column.name.as_str(), name).painted();
                lines.push(format!("    {name} {}", column.cells[row].painted()));
            }
            lines.extend(below(row));
        }
        lines
    }

    /// What stands behind the verdicts, and what is odd about runs and hosts.
    fn remarks(&self, gates: &[&Cell]) -> Vec<String> {
        let behind = gates.iter().flat_map(|cell| {
            let about = format!("{} under {}", words::subject(cell), cell.candidate);
            let remark = Some(words::remark(cell)).filter(|remark| !remark.is_empty());
            let flags = cell.flags.iter().map(|flag| words::flag(*flag));
            remark.into_iter().chain(flags).map(move |remark| format!("{about}: {remark}"))
        });
        let looks = self.comparison.looks.as_ref().map(words::looks);
        let lines = looks.into_iter().chain(behind).chain(evidence::lines(self.comparison));
        lines.flat_map(|line| self.broken(&format!("  {line}"), 4)).collect()
    }
}

#[cfg(test)]
mod tests;
