//! SVG paths of whole numbers: a year of nights in a few bytes a night. Steps are relative, and nothing leaves its box.

use std::fmt::Write as _;

use crate::render::history::scale::Scale;

/// Width of a night.
pub(super) const STEP: u32 = 4;
/// Height of every box.
pub(super) const HEIGHT: u32 = 200;

/// Where nights and values stand in a box.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// Nights across, those without a value too.
    pub(super) nights: usize,
    pub(super) scale: Scale,
}

impl Frame {
    pub(super) fn width(&self) -> u32 {
        STEP * self.nights.max(1) as u32
    }

    /// The middle of a night.
    pub(super) fn x(&self, night: usize) -> u32 {
        STEP * night as u32 + STEP / 2
    }

    /// From the top; the ends of the scale stay a little off the ends of the box, so that their lines are whole.
    pub(super) fn y(&self, value: f64) -> u32 {
        const ROOM: f64 = 6.0;
        let height = f64::from(HEIGHT) - 2.0 * ROOM;
        (ROOM + (1.0 - self.scale.share(value)) * height).round() as u32
    }

    /// A line through the values; broken where nights lie between.
    pub(super) fn line(&self, values: &[(usize, f64)]) -> String {
        let mut path = String::new();
        for stretch in stretches(values) {
            self.stretch(&mut path, stretch.iter().map(|(night, value)| (self.x(*night), self.y(*value))));
            if stretch.len() == 1 {
                // A dot: a line without length has round ends.
                path.push_str("h0");
            }
        }
        path
    }

    /// The area between lower and upper values.
    pub(super) fn band(&self, values: &[(usize, [f64; 2])]) -> String {
        let mut path = String::new();
        for stretch in stretches(values) {
            let upper = stretch.iter().map(|(night, [_, high])| (self.x(*night), self.y(*high)));
            let lower = stretch.iter().rev().map(|(night, [low, _])| (self.x(*night), self.y(*low)));
            self.stretch(&mut path, upper.chain(lower));
            path.push('z');
        }
        path
    }

    /// Level lines: from night to night, the last included.
    pub(super) fn level(&self, [from, to]: [usize; 2], level: f64) -> String {
        format!("M{} {}H{}", STEP * from as u32, self.y(level), STEP * (to as u32 + 1))
    }

    fn stretch(&self, path: &mut String, points: impl Iterator<Item = (u32, u32)>) {
        let mut before: Option<(u32, u32)> = None;
        for (x, y) in points {
            match before {
                None => write!(path, "M{x} {y}"),
                Some((was_x, was_y)) => {
                    let (dx, dy) = (i64::from(x) - i64::from(was_x), i64::from(y) - i64::from(was_y));
                    // A minus is separator enough.
                    write!(path, "l{dx}{}{dy}", if dy < 0 { "" } else { " " })
                }
            }
            .expect("writing to a string");
            before = Some((x, y));
        }
    }
}

/// Values of nights that follow one another.
fn stretches<T>(values: &[(usize, T)]) -> impl Iterator<Item = &[(usize, T)]> {
    values.chunk_by(|(one, _), (next, _)| one + 1 == *next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn frame(nights: usize, low: f64, high: f64) -> Frame {
        Frame { nights, scale: Scale { low, high } }
    }

    #[test]
    fn a_line_breaks_where_a_night_is_missing() {
        let path = frame(5, 0.0, 188.0).line(&[(0, 188.0), (1, 180.0), (3, 0.0)]);
        assert_eq!(path, "M2 6l4 8M14 194h0");
    }

    #[test]
    fn a_band_goes_there_above_and_back_below() {
        let path = frame(2, 0.0, 188.0).band(&[(0, [8.0, 188.0]), (1, [0.0, 180.0])]);
        assert_eq!(path, "M2 6l4 8l0 180l-4-8z");
    }

    /// The places that a path of M, l and h visits.
    fn visited(path: &str) -> Vec<(i64, i64)> {
        let mut places = Vec::new();
        let (mut x, mut y) = (0, 0);
        for command in path.split_inclusive(['M', 'l', 'h', 'z']).collect::<Vec<_>>().windows(2) {
            let numbers = command[1].trim_end_matches(['M', 'l', 'h', 'z']).replace('-', " -");
            let numbers: Vec<i64> = numbers.split_whitespace().map(|n| n.parse().unwrap()).collect();
            match (command[0].chars().last().unwrap(), numbers.as_slice()) {
                ('M', [to_x, to_y]) => (x, y) = (*to_x, *to_y),
                ('l', [dx, dy]) => (x, y) = (x + dx, y + dy),
                _ => continue,
            }
            places.push((x, y));
        }
        places
    }

    proptest! {
        #[test]
        fn no_path_leaves_its_box(
            values in proptest::collection::vec(proptest::option::of(-1e15f64..1e15), 1..400),
            ends in (-1e15f64..1e15, -1e15f64..1e15),
        ) {
            let known: Vec<(usize, f64)> =
                values.iter().enumerate().filter_map(|(n, value)| Some((n, (*value)?))).collect();
            // Any scale: not only that of the values.
            let frame = frame(values.len(), ends.0.min(ends.1), ends.0.max(ends.1));
            let band: Vec<(usize, [f64; 2])> = known.iter().map(|(n, value)| (*n, [*value, value + 1.0])).collect();
            let line = visited(&frame.line(&known));
            prop_assert_eq!(line.len(), known.len());
            for (x, y) in line.into_iter().chain(visited(&frame.band(&band))) {
                prop_assert!((0..=i64::from(frame.width())).contains(&x), "x {}", x);
                prop_assert!((0..=i64::from(HEIGHT)).contains(&y), "y {}", y);
            }
        }
    }
}
