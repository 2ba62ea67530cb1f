//! A suite of the software NIC in a folder of its own with its store, and what `cluster run --json` says of it.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;

use crate::{
    programs::{Finished, rdma_harness, repository},
    scenario::replaced,
};

/// A link so slow that what else the machine does takes little beside it.
const LINK: &str = r#"question = "How long does a small read take?"
[hosts.requester]
device = "soft"
cpu = "none"
[hosts.responder]
cpu = "none"
[soft]
model = "latency=2ms"
[design]
duration = "400ms"
warmup = "20ms"
wait = "event"
[[workloads]]
name = "read"
test = "latency"
op = "read"
size = "8"
"#;

/// A folder with this suite as `rack.toml`, and the `link.toml` that it measures: small reads over a slow link.
pub fn rack_of_reads(suite: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in [("rack.toml", suite), ("link.toml", LINK)] {
        fs::write(folder.path().join(name), text).expect("the folder can be written to");
    }
    folder
}

/// A suite, its scenario and its store.
pub struct Suite {
    folder: tempfile::TempDir,
}

impl Suite {
    /// Writes between every pair for so long a run, and `more` at the end of the suite file.
    pub fn lasting(duration: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scenario = fs::read_to_string(repository().join("scenarios/cluster/soft-write.toml")).unwrap();
        let scenario = replaced(scenario, &[("\"200ms\"", &format!("\"{duration}\""))]);
        fs::write(folder.path().join("write.toml"), scenario).unwrap();
        let suite = format!(
            "question = \"Which pair is slow?\"\n[[scenarios]]\nfile = \"write.toml\"\n[pattern]\nkind = \"pairs\"\n{more}"
        );
        fs::write(folder.path().join("suite.toml"), suite).unwrap();
        Suite { folder }
    }

    /// The same on hosts where a setting is turned, to a value that no host has by itself.
    pub fn tuned(duration: &str, setting: &str) -> Self {
        let suite = Suite::lasting(duration, "");
        let change = |name: &str, change: &dyn Fn(String) -> String| {
            let file = suite.path(name);
            fs::write(&file, change(fs::read_to_string(&file).unwrap())).unwrap();
        };
        let variant = format!("\n[[variants]]\nname = \"tuned\"\n[variants.tune.sysctl]\n{setting}\n");
        change("write.toml", &|text| text + &variant);
        let line = "file = \"write.toml\"\n";
        change("suite.toml", &|text| replaced(text, &[(line, &format!("{line}variant = \"tuned\"\n"))]));
        suite
    }

    /// A file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `rdma-harness cluster run` of it, in the folder.
    pub fn run(&self, arguments: &[&str]) -> Command {
        let mut command = rdma_harness(&["cluster", "run", "suite.toml", "--store", "store.db", "--json"]);
        command.args(arguments).current_dir(self.folder.path());
        command
    }
}

/// What is said of a cluster, as far as tests look at it.
pub struct Said(pub Value);

impl Said {
    /// What a program said on stdout.
    #[track_caller]
    pub fn by(finished: &Finished) -> Said {
        Said(finished.json())
    }

    /// Names of the nodes, by rank.
    pub fn names(&self) -> Vec<String> {
        self.nodes().map(|node| node["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The leaf switches of the nodes, by rank.
    pub fn leaves(&self) -> Vec<Option<String>> {
        self.nodes().map(|node| node["leaf"].as_str().map(str::to_owned)).collect()
    }

    /// How a node is: `present`, `absent` or `lost`, and why.
    pub fn state(&self, rank: usize) -> (String, String) {
        let state = &self.0["nodes"][rank]["state"];
        let text = |key: &str| state[key].as_str().unwrap_or_default().to_owned();
        (text("is"), text("why"))
    }

    /// Runs of the pattern, and those of them that gave no numbers.
    #[track_caller]
    pub fn runs(&self) -> (u64, u64) {
        let count = |key: &str| {
            self.0["counts"][key].as_u64().unwrap_or_else(|| panic!("{key} in {:#}", self.0["counts"]))
        };
        (count("runs"), count("could_not_run"))
    }

    fn nodes(&self) -> impl Iterator<Item = &Value> {
        self.0["nodes"].as_array().expect("a report has nodes").iter()
    }
}
