//! Fixture trees with a fault planted, and the finding that comes of it: for the tests of the subjects.

use std::fs;

use host::Sysroot;
use schema::{Finding, Severity};

use super::audit;

/// A copy of a fixture in which some files are other than there.
pub(super) struct Planted(tempfile::TempDir);

impl Planted {
    /// The fixture as it is.
    pub(super) fn on(fixture: &str) -> Planted {
        Planted(host::testing::copy(fixture))
    }

    /// With this text in a file.
    pub(super) fn with(self, path: &str, text: &str) -> Planted {
        let file = self.root().path(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("mkdir");
        fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self
    }

    /// Without a file or a folder.
    pub(super) fn without(self, path: &str) -> Planted {
        let file = self.root().path(path);
        let removed = if file.is_dir() { fs::remove_dir_all(&file) } else { fs::remove_file(&file) };
        removed.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self
    }

    /// Its root.
    pub(super) fn root(&self) -> Sysroot {
        Sysroot::new(self.0.path())
    }

    /// The finding of a check about a subject.
    #[track_caller]
    pub(super) fn finding(&self, check: &str, subject: &str) -> Finding {
        let audit = audit(&self.root(), None).expect("an audit");
        let found: Vec<Finding> = audit
            .findings
            .into_iter()
            .filter(|finding| finding.check == check && finding.subject == subject)
            .collect();
        assert_eq!(found.len(), 1, "{check} of {subject}: {found:#?}");
        found.into_iter().next().expect("one")
    }

    /// How a check stands, and what it says.
    #[track_caller]
    pub(super) fn says(&self, check: &str, subject: &str) -> (Severity, String) {
        let finding = self.finding(check, subject);
        (finding.severity, finding.summary)
    }
}
