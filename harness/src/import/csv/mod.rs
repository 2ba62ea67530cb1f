//! A table of measurements of any tool, one number a row: the columns have our names, or are renamed to them, and say their unit.

mod columns;
mod row;
mod time;
mod unit;

use super::{Log, Refusal};

pub use columns::{Columns, KNOWN};
pub use time::moment;

/// Reads a file with a header. `renamed` gives columns of the file our names: `("bw", "value")`.
pub fn read(text: &str, renamed: &[(String, String)]) -> Result<Log, Refusal> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| refusal(&error, 1))?.clone();
    let columns = Columns::of(header.iter(), renamed).map_err(|why| Refusal::new(1, why))?;
    let mut log = Log::default();
    for record in reader.records() {
        let last = log.measurements.last().map_or(1, |read| read.line) + 1;
        let record = record.map_err(|error| refusal(&error, last))?;
        let line = record.position().map_or(last, |at| at.line() as usize);
        log.measurements.push(row::measurement(&columns, &record, line)?);
    }
    if log.measurements.is_empty() {
        return Err(Refusal::new(1, "a header and no row"));
    }
    Ok(log)
}

fn refusal(error: &csv::Error, line: usize) -> Refusal {
    let at = error.position().map_or(line, |at| at.line() as usize);
    let why = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} fields where the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "text that is not UTF-8".to_owned(),
        _ => error.to_string(),
    };
    Refusal::new(at.max(1), why)
}

#[cfg(test)]
mod tests;
