//! The store of nights when things go wrong: killed, full, read-only, newer, two at once. Nothing committed is lost, and what is
//! refused is refused in words, before anything is measured.

use std::{
    fs,
    os::unix::fs::FileExt as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{
    Scenario, finish,
    programs::{Finished, PATIENCE, program, rdma_harness},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

const KILLS: u32 = 50;
/// Runs of a night of [`SUITE`].
const RUNS: u64 = 5;
const SUITE: &str = "question = \"As fast as last night?\"
runs = 5
[[scenarios]]
file = \"depth.toml\"
variant = \"depth-64\"
";

/// A suite over fixtures/depth.toml, with no store yet.
fn suite() -> Scenario {
    let scenario = Scenario::depth();
    fs::write(scenario.path("suite.toml"), SUITE).unwrap();
    scenario
}

/// The same with a night that came to its end.
#[track_caller]
fn night() -> Scenario {
    let scenario = suite();
    judged(&finish(&mut scenario.harness(&["nightly", "suite.toml"]), PATIENCE));
    scenario
}

/// A night that was measured and judged; how, a busy machine decides.
#[track_caller]
fn judged(night: &Finished) {
    assert!(matches!(night.code, Some(0 | 1 | 4)), "{:?}: {}{}", night.code, night.stdout, night.stderr);
}

/// What `store check` says of a store that is whole.
#[track_caller]
fn check(store: &Path) -> Value {
    let mut check = rdma_harness(&["store", "check", "--json", "--store"]);
    finish(check.arg(store), PATIENCE).expect(0).json()
}

/// What a store holds: numbers that may only grow.
fn holdings(scenario: &Scenario) -> [u64; 4] {
    let store = scenario.path("store.db");
    if !store.exists() {
        return [0; 4];
    }
    let checked = check(&store);
    ["campaigns", "runs", "nights", "values"].map(|key| checked[key].as_u64().unwrap())
}

#[test]
fn fifty_kills_of_nights_lose_nothing_that_was_committed() {
    let seed = u64::from(std::process::id());
    eprintln!("moments drawn from seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let scenario = suite();
    let mut last = [0; 4];
    for kill in 0..KILLS {
        let resume: &[&str] = if kill % 3 == 0 { &[] } else { &["--resume"] };
        let mut nightly = scenario.harness(&["nightly", "suite.toml"]);
        nightly.args(resume).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = nightly.spawn().expect("rdma-harness starts");
        thread::sleep(Duration::from_millis(random.random_range(0..900)));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = holdings(&scenario);
        let lost = last.iter().zip(&now).any(|(before, after)| after < before);
        assert!(!lost, "kill {kill}: {last:?} became {now:?}");
        last = now;
    }
    judged(&finish(&mut scenario.harness(&["nightly", "suite.toml"]), PATIENCE));
    let now = holdings(&scenario);
    assert!(now[1] >= last[1] + RUNS && now[3] > last[3], "{last:?} became {now:?}");
}

#[test]
fn killed_prunes_merges_and_backups_leave_stores_whole() {
    let seed = u64::from(std::process::id());
    eprintln!("moments drawn from seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (scenario, other) = (night(), night());
    fs::copy(other.path("store.db"), scenario.path("other.db")).unwrap();
    let mut last = holdings(&scenario);
    for command in ["prune --older-than 0s", "store merge other.db", "store backup copy.db --force"] {
        let words: Vec<&str> = command.split(' ').collect();
        for kill in 0..10 {
            let mut child = scenario.harness(&words).stdout(Stdio::null()).spawn().unwrap();
            thread::sleep(Duration::from_millis(random.random_range(0..80)));
            child.kill().unwrap();
            child.wait().unwrap();
            let now = holdings(&scenario);
            let lost = last.iter().zip(&now).any(|(before, after)| after < before);
            assert!(!lost, "{command}, kill {kill}: {last:?} became {now:?}");
            last = now;
            let copy = scenario.path("copy.db");
            assert!(!copy.exists() || check(&copy)["nights"] == last[2], "{command}, kill {kill}");
        }
        finish(&mut scenario.harness(&words), PATIENCE).expect(0);
    }
    assert_eq!(holdings(&scenario)[1..3], [2 * RUNS, 2]);
}

/// A shell script in a mount namespace of its own, in the scenario's folder; `$harness` is the program with the store.
fn in_namespace(scenario: &Scenario, script: &str) -> Command {
    let mut shell = Command::new("unshare");
    shell.args(["--map-root-user", "--mount", "sh", "-euc", script]).current_dir(scenario.path("."));
    shell.env("harness", program("rdma-harness"));
    shell
}

/// What lies in a folder, and the bytes of each.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut all: Vec<_> = entries
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn a_store_on_a_read_only_mount_is_read_and_refused_to_whoever_writes() {
    let scenario = night();
    let store = scenario.path("mounted/store.db");
    fs::create_dir(store.parent().unwrap()).unwrap();
    fs::rename(scenario.path("store.db"), &store).unwrap();
    let before = contents(store.parent().unwrap());
    let mounted = "mount --bind mounted mounted && mount -o remount,bind,ro mounted";
    for reads in [
        "runs",
        "runs 1",
        "report 1 --out report",
        "export 1 --format json",
        "plan depth.toml",
        "history",
        "store check",
        "store backup copy.db",
        "prune --older-than 0s --dry-run",
    ] {
        let script = format!("{mounted}; \"$harness\" {reads} --store mounted/store.db");
        let finished = finish(&mut in_namespace(&scenario, &script), PATIENCE);
        assert!(matches!(finished.code, Some(0 | 4)), "{reads}: {:?} {}", finished.code, finished.stderr);
    }
    for writes in [
        "run depth.toml",
        "nightly suite.toml",
        "history note \"a new cable\"",
        "prune --older-than 0s",
        "store merge copy.db",
    ] {
        let script = format!("{mounted}; \"$harness\" {writes} --store mounted/store.db");
        let started = Instant::now();
        let finished = finish(&mut in_namespace(&scenario, &script), PATIENCE).expect(3);
        let told = &finished.stderr;
        assert!(told.contains("mounted/store.db can only be read"), "{writes}: {told}");
        assert!(told.contains("--store FILE"), "{writes}: {told}");
        assert!(started.elapsed() < Duration::from_secs(5), "{writes}: nothing was measured first");
    }
    assert_eq!(contents(store.parent().unwrap()), before);
}

#[test]
fn a_full_disk_is_told_and_the_night_goes_on_once_there_is_space() {
    let scenario = suite();
    fs::create_dir(scenario.path("small")).unwrap();
    let script = "mount -t tmpfs -o size=3m none small
        nightly() { \"$harness\" nightly suite.toml --store small/store.db \"$@\" && ended=0 || ended=$?; echo \"ended with $ended\"; }
        nightly
        cat /dev/zero > small/ballast || truncate --size=-96K small/ballast
        nightly
        rm small/ballast
        nightly --resume
        cp small/store.db .";
    let finished = finish(&mut in_namespace(&scenario, script), PATIENCE).expect(0);
    let ended: Vec<&str> =
        finished.stdout.lines().filter_map(|line| line.strip_prefix("ended with ")).collect();
    assert!(ended[0] != "3" && ended[1] == "3" && ended[2] != "3", "{ended:?}: {}", finished.stderr);
    let told = &finished.stderr;
    assert!(
        told.contains("small/store.db") && told.contains("full") && told.contains("free space"),
        "{told}"
    );
    assert_eq!(holdings(&scenario)[1..3], [2 * RUNS, 2]);
}

#[test]
fn a_store_of_a_later_release_is_refused_by_every_command_and_left_alone() {
    let scenario = night();
    let file = scenario.path("store.db");
    // The user_version in the header of an SQLite file.
    fs::OpenOptions::new().write(true).open(&file).unwrap().write_all_at(&99u32.to_be_bytes(), 60).unwrap();
    let before = fs::read(&file).unwrap();
    for command in [
        "runs",
        "history",
        "nightly suite.toml",
        "run depth.toml",
        "prune --older-than 1d",
        "store check",
        "store backup copy.db",
        "store merge other.db",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let finished = finish(&mut scenario.harness(&words), PATIENCE).expect(3);
        let told = &finished.stderr;
        assert!(
            told.contains("store.db has store schema 99") && told.contains("later one"),
            "{command}: {told}"
        );
    }
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn one_measures_and_others_read_note_and_copy_meanwhile() {
    let scenario = night();
    let mut second = scenario.harness(&["nightly", "suite.toml"]);
    second.stdout(Stdio::null()).stderr(Stdio::null());
    let mut second = second.spawn().unwrap();
    let begun = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(20));
        holdings(&scenario)[2] == 2
    });
    assert!(begun, "the second night begins");
    for writes in ["nightly suite.toml", "run depth.toml", "prune --older-than 1d", "store merge copy.db"] {
        let words: Vec<&str> = writes.split(' ').collect();
        let told = finish(&mut scenario.harness(&words), PATIENCE).expect(3).stderr;
        assert!(told.contains("another rdma-harness is measuring"), "{writes}: {told}");
    }
    for meanwhile in ["history", "history note cable", "runs", "store check", "store backup copy.db"] {
        let words: Vec<&str> = meanwhile.split(' ').collect();
        finish(&mut scenario.harness(&words), PATIENCE).expect(0);
    }
    assert_eq!(second.try_wait().unwrap(), None, "the second night goes on");
    assert_ne!(second.wait().unwrap().code(), Some(3));
    assert_eq!(check(&scenario.path("copy.db"))["nights"], 2);
    assert_eq!(holdings(&scenario)[1], 2 * RUNS);
}

#[test]
fn a_pruned_night_keeps_its_values_and_says_what_is_gone() {
    let scenario = night();
    let run = |words: &[&str]| -> Finished { finish(&mut scenario.harness(words), PATIENCE) };
    let before = holdings(&scenario);
    let dry = run(&["prune", "--older-than", "0s", "--dry-run"]).expect(0).stdout;
    assert!(dry.contains("would go  runs 5, campaigns 1, pairs 0, clusters 0, nights 1,"), "{dry}");
    run(&["history", "note", "kept for later"]).expect(0);
    let kept = run(&["prune", "--older-than", "0s"]).expect(0).stdout;
    assert!(kept.contains("pruned    runs 0,") && kept.contains("kept      nights 1"), "{kept}");
    run(&["prune", "--older-than", "0s", "--also-flagged"]).expect(0);
    assert_eq!(check(&scenario.path("store.db"))["pruned_runs"], RUNS);
    assert_eq!(holdings(&scenario), before);
    let table = run(&["runs", "1"]).expect(0).stdout;
    assert_eq!(table.matches("Gb/s").count() as u64, RUNS, "the numbers are there: {table}");
    run(&["report", "1", "--out", "report"]);
    let report = fs::read_to_string(scenario.path("report/report.md")).unwrap();
    assert!(report.contains("5 of 5 runs were pruned"), "{report}");
}

#[test]
fn stores_of_two_hosts_become_one() {
    let (one, two) = (night(), night());
    let theirs = two.path("store.db");
    let merge = || {
        let mut merge = one.harness(&["store", "merge"]);
        finish(merge.arg(&theirs), PATIENCE).expect(0).stdout
    };
    let first = merge();
    assert!(first.contains("nights    1 added, 0 known already"), "{first}");
    let again = merge();
    assert!(again.contains("nights    0 added, 1 known already"), "{again}");
    assert_eq!(holdings(&one)[1], 2 * RUNS);
    let damaged = fs::read(&theirs).unwrap();
    fs::write(&theirs, &damaged[..damaged.len() / 2]).unwrap();
    let before = holdings(&one);
    finish(one.harness(&["store", "merge"]).arg(&theirs), PATIENCE).expect(3);
    assert_eq!(holdings(&one), before);
}
