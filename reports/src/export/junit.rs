//! JUnit XML, as CI servers show it. The schema of Ant's files is met. It lets no case have properties, so the numbers of the cases are
//! properties of their suite, named after the case.

use askama::Template;

#[derive(Template)]
#[template(path = "junit.xml")]
pub(super) struct Document {
    pub(super) suites: Vec<Suite>,
}

pub(super) struct Suite {
    pub(super) name: String,
    pub(super) package: String,
    pub(super) timestamp: String,
    pub(super) cases: Vec<Case>,
    pub(super) properties: Vec<(String, String)>,
}

pub(super) struct Case {
    pub(super) name: String,
    pub(super) classname: String,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    Passed,
    Failed(Said),
    Errored(Said),
    Skipped(Said),
}

pub(super) struct Said {
    pub(super) kind: &'static str,
    pub(super) message: String,
    pub(super) text: String,
}

impl Suite {
    fn count(&self, is: fn(&Outcome) -> bool) -> usize {
        self.cases.iter().filter(|case| is(&case.outcome)).count()
    }

    fn failures(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    fn errors(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Errored(_)))
    }

    fn skipped(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Skipped(_)))
    }
}

impl Document {
    /// The whole file.
    pub(super) fn text(&self) -> String {
        self.render().expect("the template only fills in texts") + "\n"
    }
}

/// The name of a suite or a case, which must have one, though what it is called after may have none.
pub(super) fn named(name: &str) -> String {
    if name.trim().is_empty() { "unnamed".to_owned() } else { xml(name) }
}

/// What XML has no character for, replaced by the sign for that; the rest is escaped by the template.
pub(super) fn xml(text: &str) -> String {
    let allowed =
        |c: char| matches!(c, '\t' | '\n' | '\r') || (c >= ' ' && !matches!(c, '\u{fffe}' | '\u{ffff}'));
    text.chars().map(|c| if allowed(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_gets_one() {
        assert_eq!(named(" "), "unnamed");
    }
}
