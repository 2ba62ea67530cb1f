//! kill -9 of rdma-harness at random moments: the store always opens, keeps what it had, and the campaign comes to its end.

use std::{fs, process::Stdio, thread, time::Duration};

use e2e::{Scenario, finish, programs::PATIENCE, scenario::PLANNED_RUNS};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schema::Campaign;
use serde::Deserialize;

const KILLS: u32 = 20;
/// In the environment of everything that the harness starts, to find what outlives it.
const MARK: &str = "E2E_KILL_RESUME";

#[derive(Debug, Clone, Copy, Deserialize)]
struct Head {
    planned: usize,
    tried: usize,
}

/// The campaigns in the store, oldest first; none while the harness was killed before it made one.
#[track_caller]
fn heads(scenario: &Scenario) -> Vec<Head> {
    if !scenario.path("store.db").exists() {
        return Vec::new();
    }
    let mut heads: Vec<(i64, Head)> = finish(&mut scenario.harness(&["runs", "--json"]), PATIENCE)
        .expect(0)
        .json::<Vec<serde_json::Value>>()
        .into_iter()
        .map(|head| (head["id"].as_i64().unwrap(), serde_json::from_value(head).unwrap()))
        .collect();
    heads.sort_by_key(|(id, _)| *id);
    heads.into_iter().map(|(_, head)| head).collect()
}

/// Processes that carry the mark in their environment.
fn marked(mark: &str) -> usize {
    let environments = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    environments.filter(|text| text.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())).count()
}

#[test]
fn twenty_kills_lose_at_most_the_run_in_flight() {
    let seed = u64::from(std::process::id());
    eprintln!("moments drawn from seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let scenario = Scenario::depth();
    let value = format!("{seed}");
    let mark = format!("{MARK}={value}");
    let mut last = Vec::new();
    for kill in 0..KILLS {
        let unfinished = last.last().is_some_and(|head: &Head| head.tried < head.planned);
        let resume: &[&str] = if unfinished { &["--resume"] } else { &[] };
        let mut harness = scenario.harness(&["run", "depth.toml"]);
        harness
            .args(resume)
            .env(MARK, &value)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = harness.spawn().expect("rdma-harness starts");
        thread::sleep(Duration::from_millis(random.random_range(0..900)));
        child.kill().unwrap();
        child.wait().unwrap();

        let now = heads(&scenario);
        assert!(now.len() >= last.len(), "kill {kill}: a campaign is gone");
        for (before, after) in last.iter().zip(&now) {
            assert!(after.tried >= before.tried, "kill {kill}: {before:?} became {after:?}");
        }
        last = now;
    }
    let gone = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        marked(&mark) == 0
    });
    assert!(gone, "{} processes outlive the harness that started them", marked(&mark));

    let resume: &[&str] =
        if last.last().is_some_and(|head| head.tried < head.planned) { &["--resume"] } else { &[] };
    let ended = finish(scenario.harness(&["run", "depth.toml"]).args(resume), Duration::from_secs(120));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
    let campaign: Campaign =
        finish(&mut scenario.harness(&["export", "--format", "json"]), PATIENCE).expect(0).json();
    let sequence: Vec<usize> = campaign.runs.iter().map(|run| run.sequence as usize).collect();
    assert_eq!(sequence, (0..PLANNED_RUNS).collect::<Vec<_>>(), "a run is missing, or was made twice");
    assert!(campaign.runs.iter().all(|run| run.record.outcome.is_completed()));
}

#[test]
fn a_changed_scenario_is_not_resumed() {
    let scenario = Scenario::depth();
    let mut child =
        scenario.harness(&["run", "depth.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while heads(&scenario).first().is_none_or(|head| head.tried == 0) {
        thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let text = fs::read_to_string(scenario.path("depth.toml")).unwrap();
    fs::write(scenario.path("depth.toml"), text.replace("tx_depth = 64", "tx_depth = 32")).unwrap();
    let refused = finish(&mut scenario.harness(&["run", "depth.toml", "--resume"]), PATIENCE).expect(2);
    assert!(refused.stderr.contains("tx_depth"), "{}", refused.stderr);
}
