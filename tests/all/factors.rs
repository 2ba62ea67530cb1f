//! A factorial campaign over four knobs of which one matters: it is named, and no other is.

use std::{fs, time::Duration};

use e2e::{
    Scenario, finish,
    programs::{PATIENCE, repository},
};
use schema::Campaign;
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(240);
/// As often as a busy machine may spoil a campaign that must find what is there.
const ATTEMPTS: u32 = 3;

fn factors() -> Scenario {
    let file = repository().join("tests/fixtures/factors.toml");
    Scenario::of(&fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}

fn gates(comparison: &Value) -> Vec<&Value> {
    let cells = comparison["cells"].as_array().expect("a comparison has cells");
    cells.iter().filter(|cell| cell["gated"] == true).collect()
}

/// Runs the campaign; none where the machine was too busy for any verdict.
fn measured(scenario: &Scenario) -> Option<Value> {
    let ran = finish(&mut scenario.harness(&["run", "depth.toml", "--report", "report"]), LIMIT);
    let comparison: Value = finish(&mut scenario.harness(&["compare", "--json"]), PATIENCE).json();
    match ran.code {
        Some(1) => assert!(
            ran.stdout.contains("with slower-link, bandwidth of write at 64 KiB fell by"),
            "{}",
            ran.stdout
        ),
        // A short run on a busy machine may even claim more than the link carries, by what was queued before it began.
        Some(3 | 4) => {}
        _ => panic!("neither a finding nor no verdict: {ran:?}"),
    }
    for gate in gates(&comparison).iter().filter(|gate| gate["candidate"] != "slower-link") {
        assert!(!matches!(gate["verdict"]["is"].as_str(), Some("improved" | "regressed")), "{gate}");
    }
    (ran.code == Some(1)).then_some(comparison)
}

#[test]
fn of_four_knobs_the_one_that_matters_is_named_and_no_other() {
    let scenario = factors();
    let found = (0..ATTEMPTS).find_map(|_| measured(&scenario));
    let comparison = found.unwrap_or_else(|| panic!("not found in {ATTEMPTS} attempts"));
    let gates = gates(&comparison);
    assert_eq!(gates.len(), 4);
    let named = gates.iter().filter(|gate| gate["verdict"]["is"] == "regressed");
    assert_eq!(named.map(|gate| &gate["candidate"]).collect::<Vec<_>>(), ["slower-link"]);
    let ranked = &comparison["rankings"][0]["ranked"];
    assert_eq!(ranked[0]["candidate"], "slower-link");
    let cell = gates.iter().find(|gate| gate["candidate"] == "slower-link").unwrap();
    assert_eq!(cell["asks"], "factor");
    let change = cell["effect"]["change"].as_f64().unwrap();
    assert!((change + 0.05).abs() < 0.01, "5 % were put in: {change}");
    assert_eq!(comparison["factorial"]["confounding"]["resolution"], 4);
    for name in ["report.html", "report.md"] {
        let text = fs::read_to_string(scenario.path("report").join(name)).unwrap();
        assert!(text.contains("What brought what"), "{name}");
    }
}

#[test]
fn each_run_is_kept_with_what_was_on() {
    let scenario = factors();
    let plan = finish(&mut scenario.harness(&["plan", "depth.toml"]), PATIENCE).expect(0).stdout;
    for words in
        ["8 of 16 combinations of 4 factors (resolution IV)", "batch x slower-link = extended x ordered"]
    {
        assert!(plan.contains(words), "no `{words}` in:\n{plan}");
    }
    let one = Scenario::of(
        &fs::read_to_string(scenario.path("depth.toml")).unwrap().replace("blocks = 10", "blocks = 1"),
    );
    finish(&mut one.harness(&["run", "depth.toml"]), LIMIT);
    let campaign: Campaign =
        finish(&mut one.harness(&["export", "--format", "json"]), PATIENCE).expect(0).json();
    assert_eq!(campaign.runs.len(), 9);
    assert_eq!(
        campaign.factors.iter().map(|factor| factor.name.as_str()).collect::<Vec<_>>(),
        ["batch", "slower-link", "extended", "ordered"]
    );
    for run in &campaign.runs {
        let variant = campaign.variants.iter().find(|variant| variant.name == run.variant).unwrap();
        let spec = &run.record.spec;
        let on = |factor: &str| variant.factors_on.iter().any(|name| name == factor);
        assert_eq!(
            (spec.relaxed_ordering, spec.cq_poll_batch == 4),
            (on("ordered"), on("batch")),
            "{}",
            run.variant
        );
        assert_eq!(variant.name == "none", variant.factors_on.is_empty());
    }
}
