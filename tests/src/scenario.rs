//! The small scenarios of the harness tests, whole or with a line changed, in a folder of their own with their store.

use std::{fs, path::PathBuf, process::Command};

use schema::Campaign;
use serde_json::Value;
use tempfile::TempDir;

use crate::programs::{PATIENCE, finish, rdma_harness, repository};

/// Runs of fixtures/depth.toml: 6 blocks of two variants and the control.
pub const PLANNED_RUNS: usize = 18;

/// A scenario file, and the store beside it.
#[derive(Debug)]
pub struct Scenario {
    folder: TempDir,
}

impl Scenario {
    /// fixtures/depth.toml as it is.
    pub fn depth() -> Self {
        Scenario::with(&[])
    }

    /// fixtures/depth.toml with some of its text replaced; every text to replace must be there.
    #[track_caller]
    pub fn with(changes: &[(&str, &str)]) -> Self {
        Scenario::of(&replaced(fixture("depth.toml"), changes))
    }

    /// fixtures/shaped.toml likewise: as it is, nothing differs between its variants but their names.
    #[track_caller]
    pub fn shaped(changes: &[(&str, &str)]) -> Self {
        Scenario::of(&replaced(fixture("shaped.toml"), changes))
    }

    /// This text.
    pub fn of(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("depth.toml"), text).expect("it can be written to");
        Scenario { folder }
    }

    /// A file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `rdma-harness` in the folder, with the store in it.
    pub fn harness(&self, arguments: &[&str]) -> Command {
        let mut command = rdma_harness(arguments);
        command.current_dir(self.folder.path()).args(["--store", "store.db"]);
        command
    }

    /// The newest campaign, as it is kept.
    #[track_caller]
    pub fn campaign(&self) -> Campaign {
        finish(&mut self.harness(&["export", "--format", "json"]), PATIENCE).expect(0).json()
    }

    /// The comparison of the newest campaign.
    #[track_caller]
    pub fn comparison(&self) -> Value {
        finish(&mut self.harness(&["compare", "--json"]), PATIENCE).json()
    }
}

#[track_caller]
fn fixture(name: &str) -> String {
    let file = repository().join("tests/fixtures").join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The one gate of a comparison.
#[track_caller]
pub fn gate(comparison: &Value) -> &Value {
    let cells = comparison["cells"].as_array().expect("a comparison has cells");
    let mut gates = cells.iter().filter(|cell| cell["gated"] == true);
    let gate = gates.next().expect("the scenario has a gate");
    assert!(gates.next().is_none(), "it has one");
    gate
}

/// The text with each old piece replaced once, in this order; every piece must be there.
#[track_caller]
pub fn replaced(text: String, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text, |text, (old, new)| {
        assert!(text.contains(old), "`{old}` is not in the scenario");
        text.replacen(old, new, 1)
    })
}
