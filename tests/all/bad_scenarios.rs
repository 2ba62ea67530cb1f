//! A scenario that cannot be run is refused with exit code 2 before anything is touched; the message names file, line and
//! field, and shows the place.

use e2e::{Scenario, finish, programs::PATIENCE};

/// Old text and new text.
type Changes = &'static [(&'static str, &'static str)];

/// What is wrong, the change that makes it so, and words that must be said.
const REFUSED: [(&str, Changes, &[&str]); 16] = [
    ("unclear size", &[("size = \"16Ki\"", "size = \"16k\"")], &["size", "16Ki"]),
    ("no size", &[("size = \"16Ki\"", "size = 0")], &["size"]),
    ("no depth", &[("tx_depth = 64", "tx_depth = 0")], &["tx_depth"]),
    ("list above depth", &[("tx_depth = 64", "tx_depth = 64\npost_list = 65")], &["post_list", "65"]),
    (
        "signals too rare",
        &[("tx_depth = 64", "tx_depth = 64\nsignal_interval = 65")],
        &["signal_interval", "65"],
    ),
    ("GID out of the table", &[("tx_depth = 64", "tx_depth = 64\ngid_index = 257")], &["gid_index", "257"]),
    ("unknown key", &[("tx_depth = 64", "tx_deep = 64")], &["tx_deep", "tx_depth"]),
    ("unknown table", &[("[design]", "[desing]")], &["desing", "design"]),
    ("same variant twice", &[("name = \"depth-64\"", "name = \"depth-1\"")], &["name", "depth-1"]),
    ("two baselines", &[("tx_depth = 64", "tx_depth = 64\nbaseline = true")], &["baseline"]),
    ("no baseline", &[("baseline = true\n", "")], &["baseline"]),
    ("nothing varied", &[("tx_depth = 64", "tx_depth = 1")], &["depth-64", "depth-1"]),
    (
        "gate on no workload",
        &[("workload = \"write-16Ki\"", "workload = \"read-16Ki\"")],
        &["read-16Ki", "write-16Ki"],
    ),
    (
        "settings of no variant",
        &[("size = \"16Ki\"\n", "size = \"16Ki\"\n[workloads.with.depth-9]\nduration = \"1s\"\n")],
        &["depth-9"],
    ),
    ("duration without unit", &[("duration = \"60ms\"", "duration = \"60\"")], &["duration", "60ms"]),
    ("not TOML", &[("[design]", "[design")], &["depth.toml"]),
];

#[test]
fn each_names_its_place() {
    for (what, changes, words) in REFUSED {
        let scenario = Scenario::with(changes);
        for subcommand in ["plan", "run"] {
            let refused = finish(&mut scenario.harness(&[subcommand, "depth.toml"]), PATIENCE);
            assert_eq!(refused.code, Some(2), "{what}: {refused:?}");
            for word in words.iter().chain(&["depth.toml:", "^"]) {
                assert!(refused.stderr.contains(word), "{what}: no `{word}` in:\n{}", refused.stderr);
            }
        }
        assert!(!scenario.path("store.db").exists(), "{what}: a store was made");
    }
}

#[test]
fn an_empty_scenario() {
    let scenario = Scenario::of("");
    let refused = finish(&mut scenario.harness(&["run", "depth.toml"]), PATIENCE).expect(2);
    for word in ["depth.toml:1", "question"] {
        assert!(refused.stderr.contains(word), "no `{word}` in:\n{}", refused.stderr);
    }
}

#[test]
fn a_scenario_that_is_not_there() {
    let scenario = Scenario::depth();
    let refused = finish(&mut scenario.harness(&["run", "dpeth.toml"]), PATIENCE).expect(2);
    assert!(refused.stderr.contains("dpeth.toml"), "{}", refused.stderr);
}
