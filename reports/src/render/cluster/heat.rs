//! The map of a small cluster in characters: a row a requester, a column a responder, darker where a pair is further behind the
//! median of all pairs.

use schema::Direction;

use super::words;
use crate::{
    cluster::{ClusterReport, Matrix},
    render::{
        number,
        terminal::{Look, layout::Styled, style},
        view::Badge,
    },
};

/// Of more nodes, rows of characters are no picture any more.
const MOST_NODES: usize = 32;
/// Behind the median by more than these many margins, and how that is drawn.
const SHADES: [(f64, char); 4] = [(8.0, '█'), (4.0, '▓'), (2.0, '▒'), (1.0, '░')];
const LEVEL: char = '·';
const BETTER: char = '+';
const NONE: char = '×';
const ITSELF: char = '\\';

/// The map of one measure, with how to read it; nothing for a cluster that is too large, or where nothing was measured.
pub(super) fn map(report: &ClusterReport, at: usize, look: &Look) -> Vec<String> {
    let nodes = report.nodes.len();
    let Some(matrix) = report.matrices.get(at) else { return Vec::new() };
    let Some(median) = matrix.median.filter(|_| nodes <= MOST_NODES) else { return Vec::new() };
    let margin = words::margin(&report.rules, matrix.measure.metric);
    let title = format!(
        "{}: a row a requester, a column a responder, beside the median of {}",
        words::measure(&matrix.measure),
        number::value(matrix.measure.metric, median)
    );
    let wide = nodes.saturating_sub(1).to_string().len();
    let name = report.nodes.iter().map(|node| node.name.chars().count()).max().unwrap_or(0).min(24);
    let head = (0..nodes).map(|rank| format!("{rank:>wide$} ")).collect::<String>();
    let mut lines = look.broken(&title, 2);
    lines.extend([format!("{:wide$} {:name$}  {}", "", "", head.trim_end())]);
    for (row, node) in report.nodes.iter().enumerate() {
        let label: String = node.name.chars().take(name).collect();
        let cells: String =
            (0..nodes).map(|column| cell(matrix, [row, column], median, margin, wide, look)).collect();
        lines.push(format!("{row:>wide$} {label:name$}  {}", cells.trim_end()));
    }
    let key = format!(
        "{LEVEL} within {} of the median, ░ ▒ ▓ █ worse by more than 1, 2, 4, 8 times that, {BETTER} better, {NONE} no value",
        number::margin(margin)
    );
    lines.extend(look.quiet(&key));
    lines
}

fn cell(
    matrix: &Matrix,
    [row, column]: [usize; 2],
    median: f64,
    margin: f64,
    wide: usize,
    look: &Look,
) -> String {
    let (mark, class) = if row == column {
        (ITSELF, "none")
    } else {
        match matrix.values[row][column] {
            None => (NONE, "open"),
            Some(value) => shade(worse(matrix, value, median) / margin),
        }
    };
    let room = " ".repeat(wide - 1);
    let style = look.style(style::badge(&Badge { word: "", sign: "", class }));
    format!("{room}{} ", Styled::new(mark.to_string(), style).painted())
}

/// By what share a value is worse than the median.
fn worse(matrix: &Matrix, value: f64, median: f64) -> f64 {
    match matrix.measure.metric.direction() {
        Direction::HigherIsBetter => 1.0 - value / median,
        Direction::LowerIsBetter => value / median - 1.0,
    }
}

fn shade(margins: f64) -> (char, &'static str) {
    match SHADES.iter().find(|(least, _)| margins > *least) {
        Some((_, mark)) => (*mark, "bad"),
        None if margins < -1.0 => (BETTER, "good"),
        None => (LEVEL, "none"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster_report;

    #[test]
    fn darker_is_further_behind() {
        let marks: Vec<char> = [-2.0, 0.0, 1.5, 3.0, 5.0, 9.0].map(|margins| shade(margins).0).into();
        assert_eq!(marks, ['+', '·', '░', '▒', '▓', '█']);
    }

    #[test]
    fn a_latency_is_worse_where_it_is_higher() {
        let report = cluster_report();
        assert!(worse(&report.matrices[0], 80.0, 100.0) > 0.0);
        assert!(worse(&report.matrices[3], 80.0, 100.0) < 0.0);
    }

    #[test]
    fn a_large_cluster_has_no_map_of_characters() {
        let mut report = cluster_report();
        assert!(!map(&report, 0, &Look::PLAIN).is_empty());
        report.nodes = report.nodes.iter().cycle().take(MOST_NODES + 1).cloned().collect();
        assert_eq!(map(&report, 0, &Look::PLAIN), Vec::<String>::new());
    }
}
