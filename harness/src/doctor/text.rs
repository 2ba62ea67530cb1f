//! An audit as people read it: worst first, a line a finding, the detail below those that are not fine.

use std::fmt::Write as _;

use schema::{Audit, Diagnosis, Finding, Matters, Reading, Severity};

use crate::words;

/// How it is to look.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Every reading, and the detail of what is fine.
    pub all: bool,
    /// ANSI colours for headings.
    pub colour: bool,
    /// Columns of a line; a command to be copied may be longer.
    pub width: usize,
}

/// Worst first.
const ORDER: [Severity; 6] = [
    Severity::Wrong,
    Severity::Warning,
    Severity::Unknown,
    Severity::Note,
    Severity::Fine,
    Severity::NotApplicable,
];

/// Readings and lines of a remedy that are shown of one finding unless all are asked for.
const SHOWN: usize = 6;

/// Columns of the names in front of the detail.
const LABEL: usize = 11;

/// The audit as text.
pub fn audit(audit: &Audit, look: Look) -> String {
    let mut text = heading(audit);
    for severity in ORDER {
        let findings: Vec<&Finding> =
            audit.findings.iter().filter(|finding| finding.severity == severity).collect();
        if findings.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{}", paint(severity, title(severity, findings.len()), look.colour));
        for finding in findings {
            text += &of_finding(finding, look);
        }
    }
    text.push('\n');
    text += &wrapped("", "", &counts(audit), look.width);
    text += &wrapped("", "", "rdma-harness explain CHECK says more of any of them.", look.width);
    text
}

fn heading(audit: &Audit) -> String {
    let name = if audit.hostname.is_empty() { "a host without a name" } else { &audit.hostname };
    let devices = match audit.devices.as_slice() {
        [] => "no RDMA device".to_owned(),
        devices => devices.join(", "),
    };
    let rights = if audit.privileged { "" } else { "; read without root's rights" };
    format!("{name}: {devices}{rights}\n")
}

fn title(severity: Severity, count: usize) -> String {
    let word = match severity {
        Severity::Wrong => "wrong",
        Severity::Warning => "warnings",
        Severity::Unknown => "could not be seen",
        Severity::Note => "notes",
        Severity::Fine => "fine",
        Severity::NotApplicable => "not applicable",
    };
    format!("{word} ({count})")
}

fn paint(severity: Severity, text: String, colour: bool) -> String {
    let code = match severity {
        _ if !colour => return text,
        Severity::Wrong => "1;31",
        Severity::Warning => "1;33",
        Severity::Unknown => "1;35",
        Severity::Note => "1;36",
        Severity::Fine => "1;32",
        Severity::NotApplicable => "2",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// How many of each, in one line.
fn counts(audit: &Audit) -> String {
    let count = |severity| audit.findings.iter().filter(|finding| finding.severity == severity).count();
    format!(
        "{} findings: {} wrong, {} warnings, {} could not be seen, {} notes, {} fine, {} not applicable",
        audit.findings.len(),
        count(Severity::Wrong),
        count(Severity::Warning),
        count(Severity::Unknown),
        count(Severity::Note),
        count(Severity::Fine),
        count(Severity::NotApplicable)
    )
}

fn of_finding(finding: &Finding, look: Look) -> String {
    let line = format!("{} [{}]: {}", finding.check, finding.subject, finding.summary);
    let mut text = wrapped("  ", "    ", &line, look.width);
    let quiet = matches!(finding.severity, Severity::Fine | Severity::NotApplicable);
    if quiet && !look.all {
        return text;
    }
    let limit = if look.all { usize::MAX } else { SHOWN };
    text += &readings(&finding.readings, limit, look.width);
    if quiet {
        return text;
    }
    text += &labelled("expected", &finding.expected, look.width);
    text += &labelled("by", &finding.authority, look.width);
    text += &labelled("matters to", &matters(&finding.matters), look.width);
    text += &remedy(&finding.remedy, limit, look.width);
    text
}

/// The readings as indented lines.
fn readings(readings: &[Reading], limit: usize, width: usize) -> String {
    let mut text: String =
        readings.iter().take(limit).map(|reading| labelled("read", &in_words(reading), width)).collect();
    if readings.len() > limit {
        text += &labelled("read", &format!("and {} more (--all shows them)", readings.len() - limit), width);
    }
    text
}

fn in_words(reading: &Reading) -> String {
    match (&reading.value, &reading.unknown) {
        (Some(value), _) if value.is_empty() => format!("{}: (empty)", reading.at),
        (Some(value), _) => format!("{}: {}", reading.at, value.replace(['\t', '\n'], " ")),
        (None, Some(why)) => format!("{}: {why}", reading.at),
        (None, None) => reading.at.clone(),
    }
}

fn matters(matters: &[Matters]) -> String {
    let word = |matters: &Matters| match matters {
        Matters::DataPath => "the verbs data path",
        Matters::EventMode => "event mode",
        Matters::ControlPath => "the control path",
        Matters::TcpOnly => "TCP",
        Matters::Provenance => "provenance",
    };
    match matters {
        [Matters::TcpOnly] => "TCP only".into(),
        several => several.iter().map(word).collect::<Vec<_>>().join(", "),
    }
}

/// Programs that a remedy's line begins with when it is a command to be copied.
const COMMANDS: [&str; 14] = [
    "echo",
    "ip",
    "sysctl",
    "cpupower",
    "setpci",
    "lspci",
    "mstconfig",
    "ethtool",
    "modprobe",
    "grubby",
    "sed",
    "update-grub",
    "grub2-mkconfig",
    "rpm-ostree",
];

/// Line by line; a command stays on one, as it is to be copied.
fn remedy(remedy: &str, limit: usize, width: usize) -> String {
    let lines: Vec<&str> = remedy.lines().collect();
    let mut text: String =
        lines.iter().take(limit).map(|line| labelled("do", line, width_of(line, width))).collect();
    if lines.len() > limit {
        text += &labelled("do", &format!("and {} more (--all shows them)", lines.len() - limit), width);
    }
    text
}

fn width_of(line: &str, width: usize) -> usize {
    let is_command = line.split_whitespace().next().is_some_and(|word| COMMANDS.contains(&word));
    if is_command { usize::MAX } else { width }
}

/// A name in front of a text that is wrapped beside it.
fn labelled(label: &str, text: &str, width: usize) -> String {
    let first = format!("      {label:LABEL$} ");
    wrapped(&first, &" ".repeat(first.len()), text, width)
}

/// Whole lines.
fn wrapped(first: &str, rest: &str, text: &str, width: usize) -> String {
    words::wrap(text, width, first, rest) + "\n"
}

/// The search for the cause of a symptom as text.
pub fn diagnosis(diagnosis: &Diagnosis, look: Look) -> String {
    let mut text = format!("{} [{}]\n", diagnosis.symptom, diagnosis.subject);
    for (at, step) in diagnosis.steps.iter().enumerate() {
        let mark = match step.explains {
            Some(true) => "explains it",
            Some(false) => "not this",
            None => "not seen",
        };
        text += &wrapped(&format!("  {}. ", at + 1), "     ", &step.asked, look.width);
        let limit = if look.all { usize::MAX } else { SHOWN };
        text += &readings(&step.readings, limit, look.width);
        text += &labelled(mark, &step.verdict, look.width);
    }
    let severity = if diagnosis.found { Severity::Warning } else { Severity::Fine };
    let conclusion = format!("{} ", paint(severity, "conclusion:".into(), look.colour));
    text += &wrapped(&conclusion, "  ", &diagnosis.conclusion, look.width);
    for line in diagnosis.next.lines() {
        text += &wrapped("next: ", "  ", line, width_of(line, look.width));
    }
    text
}
