//! perftest's tables, found in a log that may hold much else: the calls of a script, several tests, warnings between the rows.
//!
//! Outside a test any line is passed over. Inside a table every line is a row, or one of the warnings perftest is known to
//! print there, or the file is refused.

use super::{
    columns::{Column, columns},
    facts::Facts,
    row::{self, Row},
    title::Title,
};
use crate::import::{Log, Refusal, Remark, refusal::shown};

/// Beginnings of lines that perftest prints between the header of a table and its rows.
const WARNINGS: [&str; 3] = ["Conflicting CPU frequency", "WARNING", "Warning"];

/// Where in the log we are.
enum Place {
    /// Between two tests.
    Between,
    /// After a title.
    Header { title: Title, line: usize, facts: Facts },
    /// After the names of the columns.
    Rows { title: Title, facts: Facts, columns: Vec<Column>, header: usize, rows: usize },
    /// Among the single samples that -H and -U print.
    Samples { title: Title, line: usize, facts: Facts },
}

/// Reads a log.
pub(super) fn read(text: &str) -> Result<Log, Refusal> {
    let mut log = Log::default();
    let mut place = Place::Between;
    let mut titles = 0;
    for (number, line) in text.lines().enumerate().map(|(n, line)| (n + 1, line.trim())) {
        place = match place {
            _ if Title::of(line).is_some() => {
                ended_early(&place, &mut log);
                titles += 1;
                Place::Header {
                    title: Title::of(line).expect("asked just now"),
                    line: number,
                    facts: Facts::default(),
                }
            }
            Place::Between => {
                if line.starts_with("#bytes") {
                    return Err(Refusal::new(
                        number,
                        "a table without a title before it, such as `RDMA_Write BW Test`: which test is it of?",
                    ));
                }
                Place::Between
            }
            Place::Header { title, facts, .. } | Place::Samples { title, facts, .. }
                if line.starts_with("#bytes") =>
            {
                Place::Rows { title, facts, columns: columns(line, number)?, header: number, rows: 0 }
            }
            Place::Header { title, line: at, facts } if line.starts_with("#,") => {
                Place::Samples { title, line: at, facts }
            }
            Place::Header { title, line: at, mut facts } => {
                describe(line, &mut facts);
                Place::Header { title, line: at, facts }
            }
            Place::Samples { .. } => place,
            Place::Rows { title, facts, columns, header, rows } => {
                if line.starts_with("---") {
                    if rows == 0 {
                        log.remarks.push(Remark {
                            line: header,
                            what: "a table without rows: the test did not come to its end".into(),
                        });
                    }
                    Place::Between
                } else {
                    let read = in_table(line, number, &columns)?;
                    if let Some(row) = &read {
                        row::add(&mut log, title, &facts, row);
                    }
                    Place::Rows { title, facts, columns, header, rows: rows + usize::from(read.is_some()) }
                }
            }
        };
    }
    ended_early(&place, &mut log);
    if titles == 0 {
        return Err(Refusal::new(
            1,
            "no output of perftest is in this file: no line is a title such as `RDMA_Write BW Test`",
        ));
    }
    Ok(log)
}

/// A test that said what it is and printed no table.
fn ended_early(place: &Place, log: &mut Log) {
    if let Place::Header { line, .. } | Place::Samples { line, .. } = place {
        log.remarks
            .push(Remark { line: *line, what: "a test without a table: it did not come to its end".into() });
    }
    if let Place::Rows { header, rows: 0, .. } = place {
        log.remarks.push(Remark {
            line: *header,
            what: "a table without rows: the test did not come to its end".into(),
        });
    }
}

/// A line between the title and the table.
fn describe(line: &str, facts: &mut Facts) {
    let of_a_connection =
        ["local address", "remote address", "GID:"].iter().any(|start| line.starts_with(start));
    if let Some(events) = line.strip_prefix("Test with events. Using ") {
        facts.add("events", events);
    } else if !of_a_connection && line.contains(':') && !WARNINGS.iter().any(|start| line.starts_with(start))
    {
        facts.add_line(line);
    }
}

/// A line of a table: a row, or nothing that counts.
fn in_table(line: &str, number: usize, columns: &[Column]) -> Result<Option<Row>, Refusal> {
    if line.is_empty() || WARNINGS.iter().any(|start| line.starts_with(start)) {
        return Ok(None);
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.len() != columns.len() {
        return Err(Refusal::new(
            number,
            format!(
                "`{}` stands in a table of {} columns and has {}; if it is not perftest's, take it out",
                shown(line),
                columns.len(),
                words.len()
            ),
        ));
    }
    let mut row = Row { line: number, ..Row::default() };
    for (word, column) in words.iter().zip(columns) {
        let no_number = || {
            Refusal::new(
                number,
                format!("`{}` is no number; if the line is not perftest's, take it out", shown(word)),
            )
        };
        match column {
            Column::Bytes => row.bytes = word.parse().map_err(|_| no_number())?,
            Column::Iterations => row.iterations = Some(word.parse().map_err(|_| no_number())?),
            _ => {
                let value: f64 = word.parse().map_err(|_| no_number())?;
                match *column {
                    Column::BandwidthAverage(unit) => row.bandwidth = Some((value, unit)),
                    Column::MessageRate => row.message_rate = Some(value),
                    Column::Typical => row.typical = Some(value),
                    Column::P99 => row.p99 = Some(value),
                    Column::P99_9 => row.p99_9 = Some(value),
                    Column::Fact(name) => row.facts.push((name.to_owned(), (*word).to_owned())),
                    Column::Bytes | Column::Iterations => unreachable!("taken above"),
                }
            }
        }
    }
    if row.bytes == 0 {
        return Err(Refusal::new(number, "a row without a message size"));
    }
    Ok(Some(row))
}
