//! `rdma-harness` from a scenario to a verdict, a report and exports, on the software NIC.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use e2e::{
    Scenario, finish,
    programs::PATIENCE,
    scenario::{PLANNED_RUNS, gate},
};
use schema::{CampaignState, Purpose};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn the_deeper_queue_raises_bandwidth() {
    let scenario = Scenario::depth();
    let run = ["run", "depth.toml", "--report", "report"];
    let ran = finish(&mut scenario.harness(&run), LIMIT);
    // On a busy machine the A/A control may rightly refuse a verdict; the effect is there all the same.
    assert!(matches!(ran.code, Some(0 | 4)), "{ran:?}");
    for word in ["simulated", "depth-64", "bandwidth"] {
        assert!(ran.stdout.to_lowercase().contains(word), "no `{word}` in:\n{}", ran.stdout);
    }
    let comparison = scenario.comparison();
    let effect = &gate(&comparison)["effect"];
    let low = effect["low"].as_f64().unwrap_or_else(|| panic!("no lower end in {effect}"));
    assert!(low > 1.0, "13 times the bandwidth is expected, the interval begins at {low:+.2}");
    for name in ["report.html", "report.md", "report.json"] {
        let text = fs::read_to_string(scenario.path("report").join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            text.contains("Does a deeper send queue raise write bandwidth?"),
            "{name} lacks the question"
        );
        assert!(text.to_lowercase().contains("simulated"), "{name} passes for a measurement of hardware");
    }
}

#[test]
fn every_run_is_kept_with_its_place_in_the_plan() {
    let scenario = Scenario::depth();
    finish(&mut scenario.harness(&["run", "depth.toml", "--json"]), LIMIT).json::<Value>();
    let campaign = scenario.campaign();
    assert_eq!(campaign.state, CampaignState::Finished);
    assert_eq!((campaign.design.blocks, campaign.design.seed), (6, 7));
    assert_eq!(
        campaign.runs.iter().map(|run| run.sequence as usize).collect::<Vec<_>>(),
        (0..PLANNED_RUNS).collect::<Vec<_>>()
    );
    for block in 0..6 {
        let runs = campaign.runs.iter().filter(|run| run.block == block);
        let kinds: BTreeSet<_> =
            runs.map(|run| (run.variant.as_str(), run.purpose == Purpose::Control)).collect();
        assert_eq!(kinds, BTreeSet::from([("depth-1", false), ("depth-1", true), ("depth-64", false)]));
    }
    for run in &campaign.runs {
        assert!(run.record.outcome.is_completed(), "{}", run.record.outcome);
        assert_eq!(run.record.spec, campaign.workloads[0].specs[&run.variant]);
    }
    let csv = finish(&mut scenario.harness(&["export", "--format", "csv"]), PATIENCE).expect(0).stdout;
    assert!(
        csv.lines().count() > PLANNED_RUNS && csv.lines().next().unwrap().ends_with("metric,value,unit"),
        "{csv}"
    );
}

#[test]
fn a_shallower_candidate_is_a_regression() {
    let swapped = [
        ("tx_depth = 1\n", "tx_depth = 64\n"),
        ("name = \"depth-64\"\ntx_depth = 64", "name = \"depth-64\"\ntx_depth = 1"),
    ];
    let scenario = Scenario::with(&swapped);
    let ran = finish(&mut scenario.harness(&["run", "depth.toml"]), LIMIT);
    assert!(matches!(ran.code, Some(1 | 4)), "{ran:?}");
    let again = finish(&mut scenario.harness(&["compare"]), PATIENCE);
    assert_eq!(again.code, ran.code, "the stored campaign has another verdict than the run");
}

#[test]
fn a_plan_touches_nothing_and_repeats_itself() {
    let scenario = Scenario::depth();
    let plan = || finish(&mut scenario.harness(&["plan", "depth.toml"]), PATIENCE).expect(0).stdout;
    let first = plan();
    assert_eq!(first, plan());
    assert!(first.contains("depth-64") && first.contains("seed 7"), "{first}");
    let dry = finish(&mut scenario.harness(&["run", "depth.toml", "--dry-run"]), PATIENCE).expect(0).stdout;
    assert_eq!(dry, first);
    assert!(!scenario.path("store.db").exists());
}

#[test]
fn without_its_engine_it_says_so() {
    let scenario = Scenario::depth();
    let nowhere = ["run", "depth.toml", "--verbs-bench", "/nonexistent/verbs-bench"];
    let ran = finish(&mut scenario.harness(&nowhere), PATIENCE);
    assert!(matches!(ran.code, Some(2 | 3)), "{ran:?}");
    assert!(ran.stderr.contains("/nonexistent/verbs-bench"), "{}", ran.stderr);
}

#[test]
fn failed_runs_are_kept_and_are_no_numbers() {
    let scenario = Scenario::with(&[("rate=8Gbps\"", "rate=8Gbps\"\nfault = \"error=RETRY_EXC_ERR@10\"")]);
    let ran = finish(&mut scenario.harness(&["run", "depth.toml"]), LIMIT).expect(3);
    assert!(ran.stderr.contains("RETRY_EXC_ERR"), "{}", ran.stderr);
    let campaign = scenario.campaign();
    assert!(!campaign.runs.is_empty());
    for run in &campaign.runs {
        assert!(!run.record.outcome.is_completed() && run.record.points.is_empty(), "{}", run.record.outcome);
    }
}

#[test]
fn a_hopeless_campaign_is_stopped() {
    let no_device = [
        ("device = \"soft\"", "device = \"mlx5_99\""),
        ("[soft]\nmodel = \"latency=100us,rate=8Gbps\"\n", ""),
    ];
    let scenario = Scenario::with(&no_device);
    let ran = finish(&mut scenario.harness(&["run", "depth.toml"]), LIMIT).expect(3);
    assert!(ran.stderr.contains("RDMA device"), "{}", ran.stderr);
    assert!(scenario.campaign().runs.len() < PLANNED_RUNS, "all runs were tried:\n{}", ran.stderr);
}

#[test]
fn what_is_no_store_is_left_alone() {
    let scenario = Scenario::depth();
    fs::write(scenario.path("store.db"), "a letter to someone").unwrap();
    let ran = finish(&mut scenario.harness(&["run", "depth.toml"]), PATIENCE);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("store.db"), "{}", ran.stderr);
    let kept = |file: &Path| fs::read_to_string(file).unwrap();
    assert_eq!(kept(&scenario.path("store.db")), "a letter to someone");
}
