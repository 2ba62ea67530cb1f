//! `stop = "when-decided"` on campaigns that are really measured: a plain answer comes early, a budget is kept, and a
//! campaign that was killed takes the same looks to the same end.

use std::{process::Stdio, thread, time::Duration};

use e2e::{Finished, Scenario, finish, programs::PATIENCE, scenario::gate};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schema::{Campaign, CampaignState, Stopped};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(180);
/// Runs of a block of shaped.toml.
const BLOCK: usize = 3;
/// As often as a busy machine may keep a plain answer from being seen.
const ATTEMPTS: u32 = 3;
const KILLS: u32 = 6;

/// The candidate's link carries a tenth less.
const PLAIN: (&str, &str) = ("rate=1Gbps\"\nqp_timeout = 15", "rate=900Mbps\"");

fn rule(keys: &str) -> String {
    format!("stop = \"when-decided\"\n{keys}")
}

/// The blocks of the looks that were told of, in order.
fn looks(stderr: &str) -> Vec<usize> {
    let blocks =
        |line: &str| line.strip_prefix("look ")?.split_once(" after ")?.1.split(' ').next()?.parse().ok();
    stderr.lines().filter_map(blocks).collect()
}

/// Every run once, in order, of whole blocks; returns how many blocks.
#[track_caller]
fn whole_blocks(campaign: &Campaign) -> usize {
    let sequence: Vec<usize> = campaign.runs.iter().map(|run| run.sequence as usize).collect();
    assert_eq!(sequence, (0..sequence.len()).collect::<Vec<_>>(), "a run is missing, or was made twice");
    assert_eq!(sequence.len() % BLOCK, 0, "a block was left half made");
    sequence.len() / BLOCK
}

fn run(scenario: &Scenario) -> Finished {
    finish(&mut scenario.harness(&["run", "depth.toml", "--report", "out"]), LIMIT)
}

#[test]
fn a_plain_answer_comes_at_an_early_look_and_every_view_says_so() {
    let mut said = Vec::new();
    for _ in 0..ATTEMPTS {
        let rule = rule("blocks = 30\nlook_every = 4");
        let scenario = Scenario::shaped(&[PLAIN, ("blocks = 6", &rule)]);
        let ran = run(&scenario);
        let campaign = scenario.campaign();
        let blocks = whole_blocks(&campaign);
        let comparison = scenario.comparison();
        if campaign.stopped != Some(Stopped::Decided) || comparison["verdict"] != "regressed" {
            said.push(format!("{:?} after {blocks} blocks: {}", campaign.stopped, ran.stdout));
            continue;
        }
        assert_eq!(campaign.state, CampaignState::Finished);
        assert!(blocks < 30 && looks(&ran.stderr).last() == Some(&blocks), "{}", ran.stderr);
        let line = format!("stopped after {blocks} of at most 30 blocks: every gate is decided");
        assert!(ran.stderr.contains(&line), "no `{line}` in:\n{}", ran.stderr);
        let ran = ran.expect(1);
        assert!(ran.stdout.contains("Regressed"), "{}", ran.stdout);
        assert_eq!(comparison["finished"], true);
        let gate = gate(&comparison);
        assert_eq!(gate["effect"]["pairs"], blocks);
        assert_eq!(gate["dropped"], Value::Array(vec![]), "blocks that were not needed are not missing");
        let runs = finish(&mut scenario.harness(&["runs"]), PATIENCE).expect(0).stdout;
        assert!(runs.contains(&format!("{} of at most 90", blocks * BLOCK)), "{runs}");
        assert!(runs.contains("finished: every gate is decided"), "{runs}");
        let nothing = finish(&mut scenario.harness(&["run", "depth.toml", "--resume"]), PATIENCE).expect(2);
        assert!(nothing.stderr.contains("misses runs"), "{}", nothing.stderr);
        return;
    }
    panic!("a tenth less was not seen early in {ATTEMPTS} attempts:\n{}", said.join("\n"));
}

#[test]
fn without_a_difference_it_ends_by_equivalence_or_by_its_blocks() {
    let rule = rule("blocks = 10\nfirst_look = 6\nlook_every = 2");
    let scenario = Scenario::shaped(&[("blocks = 6", &rule)]);
    let ran = run(&scenario);
    let campaign = scenario.campaign();
    let blocks = whole_blocks(&campaign);
    let verdict = scenario.comparison()["verdict"].as_str().expect("a verdict").to_owned();
    match campaign.stopped {
        Some(Stopped::Decided) => {
            assert!([6, 8].contains(&blocks) && verdict != "inconclusive", "{verdict} after {blocks} blocks");
        }
        Some(Stopped::BlocksSpent) => assert_eq!(blocks, 10),
        other => panic!("stopped by {other:?}: {}", ran.stderr),
    }
    assert!(!matches!(&*verdict, "improved" | "regressed"), "{verdict} by nothing: {}", ran.stdout);
    let planned: Vec<usize> = [6, 8, 10].into_iter().filter(|look| *look <= blocks).collect();
    assert_eq!(looks(&ran.stderr), planned, "{}", ran.stderr);
}

#[test]
fn spent_time_ends_it_after_a_whole_block() {
    let rule = rule("blocks = 2000\nfirst_look = 1000\nmax_time = \"3s\"");
    let scenario = Scenario::shaped(&[PLAIN, ("blocks = 6", &rule)]);
    let ran = run(&scenario);
    let campaign = scenario.campaign();
    assert_eq!(campaign.stopped, Some(Stopped::TimeSpent), "{}", ran.stderr);
    let blocks = whole_blocks(&campaign);
    assert!((1..1000).contains(&blocks), "{blocks}");
    assert!(ran.stderr.contains("its time is spent"), "{}", ran.stderr);
    assert_eq!(campaign.state, CampaignState::Finished);
}

/// Whether there is a campaign to go on with.
fn is_begun(scenario: &Scenario) -> bool {
    let runs = || finish(&mut scenario.harness(&["runs", "--json"]), PATIENCE).expect(0).json::<Vec<Value>>();
    scenario.path("store.db").exists() && !runs().is_empty()
}

#[test]
fn killed_again_and_again_it_takes_the_same_looks_to_the_same_end() {
    let seed = u64::from(std::process::id());
    eprintln!("moments drawn from seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let rule = rule("blocks = 12\nfirst_look = 8\nlook_every = 2");
    let scenario =
        Scenario::shaped(&[PLAIN, ("blocks = 6", &rule), ("duration = \"250ms\"", "duration = \"60ms\"")]);
    let mut seen = Vec::new();
    for _ in 0..KILLS {
        let resume: &[&str] = if is_begun(&scenario) { &["--resume"] } else { &[] };
        let mut harness = scenario.harness(&["run", "depth.toml"]);
        harness.args(resume).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = harness.spawn().expect("rdma-harness starts");
        thread::sleep(Duration::from_millis(random.random_range(600..2_000)));
        child.kill().unwrap();
        let killed = child.wait_with_output().unwrap();
        seen.extend(looks(&String::from_utf8_lossy(&killed.stderr)));
    }
    let ended = finish(&mut scenario.harness(&["run", "depth.toml", "--resume"]), LIMIT);
    seen.extend(looks(&ended.stderr));
    let campaign = scenario.campaign();
    let blocks = whole_blocks(&campaign);
    let planned: Vec<usize> = [8, 10, 12].into_iter().filter(|look| *look <= blocks).collect();
    seen.dedup(); // a look that was told of right before the kill is taken again, and comes to the same
    assert_eq!(seen, planned, "{}", ended.stderr);
    assert_eq!(campaign.state, CampaignState::Finished);
    assert_eq!(campaign.stopped, Some(if blocks < 12 { Stopped::Decided } else { Stopped::BlocksSpent }));
}
