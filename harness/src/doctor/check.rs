//! A check: its name, what is expected and by whose authority, what it matters to; and the finding that comes of one.

use std::fmt::Display;

use host::Value;
use schema::{Finding, Matters, Reading, Severity};

/// What does not depend on the host.
pub(super) struct Check {
    /// Under which `explain` knows more.
    pub(super) name: &'static str,
    /// What it should be.
    pub(super) expected: &'static str,
    /// Who says so.
    pub(super) authority: &'static str,
    /// What it can change.
    pub(super) matters: &'static [Matters],
}

/// The subject of what belongs to no device.
pub(super) const HOST: &str = "host";

impl Check {
    /// A finding to be, about a device or [`HOST`].
    pub(super) fn about(&self, subject: &str) -> Draft {
        Draft(Finding {
            check: self.name.to_owned(),
            subject: subject.to_owned(),
            severity: Severity::Unknown,
            summary: String::new(),
            readings: Vec::new(),
            expected: self.expected.to_owned(),
            authority: self.authority.to_owned(),
            matters: self.matters.to_vec(),
            remedy: String::new(),
        })
    }
}

/// A finding whose verdict is still to come.
#[derive(Clone)]
pub(super) struct Draft(Finding);

impl Draft {
    /// Adds what was read.
    pub(super) fn read<T: Display>(mut self, at: impl Into<String>, value: &Value<T>) -> Draft {
        let (known, unknown) = match value {
            Value::Known(value) => (Some(value.to_string()), None),
            other => (None, other.why_unknown().map(str::to_owned)),
        };
        self.0.readings.push(Reading { at: at.into(), value: known, unknown });
        self
    }

    /// Adds what is known.
    pub(super) fn seen(self, at: impl Into<String>, value: impl Display) -> Draft {
        self.read(at, &Value::Known(value))
    }

    /// Expects something of this very host.
    pub(super) fn expect(mut self, expected: impl Into<String>) -> Draft {
        self.0.expected = expected.into();
        self
    }

    /// Names the check anew: a family of checks has a name for each member.
    pub(super) fn named(mut self, name: String) -> Draft {
        self.0.check = name;
        self
    }

    /// Says what it matters to on this very host.
    pub(super) fn matters(mut self, matters: &[Matters]) -> Draft {
        self.0.matters = matters.to_vec();
        self
    }

    /// Says what to do.
    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Draft {
        self.0.remedy = remedy.into();
        self
    }

    /// As it should be.
    pub(super) fn fine(self, summary: impl Into<String>) -> Finding {
        self.end(Severity::Fine, summary)
    }

    /// Worth knowing.
    pub(super) fn note(self, summary: impl Into<String>) -> Finding {
        self.end(Severity::Note, summary)
    }

    /// Costs something.
    pub(super) fn warning(self, summary: impl Into<String>) -> Finding {
        self.end(Severity::Warning, summary)
    }

    /// Breaks something.
    pub(super) fn wrong(self, summary: impl Into<String>) -> Finding {
        self.end(Severity::Wrong, summary)
    }

    /// Could not be seen.
    pub(super) fn unknown(self, summary: impl Into<String>) -> Finding {
        self.end(Severity::Unknown, summary)
    }

    /// There is no such thing here.
    pub(super) fn not_applicable(self, summary: impl Into<String>) -> Finding {
        self.end(Severity::NotApplicable, summary)
    }

    /// For a thing that was not read: what has no place on this host is not applicable, what could not be seen unknown.
    pub(super) fn without<T>(self, what: &str, value: &Value<T>) -> Finding {
        let summary = format!("{what}: {}", value.why_unknown().unwrap_or("not looked at"));
        match value {
            Value::Absent | Value::NotApplicable(_) => self.not_applicable(summary),
            Value::Known(_) | Value::Unreadable(_) => self.unknown(summary),
        }
    }

    fn end(mut self, severity: Severity, summary: impl Into<String>) -> Finding {
        self.0.severity = severity;
        self.0.summary = summary.into();
        self.0
    }
}
