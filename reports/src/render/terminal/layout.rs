//! Text in columns and lines for a terminal: padded by what is seen, then styled, so that escapes count for no width.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

/// Spaces between columns.
pub(in crate::render) const GAP: usize = 2;

/// A text and how it looks.
#[derive(Debug, Clone, Default)]
pub(in crate::render) struct Styled {
    pub(in crate::render) text: String,
    pub(in crate::render) style: Style,
}

impl Styled {
    pub(in crate::render) fn new(text: impl Into<String>, style: Style) -> Self {
        Styled { text: text.into(), style }
    }

    /// A text in the terminal's own style.
    pub(in crate::render) fn plain(text: impl Into<String>) -> Self {
        Styled::new(text, Style::new())
    }

    /// The text with its escapes.
    pub(in crate::render) fn painted(&self) -> String {
        format!("{}{}{:#}", self.style, self.text, self.style)
    }
}

/// A column: its name, then a cell a row.
#[derive(Debug, Clone)]
pub(in crate::render) struct Column {
    pub(in crate::render) name: String,
    pub(in crate::render) right: bool,
    pub(in crate::render) cells: Vec<Styled>,
}

impl Column {
    pub(in crate::render) fn left(name: impl Into<String>, cells: Vec<Styled>) -> Self {
        Column { name: name.into(), right: false, cells }
    }

    pub(in crate::render) fn right(name: impl Into<String>, cells: Vec<Styled>) -> Self {
        Column { name: name.into(), right: true, cells }
    }

    pub(in crate::render) fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.text.width()).chain([self.name.width()]).max().unwrap_or(0)
    }

    fn padded(&self, cell: &Styled) -> String {
        let room = " ".repeat(self.width() - cell.text.width());
        if self.right { room + &cell.painted() } else { cell.painted() + &room }
    }
}

/// The width of columns side by side.
pub(in crate::render) fn width(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width() + GAP).sum::<usize>().saturating_sub(GAP)
}

/// The lines of a table, the names first, with further lines above and below each row.
pub(in crate::render) fn lines(
    columns: &[Column],
    names: Style,
    above: impl Fn(usize) -> Vec<String>,
    below: impl Fn(usize) -> Vec<String>,
) -> Vec<String> {
    let line = |cells: Vec<String>| cells.join(&" ".repeat(GAP)).trim_end().to_owned();
    let head =
        columns.iter().map(|column| column.padded(&Styled::new(column.name.as_str(), names))).collect();
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let mut lines = vec![line(head)];
    for row in 0..rows {
        lines.extend(above(row));
        lines.push(line(columns.iter().map(|column| column.padded(&column.cells[row])).collect()));
        lines.extend(below(row));
    }
    lines
}

/// A text broken between words, its first line set in as it is and the further ones by `indent`; a word that does not fit has a line of its own.
pub(in crate::render) fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let lead = text.len() - text.trim_start().len();
    let mut lines = vec![" ".repeat(lead)];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        let begun = !line.trim_start().is_empty();
        if begun && line.width() + 1 + word.width() > width {
            lines.push(" ".repeat(indent) + word);
        } else {
            line.push_str(if begun { " " } else { "" });
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::AnsiColor;

    #[test]
    fn escapes_and_wide_letters_do_not_move_columns() {
        let red = Style::new().fg_color(Some(AnsiColor::Red.into()));
        let columns = [
            Column::left("name", vec![Styled::new("読む", red), Styled::plain("read")]),
            Column::right("n", vec![Styled::plain("7"), Styled::new("10", red)]),
        ];
        let lines = lines(&columns, Style::new(), |_| Vec::new(), |_| Vec::new());
        let seen: Vec<String> =
            lines.iter().map(|line| line.replace("\u{1b}[31m", "").replace("\u{1b}[0m", "")).collect();
        assert_eq!(seen, ["name   n", "読む   7", "read  10"]);
        assert_eq!(width(&columns), 8);
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped(" one two three four", 9, 2), [" one two", "  three", "  four"]);
        assert_eq!(wrapped("incomprehensibilities are", 9, 0), ["incomprehensibilities", "are"]);
        assert_eq!(wrapped("", 9, 2), [""]);
    }
}
