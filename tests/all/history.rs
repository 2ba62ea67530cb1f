//! A history as people look at it: forty nights of an imported table, in which one end became slower at night 31.

use std::{fmt::Write as _, fs, path::Path};

use e2e::programs::{Finished, PATIENCE, finish, rdma_harness};
use serde_json::Value;

fn run(folder: &Path, arguments: &[&str]) -> Finished {
    finish(rdma_harness(arguments).current_dir(folder).args(["--store", "store.db"]), PATIENCE)
}

/// How far the runs of a night are off their level; the nights take turns.
const WOBBLE: [f64; 7] = [0.001, -0.003, 0.002, 0.0, 0.004, -0.002, -0.001];

/// A folder with a store: two sizes between two pairs of hosts, 5 % less from node1 since night 31.
fn forty_nights() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut table =
        "time,scenario,workload,msg_bytes,metric,value,unit,requester_host,responder_host\n".to_owned();
    for night in 0..40_usize {
        let (month, day) = (9 + night / 30, night % 30 + 1);
        for (size, gigabits) in [(64, 40.0), (65_536, 97.0)] {
            for (from, to) in [("node1", "node2"), ("node2", "node3")] {
                let level = if from == "node1" && night >= 30 { 0.95 } else { 1.0 };
                for run in &WOBBLE[..5] {
                    let off = WOBBLE[(night * 3 + size / 64) % 7] + run / 4.0;
                    let value = gigabits * 1e9 * level * (1.0 + off);
                    writeln!(
                        table,
                        "2026-{month:02}-{day:02}T02:00:00Z,rate,write,{size},bandwidth,{value:.0},bit/s,{from},{to}"
                    )
                    .unwrap();
                }
            }
        }
    }
    fs::write(folder.path().join("nights.csv"), table).unwrap();
    run(folder.path(), &["import", "csv", "nights.csv"]).expect(0);
    folder
}

#[test]
fn what_became_slower_is_listed_first_and_shown_in_full() {
    let folder = forty_nights();
    let list = run(folder.path(), &["history"]).expect(0).stdout;
    let verdict = list.lines().next().unwrap();
    assert!(verdict.starts_with("▼ Regressed: imported, night 40 (2026-10-10): 1 regression"), "{list}");
    assert!(list.contains("since night 31 (2026-10-01)") && list.contains("\u{2212}5.0%"), "{list}");
    let chosen = run(folder.path(), &["history", "node2:?/node3", "64Ki"]).expect(0).stdout;
    assert!(chosen.contains("/64Ki/bandwidth/node2:?/node3:?"), "{chosen}");
    assert!(!chosen.contains("node1"), "{chosen}");
    let shown =
        run(folder.path(), &["history", "show", "node1", "64Ki", "--color", "always"]).expect(0).stdout;
    for part in ["Changes", "night 31 (2026-10-01): \u{2212}5.0%", "Configurations", "imported", "\u{2503}"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let lately: Value = run(folder.path(), &["history", "node1", "64Ki", "--since", "5d", "--json"]).json();
    assert_eq!(lately["nights"].as_array().unwrap().len(), 6);
    assert_eq!(lately["verdict"], "regression");
    let before: Value = run(folder.path(), &["history", "--night", "30", "--json"]).json();
    assert_eq!((&before["verdict"], before["findings"].as_array().unwrap().len()), (&"fine".into(), 0));
}

#[test]
fn what_is_not_there_is_refused_with_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let none = run(folder.path(), &["history"]).expect(2).stderr;
    assert!(none.contains("there is no store at store.db"), "{none}");
    let folder = forty_nights();
    for (arguments, said) in [
        (&["history", "bandwith"][..], "did you mean `bandwidth`?"),
        (&["history", "--suite", "rack7"], "there are: imported"),
        (&["history", "--night", "99"], "there are nights 1 to 40 of imported"),
        (&["history", "--since", "soon"], "write 30d, 2026-10-01 or \"night 12\""),
        (&["history", "note", "--remove", "5"], "there is no note 5"),
        (&["history", "unack", "5"], "there is no acknowledgement 5"),
        (&["history", "ack", "node3", "--reason", "x"], "never changed"),
        (&["history", "ack", "node1", "--reason", "x"], "2 series have something to acknowledge"),
        (&["history", "ack", "node1", "64Ki", "--night", "12", "--reason", "x"], "changed at night 31"),
    ] {
        let refused = run(folder.path(), arguments).expect(2);
        assert!(refused.stderr.contains(said), "{arguments:?}: {refused:?}");
    }
}

#[test]
fn a_change_that_is_known_raises_no_alarm_until_it_is_taken_back() {
    let folder = forty_nights();
    let verdict = || run(folder.path(), &["history", "--json"]).json::<Value>()["verdict"].clone();
    let known = run(folder.path(), &["history", "ack", "node1", "--all", "--reason", "new cable"]).expect(0);
    assert!(known.stdout.contains("node1:?/node2:? since night 31"), "{known:?}");
    assert_eq!(verdict(), "fine");
    let list = run(folder.path(), &["history"]).expect(0).stdout;
    assert!(list.contains("Known since night 31") && list.contains("acknowledged: new cable"), "{list}");
    assert!(run(folder.path(), &["history", "ack", "--list"]).expect(0).stdout.contains("new cable"));
    run(folder.path(), &["history", "unack", "1"]).expect(0);
    assert_eq!(verdict(), "regression");
}

#[test]
fn a_note_stands_beside_the_finding_on_the_page_and_leaves_it_again() {
    let folder = forty_nights();
    let page = || {
        let written = run(folder.path(), &["history", "dashboard", "--out", "site"]).expect(0);
        assert_eq!(written.stdout.trim(), "site/index.html");
        fs::read_to_string(folder.path().join("site/index.html")).unwrap()
    };
    let noted =
        run(folder.path(), &["history", "note", "--night", "31", "--series", "node1 64Ki", "<b>cable</b>"]);
    assert_eq!(noted.expect(0).stdout.lines().count(), 1);
    let with = page();
    let findings = &with[with.find(r#"id="findings""#).unwrap()..with.find(r#"id="series""#).unwrap()];
    assert!(findings.contains("night 31 (2026-10-01): &#60;b&#62;cable&#60;/b&#62;"), "{findings}");
    assert_eq!(with.matches(r#"<article class="card"#).count(), 4);
    run(folder.path(), &["history", "note", "--remove", "1"]).expect(0);
    assert!(!page().contains("cable"));
    assert_eq!(
        fs::read_dir(folder.path().join("site")).unwrap().count(),
        1,
        "nothing is left beside the page"
    );
}
