//! A series as a plot of braille dots: two nights' worth of columns and four rows a character, with a line where the level or
//! the configuration changed.

use super::scale::Scale;

/// Rows of characters.
const ROWS: usize = 9;
/// Dots of a character, across and down.
const DOTS: [usize; 2] = [2, 4];
/// The character without dots.
const BLANK: u32 = 0x2800;
/// The bit of a dot, by its row and column within the character.
const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// A place along the plot that has a name.
pub(super) struct Mark {
    /// Position among the values.
    pub(super) at: usize,
    /// What it is called in the row under the plot.
    pub(super) name: char,
    /// What is drawn through the plot there, where nothing else is.
    pub(super) line: char,
}

/// A plot of values in time order, none where there is none; its rows from the top, then the row of the names of the marks.
pub(super) fn rows(values: &[Option<f64>], scale: Scale, marks: &[Mark], width: usize) -> Vec<String> {
    let mut canvas = Canvas::new(width);
    let mut before: Option<[usize; 2]> = None;
    for (n, value) in values.iter().enumerate() {
        let here = value.map(|value| [across(n, values.len(), width * DOTS[0]), down(scale, value)]);
        if let Some(here) = here {
            canvas.line(before.unwrap_or(here), here);
        }
        before = here;
    }
    let column = |mark: &Mark| across(mark.at, values.len(), width * DOTS[0]) / DOTS[0];
    for mark in marks {
        canvas.upright(column(mark), mark.line);
    }
    let mut names = vec![' '; width];
    for mark in marks {
        names[column(mark)] = mark.name;
    }
    let names: String = names.into_iter().collect();
    canvas.cells.iter().map(|row| row.iter().collect()).chain([names.trim_end().to_owned()]).collect()
}

/// The dot of the n-th of so many values, the last at the right.
fn across(n: usize, of: usize, dots: usize) -> usize {
    let share = n as f64 / (of.max(2) - 1) as f64;
    (share * (dots - 1) as f64).round() as usize
}

fn down(scale: Scale, value: f64) -> usize {
    let dots = ROWS * DOTS[1];
    dots - 1 - scale.step(value, dots)
}

struct Canvas {
    cells: Vec<Vec<char>>,
}

impl Canvas {
    fn new(width: usize) -> Self {
        Canvas { cells: vec![vec![' '; width]; ROWS] }
    }

    fn dot(&mut self, [x, y]: [usize; 2]) {
        let cell = &mut self.cells[y / DOTS[1]][x / DOTS[0]];
        let was = (*cell as u32).saturating_sub(BLANK);
        let bit = u32::from(BITS[y % DOTS[1]][x % DOTS[0]]);
        *cell = char::from_u32(BLANK + (was | bit)).expect("256 braille characters follow the blank one");
    }

    /// Dot by dot, as many as the longer way has.
    fn line(&mut self, from: [usize; 2], to: [usize; 2]) {
        let steps = from[0].abs_diff(to[0]).max(from[1].abs_diff(to[1])).max(1);
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            let on = |n: usize| (from[n] as f64 + (to[n] as f64 - from[n] as f64) * share).round() as usize;
            self.dot([on(0), on(1)]);
        }
    }

    fn upright(&mut self, column: usize, line: char) {
        for row in &mut self.cells {
            if row[column] == ' ' {
                row[column] = line;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn a_step_down_is_a_step_down() {
        let values: Vec<Option<f64>> = (0..12).map(|n| Some(if n < 6 { 100.0 } else { 90.0 })).collect();
        let scale = Scale { low: 90.0, high: 100.0 };
        let marks = [Mark { at: 6, name: '1', line: '┃' }];
        let drawn = rows(&values, scale, &marks, 6);
        assert_eq!(drawn[0], "⠉⠉⢹┃  ");
        assert_eq!(drawn[ROWS - 1], "   ⣇⣀⣀");
        assert_eq!(drawn[ROWS], "   1");
    }

    #[test]
    fn a_gap_is_not_drawn_over() {
        let values = [Some(1.0), None, None, None, None, Some(1.0)];
        let drawn = rows(&values, Scale { low: 0.0, high: 2.0 }, &[], 3);
        let dots: usize = drawn.iter().flat_map(|row| row.chars()).filter(|c| *c != ' ').count();
        assert_eq!(dots, 2);
    }

    proptest! {
        #[test]
        fn nothing_is_drawn_outside_and_nothing_panics(
            values in proptest::collection::vec(proptest::option::of(-1e15f64..1e15), 0..400),
            width in 1usize..120,
        ) {
            let scale = Scale::of(values.iter().flatten().copied(), 0.02);
            let marks: Vec<Mark> = (0..values.len()).map(|at| Mark { at, name: 'A', line: '╎' }).collect();
            for row in rows(&values, scale, &marks, width) {
                prop_assert!(row.chars().count() <= width);
            }
        }
    }
}
