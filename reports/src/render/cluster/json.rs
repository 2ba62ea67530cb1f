//! A judged cluster as JSON: the report with the verdict's words beside it. A row of a matrix is a line, since a line a number
//! would be a quarter of a million of them for 512 nodes.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::ser::Formatter;

use super::words;
use crate::cluster::ClusterReport;

/// What `cluster run --json`, `cluster show --json` and `report.json` are.
#[derive(Serialize, JsonSchema)]
struct Document<'r> {
    /// In one word or two.
    verdict_word: &'static str,
    /// In one sentence.
    verdict_sentence: String,
    /// What the program ends with: 0 fine, 1 slow, 3 could not run, 4 inconclusive.
    exit_code: u8,
    #[serde(flatten)]
    report: &'r ClusterReport,
}

/// The report of a cluster.
pub fn json(report: &ClusterReport) -> String {
    let document = Document {
        verdict_word: words::verdict(report.verdict).word,
        verdict_sentence: words::sentence(report),
        exit_code: report.verdict.exit_code(),
        report,
    };
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Rows::default());
    document.serialize(&mut serializer).expect("a report has string keys only, and memory takes all bytes");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// The JSON Schema of it.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Document<'_>).to_value()
}

/// Levels that are broken into lines; what lies deeper stands on one: the document, a list of it, an item of that, a list of the
/// item.
const BROKEN: usize = 4;

/// Broken into lines and set in above, one line below.
#[derive(Default)]
struct Rows {
    depth: usize,
    /// Whether the innermost list or object has something in it.
    filled: bool,
}

impl Rows {
    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, with: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        writer.write_all(with)
    }

    fn item<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, with: &[u8]) -> io::Result<()> {
        let broken = self.depth <= BROKEN && self.filled;
        self.depth -= 1;
        self.filled = true;
        if broken {
            self.line(writer)?;
        }
        writer.write_all(with)
    }

    fn line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        if self.depth > BROKEN {
            return Ok(());
        }
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Rows {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.item(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.item(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.depth > BROKEN { b":" } else { b": " })
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::cluster_report;

    #[test]
    fn a_row_of_a_matrix_is_a_line_and_the_document_reads_back() {
        let report = cluster_report();
        let text = json(&report);
        let row = serde_json::to_string(&report.matrices[0].values[3]).unwrap();
        assert!(text.lines().any(|line| line.trim_start().trim_end_matches(',') == row), "no line {row}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let plain = serde_json::to_string(&report.matrices).unwrap();
        assert_eq!(read["matrices"], serde_json::from_str::<serde_json::Value>(&plain).unwrap());
        assert_eq!((&read["exit_code"], &read["verdict_word"]), (&1.into(), &"Slow".into()));
    }
}
