//! Why a file was not taken: the line, what is wrong there, and what to do.

use std::fmt;

/// A file that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there, and what to do.
    pub why: String,
}

impl Refusal {
    /// A refusal at a line, from 1.
    pub fn new(line: usize, why: impl Into<String>) -> Self {
        Refusal { line, why: why.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for Refusal {}

/// A piece of a foreign text as it can be shown: short, and without what would move the cursor.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let plain: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() { format!("{plain}…") } else { plain }
}
