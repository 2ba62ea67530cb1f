//! What is wrong with a scenario, shown at its place in the file.
//!
//! Every fault names its field and points at the text that caused it; all faults of a file are shown at once.

use std::{fmt, ops::Range, path::PathBuf};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// A place in the scenario file, in bytes.
pub type Span = Range<usize>;

/// One thing wrong in a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The field as a path: `variants[1].tx_depth`.
    pub field: String,
    /// What is wrong.
    pub what: String,
    /// The text that is wrong.
    pub span: Span,
    /// A second place that has to do with it, and what it is.
    pub beside: Option<(Span, String)>,
    /// What to write instead; empty when `what` says it.
    pub advice: String,
}

impl Fault {
    /// A fault with nothing beside it.
    pub fn new(field: impl Into<String>, span: Span, what: impl Into<String>) -> Self {
        Fault { field: field.into(), what: what.into(), span, beside: None, advice: String::new() }
    }

    /// Points at a second place too.
    pub fn beside(mut self, span: Span, what: impl Into<String>) -> Self {
        self.beside = Some((span, what.into()));
        self
    }

    /// Says what to do.
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}

/// Why there is no scenario to run. Its text names file, line and field, with a caret.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file could not be read.
    #[error("reading scenario {}: {cause}; give the path of a scenario file, for example scenarios/quickstart.toml", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// The file says something that can't be run.
    #[error("{0}")]
    Faults(FaultReport),
}

/// The faults of one file.
#[derive(Debug)]
pub struct FaultReport {
    /// The file as it was named.
    pub file: PathBuf,
    /// Its text.
    pub source: String,
    /// At least one.
    pub faults: Vec<Fault>,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display().to_string();
        for (n, fault) in self.faults.iter().enumerate() {
            if n > 0 {
                f.write_str("\n\n")?;
            }
            f.write_str(&self.render(&file, fault))?;
        }
        Ok(())
    }
}

impl FaultReport {
    fn render(&self, file: &str, fault: &Fault) -> String {
        let mut snippet = Snippet::source(self.source.as_str())
            .path(file)
            .annotation(AnnotationKind::Primary.span(self.visible(&fault.span)));
        if let Some((span, what)) = &fault.beside {
            snippet = snippet.annotation(AnnotationKind::Context.span(self.visible(span)).label(what));
        }
        let title = if fault.field.is_empty() {
            fault.what.clone()
        } else {
            format!("{}: {}", fault.field, fault.what)
        };
        let mut group = Level::ERROR.primary_title(title).element(snippet);
        if !fault.advice.is_empty() {
            group = group.element(Level::HELP.message(fault.advice.as_str()));
        }
        Renderer::plain().render(&[group])
    }

    /// The span within the text and on one line, so that a table's span does not print the table.
    fn visible(&self, span: &Span) -> Span {
        let start = span.start.min(self.source.len());
        let end = span.end.clamp(start, self.source.len());
        let first_line = self.source[start..end].find('\n').map_or(end, |length| start + length);
        start..first_line
    }
}

/// The known name nearest to a misspelt one, if one is near.
pub(crate) fn did_you_mean<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(written, name), name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn report(source: &str, fault: Fault) -> String {
        FaultReport { file: "x.toml".into(), source: source.into(), faults: vec![fault] }.to_string()
    }

    #[test]
    fn a_fault_shows_file_line_and_caret() {
        let text = report("a = 1\nb = 22\n", Fault::new("b", 10..12, "is odd").advice("write 2"));
        assert!(text.contains("error: b: is odd"), "{text}");
        assert!(text.contains("x.toml:2:5"), "{text}");
        assert!(text.contains("^^") && text.contains("help: write 2"), "{text}");
    }

    #[test]
    fn a_slip_of_the_pen_is_recognised() {
        assert_eq!(did_you_mean("tx_dpeth", ["post_list", "tx_depth"]), Some("tx_depth"));
        assert_eq!(did_you_mean("zzz", ["post_list", "tx_depth"]), None);
    }

    proptest! {
        #[test]
        fn no_span_panics(source in "[a-zé\\n]{0,30}", start in 0usize..40, len in 0usize..40) {
            prop_assume!(source.is_char_boundary(start.min(source.len())));
            prop_assume!(source.is_char_boundary((start + len).min(source.len())));
            report(&source, Fault::new("f", start..start + len, "x"));
        }
    }
}
