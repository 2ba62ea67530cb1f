//! docs/tuning.md, written from the entries.

use std::fmt::Write as _;

use super::{Entry, Guide, Row, Trial, entries, show::matters};

const OPENING: &str = "\
# Tuning: what is said, and what holds

<!-- Written from harness/src/knowledge/data by a test; UPDATE_GOLDEN=1 cargo test -p rdma-harness --lib knowledge writes it anew. -->

Two popular guides to tuning hosts for RDMA stand behind this page, one to the operating system and one to troubleshooting
RoCE v2. Each of their claims has a row: what is said, in our words; whether it holds; the reason in a sentence; what this
program does about it; and the test that shows so. A third table has the knobs that neither guide names. `rdma-harness
explain NAME` tells more about each.

\"Myth on verbs\" means true of TCP or UDP sockets and without effect on verbs traffic that a NIC carries. \"No such
interface\" means that the file, command or option does not exist. *Audited*: `doctor` reads and judges it. *Applied*: `tune`
and scenarios turn it, and turn it back. *Measured*: evidence around a run, or a scenario, shows it. *False*: it is not so.
*Explained*: told here and in `explain`, and no more.

Sources are named at each entry: kernel source and documents, vendors' documents, the source of public tools, and what was
measured. Some effects need hardware that this project has not run on; such an entry says what is expected and how to test
it, not what was found.
";

/// The whole document.
pub fn document() -> String {
    let mut text = OPENING.to_owned();
    for guide in Guide::ALL {
        let _ = write!(text, "\n{}\n\n", heading(guide));
        text += match guide {
            Guide::Further => {
                "| no. | name | what it is | why in short | here | test |\n|---|---|---|---|---|---|\n"
            }
            _ => {
                "| no. | name | what is said | verdict | why in short | here | test |\n|---|---|---|---|---|---|---|\n"
            }
        };
        for (row, entry) in rows_of(guide) {
            text += &line(guide, row, entry);
        }
    }
    text += "\n## The knobs\n\nHow each is read, set and undone. `N`, `DEV`, `IF` and `BDF` stand for an interrupt or CPU, an RDMA device,\n\
             a network device and a PCI address.\n";
    for entry in entries().iter().filter(|entry| entry.is_knob()) {
        text += &knob(entry);
    }
    text
}

fn heading(guide: Guide) -> &'static str {
    match guide {
        Guide::OperatingSystem => "## Guide 1: the operating system",
        Guide::Roce => "## Guide 2: troubleshooting RoCE v2",
        Guide::Further => "## Knobs in neither guide",
    }
}

/// By number; an entry with several numbers stands at each.
fn rows_of(guide: Guide) -> Vec<(&'static Row, &'static Entry)> {
    let each = entries().iter().flat_map(|entry| entry.rows.iter().map(move |row| (row, entry)));
    let mut rows: Vec<_> = each.filter(|(row, _)| row.guide == guide).collect();
    rows.sort_by_key(|(row, _)| *row);
    rows
}

fn line(guide: Guide, row: &Row, entry: &Entry) -> String {
    let status = entry.status.iter().map(|status| status.to_string()).collect::<Vec<_>>().join(", ");
    let tests = entry.test.iter().map(|test| format!("`{test}`")).collect::<Vec<_>>().join("<br>");
    let said = match (guide, entry.verdict) {
        (Guide::Further, _) => cell(&entry.title),
        (_, verdict) => format!(
            "{} | {}",
            cell(&entry.says),
            verdict.map(|verdict| verdict.to_string()).unwrap_or_default()
        ),
    };
    format!(
        "| {}{} | `{}` | {said} | {} | {status} | {tests} |\n",
        row.number,
        row.letter,
        entry.id,
        cell(entry.in_short())
    )
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn knob(entry: &Entry) -> String {
    let mut text = format!("\n### {}\n\n{}.", entry.id, entry.title.trim_end_matches('.'));
    let _ = writeln!(text, " {}", entry.why);
    let mut code = String::new();
    for (word, lines) in [("read", &entry.read), ("set", &entry.set), ("undo", &entry.undo)] {
        lines.iter().for_each(|line| {
            let _ = writeln!(code, "{word:5} {line}");
        });
    }
    let _ = write!(text, "\n```text\n{code}```\n\n");
    if let Some(class) = entry.class {
        let _ = writeln!(text, "- class: {class}");
    }
    let _ = writeln!(text, "- matters to: {}", matters(&entry.matters));
    if !entry.trial.is_empty() {
        let trials: Vec<String> = entry.trial.iter().map(trial).collect();
        let _ = writeln!(text, "- try it: {}", trials.join("; "));
    }
    let _ = writeln!(text, "- says who: {}", entry.source.join("; "));
    text
}

/// A command in code, words as words.
fn trial(trial: &Trial) -> String {
    match trial {
        Trial::Words(words) => words.clone(),
        Trial::Doctor(check) => format!("check `{check}` of `rdma-harness doctor`"),
        command => format!("`{command}`"),
    }
}
