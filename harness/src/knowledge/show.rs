//! An entry as text.

use std::fmt::Write as _;

use schema::Matters;

use super::Entry;
use crate::words::wrap;

/// Everything that is known of an entry, in lines of at most `width` columns; commands are not broken.
pub fn show(entry: &Entry, width: usize) -> String {
    let joined = |texts: Vec<String>, by: &str| texts.join(by);
    let mut page = Page { text: format!("{}\n{}\n", entry.id, wrap(&entry.title, width, "", "")), width };
    page.prose("Said", &entry.says);
    page.prose("Verdict", &entry.verdict.map(|verdict| verdict.to_string()).unwrap_or_default());
    page.prose(if entry.says.is_empty() { "What it does" } else { "Why" }, &entry.why);
    page.prose("Matters to", &matters(&entry.matters));
    page.lines("Read", &entry.read);
    page.lines("Set", &entry.set);
    page.lines("Undo", &entry.undo);
    page.prose("Class", &entry.class.map(|class| class.to_string()).unwrap_or_default());
    page.lines("Try it here", &entry.trial.iter().map(|trial| trial.to_string()).collect::<Vec<_>>());
    page.prose("Here it is", &joined(entry.status.iter().map(|status| status.to_string()).collect(), ", "));
    page.prose("Says who", &entry.source.join("; "));
    page.prose("Number", &joined(entry.rows.iter().map(|row| row.in_words()).collect(), "; "));
    page.prose("See also", &entry.see.join(", "));
    page.text
}

/// A text in parts, each under its head; a part without content is left out.
struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn prose(&mut self, head: &str, body: &str) {
        if !body.is_empty() {
            let _ = write!(self.text, "\n{head}\n{}\n", wrap(body, self.width, "  ", "  "));
        }
    }

    /// Commands and paths, unbroken: they are there to be copied.
    fn lines(&mut self, head: &str, lines: &[String]) {
        if !lines.is_empty() {
            let _ = write!(self.text, "\n{head}\n  {}\n", lines.join("\n  "));
        }
    }
}

/// A line for each of them: name, verdict, title.
pub fn list(entries: &[&Entry], width: usize) -> String {
    let longest = entries.iter().map(|entry| entry.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for entry in entries {
        let verdict = entry.verdict.map(|verdict| verdict.to_string()).unwrap_or_default();
        let line = format!("{:longest$}  {verdict:17}  {}", entry.id, entry.title);
        let _ = writeln!(text, "{}", cut(&line, width));
    }
    text
}

/// At most `width` characters, and no space at the end.
fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.trim_end().to_owned();
    }
    let kept: String = line.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// In words, a phrase each.
pub(super) fn matters(matters: &[Matters]) -> String {
    if matters.is_empty() {
        return "nothing that a run measures".into();
    }
    let phrase = |one: &Matters| match one {
        Matters::DataPath => "verbs traffic (the NIC's own data path)",
        Matters::EventMode => "completions waited for by events",
        Matters::ControlPath => "connecting, registering memory, the exchange over TCP",
        Matters::TcpOnly if matters.len() == 1 => "TCP and UDP sockets only",
        Matters::TcpOnly => "TCP and UDP sockets",
        Matters::Provenance => "the record: what a result was measured on",
    };
    matters.iter().map(phrase).collect::<Vec<_>>().join("; ")
}
