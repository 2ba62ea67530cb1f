//! The gates as a table for a terminal: plain text, nothing but what fits beside a prompt.

use comfy_table::{CellAlignment, Table, presets};

use crate::compare::{Cell, Comparison};

use super::{evidence, number, sentence::sentence, words};

const HEADER: [&str; 8] =
    ["metric", "workload", "size", "candidate", "change", "95% interval", "n", "verdict"];

/// The table of gates, a line of what stands behind each verdict, what the evidence holds against the runs, and the verdict in one sentence.
pub fn table(comparison: &Comparison) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = HEADER.map(str::to_owned);
    header[5] = format!("{} interval", number::margin(1.0 - comparison.alpha));
    table.set_header(header);
    for cell in comparison.gates() {
        table.add_row(row(cell));
    }
    for column in [2, 4, 5, 6] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut remarks: String = comparison.gates().filter_map(remark).collect();
    remarks.extend(evidence::lines(comparison).into_iter().map(|line| format!("  {line}\n")));
    let gap = if remarks.is_empty() { "" } else { "\n" };
    format!("{}\n{gap}{remarks}\n{}\n", table.trim_fmt(), sentence(comparison))
}

fn row(cell: &Cell) -> [String; 8] {
    let effect = cell.effect.as_ref();
    [
        words::metric(cell.metric, cell.test),
        cell.workload.clone(),
        number::size(cell.msg_bytes),
        cell.candidate.clone(),
        effect.map_or_else(|| "none".into(), |effect| number::change(effect.change)),
        effect.map_or_else(String::new, |effect| {
            format!("{} .. {}", number::change(effect.low), number::change(effect.high))
        }),
        cell.pairs.len().to_string(),
        words::verdict(&cell.verdict).to_owned(),
    ]
}

fn remark(cell: &Cell) -> Option<String> {
    let remark = words::remark(cell);
    (!remark.is_empty()).then(|| format!("  {} under {}: {remark}\n", words::subject(cell), cell.candidate))
}
