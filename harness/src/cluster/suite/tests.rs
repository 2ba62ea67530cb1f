//! Suites that are read as written, and those that are refused.

use std::{fs, path::Path, time::Duration};

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use schema::{Directions, HistoryLevel, Metric, PatternKind};

use super::*;
use crate::cluster::pattern::Seat;

const SCENARIO: &str = "question = \"How fast?\"\n[hosts.requester]\ndevice = \"soft\"\n[soft]\nmodel = \"rate=1Gbps\"\n[design]\nduration = \"1s\"\nwarmup = \"0s\"\n[[workloads]]\nname = \"w\"\ntest = \"bandwidth\"\nop = \"write\"\nsize = [\"4Ki\", \"64Ki\"]\n[[workloads]]\nname = \"l\"\ntest = \"latency\"\nop = \"write\"\n[[variants]]\nname = \"plain\"\nbaseline = true\n[[variants]]\nname = \"other\"\npost_api = \"extended\"\n[[variants]]\nname = \"tuned\"\ntune.governor = \"performance\"\n[[variants]]\nname = \"one-sided\"\ntune.responder.governor = \"performance\"\n";
const GOOD: &str = r#"
question = "Which node is slow?"
[[scenarios]]
file = "link.toml"
[[scenarios]]
file = "link.toml"
variant = "other"
metrics = ["message_rate", "p99"]
[pattern]
kind = "pairs"
directions = "both"
repeat = 3
at_once = 2
seed = 5
[agents]
device = "soft"
wait = "90s"
audit = false
[rules]
smallest_change = "4%"
smallest_latency_change = 0.2
outlier_z = 6
node_share = "50%"
retest_rounds = 5
retest_bad = 3
[history]
levels = ["node", "pair"]
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("link.toml", SCENARIO);
    write(
        "any.toml",
        &SCENARIO.replace("\"soft\"", "\"auto\"").replace("[soft]\nmodel = \"rate=1Gbps\"\n", ""),
    );
    write("wrong.toml", &SCENARIO.replace("size", "siez"));
    let at = "at = \"ssh:far\"\n[hosts.responder]\naddress = \"10.0.0.2\"\n";
    write("far.toml", &SCENARIO.replacen("device = \"soft\"\n", &format!("device = \"soft\"\n{at}"), 1));
    write("rounds.txt", "0 node1 node2\n1 node2 node3\n");
    write("broken.txt", "0 node1\n");
    folder
}

fn read(text: &str) -> Result<Suite, String> {
    let folder = folder();
    parse(&folder.path().join("rack.toml"), text.to_owned()).map_err(|error| error.to_string())
}

fn good(text: &str) -> Suite {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_suite_is_read_as_written() {
    let suite = good(GOOD);
    assert_eq!((suite.name.as_str(), suite.question.as_str()), ("rack", "Which node is slow?"));
    let named = |workload: &schema::ClusterWorkload| {
        let sizes = workload.spec.msg_bytes.len();
        (
            format!("{}/{}/{}", workload.scenario, workload.variant, workload.workload),
            sizes,
            workload.metrics.clone(),
        )
    };
    let workloads: Vec<_> = suite.workloads.iter().map(named).collect();
    let wanted = [
        ("link/plain/w".into(), 2, vec![Metric::Bandwidth]),
        ("link/plain/l".into(), 1, vec![Metric::P50, Metric::P99]),
        ("link/other/w".into(), 2, vec![Metric::MessageRate, Metric::P99]),
        ("link/other/l".into(), 1, vec![Metric::P99]),
    ];
    assert_eq!(workloads, wanted);
    assert_eq!(
        (suite.pattern.kind(), suite.directions, suite.repeat),
        (PatternKind::Pairs, Directions::Both, 3)
    );
    assert_eq!((suite.at_once, suite.seed, suite.device.as_str()), (Some(2), Some(5), "soft"));
    assert_eq!((suite.launch_wait, suite.audit), (Duration::from_secs(90), false));
    let rules = ClusterRules {
        smallest_change: 0.04,
        smallest_latency_change: 0.2,
        outlier_z: 6.0,
        node_share: 0.5,
        retest_rounds: 5,
        retest_bad: 3,
    };
    assert_eq!(suite.rules, rules);
    let kept = |text: &str| super::rules(Path::new("kept"), text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((kept(GOOD), kept("")), (rules, ClusterRules::default()));
    assert_eq!(suite.history, Some(vec![HistoryLevel::Node, HistoryLevel::Pair]));
    assert!(suite.tuning.is_empty());
}

#[test]
fn what_is_not_said_has_a_sensible_value() {
    let suite = good("question = \"x\"\n[[scenarios]]\nfile = \"any.toml\"\n[pattern]\nkind = \"pairs\"\n");
    assert_eq!(
        (suite.directions, suite.at_once, suite.repeat, suite.seed),
        (Directions::Both, None, 1, None)
    );
    assert_eq!(
        (suite.device.as_str(), suite.launch_wait, suite.audit),
        ("auto", Duration::from_secs(60), true)
    );
    assert_eq!((suite.rules, suite.history), (ClusterRules::default(), None));
    let of = |pattern: &str| {
        good(&format!("question = \"x\"\n[[scenarios]]\nfile = \"any.toml\"\n[pattern]\n{pattern}\n"))
    };
    assert_eq!(of("kind = \"bisection\"").pattern, Pattern::Bisection { matchings: 4 });
    assert_eq!(of("kind = \"victim\"").pattern, Pattern::Victim { congestors: None });
    for pattern in
        ["kind = \"shift\"", "kind = \"incast\"\nsenders = 3", "kind = \"custom\"\nfile = \"rounds.txt\""]
    {
        assert_eq!(of(pattern).directions, Directions::Forward, "{pattern}");
    }
}

#[test]
fn a_device_is_said_once_by_suite_or_scenarios() {
    let device = |suite: &str, scenario: &str| {
        let agents =
            if suite.is_empty() { String::new() } else { format!("[agents]\ndevice = \"{suite}\"\n") };
        let text = format!(
            "question = \"x\"\n[[scenarios]]\nfile = \"{scenario}\"\n[pattern]\nkind = \"pairs\"\n{agents}"
        );
        read(&text).map(|suite| suite.device)
    };
    assert_eq!(device("", "any.toml"), Ok("auto".into()));
    assert_eq!(device("", "link.toml"), Ok("soft".into()));
    assert_eq!(device("mlx5_0", "any.toml"), Ok("mlx5_0".into()));
    let error = device("mlx5_0", "link.toml").unwrap_err();
    assert!(error.contains("scenario `link` is for device `soft`, and `mlx5_0` is said already"), "{error}");
}

#[test]
fn every_refusal_names_its_field_and_its_place() {
    for (from, to, wanted) in [
        ("question = \"Which node is slow?\"", "", "question: is missing; a suite starts with"),
        ("file = \"link.toml\"", "file = \"wrong.toml\"", "did you mean `size`?"),
        (
            "file = \"link.toml\"",
            "file = \"far.toml\"",
            "scenarios[0].file: scenario `far` says at = \"ssh:far\" of the requester",
        ),
        (
            "file = \"link.toml\"",
            "file = \"far.toml\"",
            "says address = \"10.0.0.2\" of the responder; where the nodes",
        ),
        (
            "variant = \"other\"",
            "variant = \"tuned\"",
            "scenarios[1].variant: variant `tuned` turns other knobs than `plain`",
        ),
        (
            "variant = \"other\"",
            "variant = \"one-sided\"",
            "variant `one-sided` turns the requester and the responder differently",
        ),
        (
            "variant = \"other\"",
            "",
            "scenarios[1].file: variant `plain` of this scenario is measured already",
        ),
        ("\"p99\"]", "\"p99.9\"]", "scenarios[1].metrics: p99.9 is none that pairs are compared by"),
        ("[[scenarios]]\nfile = \"link.toml\"\n[[", "[[", "suite has one"),
        ("kind = \"pairs\"", "kind = \"piars\"", "pattern.kind: `piars` is not one of pairs, screen"),
        ("kind = \"pairs\"", "", "pattern.kind: is missing"),
        ("kind = \"pairs\"", "kind = \"incast\"", "pattern.senders: is missing; it is how many nodes"),
        ("kind = \"pairs\"", "kind = \"outcast\"\nreceivers = 0", "pattern.receivers: 0 is outside 1..=4096"),
        ("kind = \"pairs\"", "kind = \"pairs\"\nsenders = 3", "pattern.senders: is not a key of this table"),
        (
            "kind = \"pairs\"",
            "kind = \"shift\"",
            "pattern.directions: has no meaning for shift: it measures every pair",
        ),
        (
            "kind = \"pairs\"",
            "kind = \"incast\"\nsenders = 2",
            "pattern.directions: has no meaning for incast; the other direction",
        ),
        (
            "kind = \"pairs\"",
            "kind = \"bisection\"",
            "pattern.at_once: has no meaning for bisection: what it measures",
        ),
        ("kind = \"pairs\"", "kind = \"custom\"", "pattern.file: is missing"),
        ("kind = \"pairs\"", "kind = \"custom\"\nfile = \"none.txt\"", "pattern.file: reading"),
        ("kind = \"pairs\"", "kind = \"custom\"\nfile = \"broken.txt\"", "must be `ROUND NODE NODE`"),
        ("at_once = 2", "at_once = 0", "pattern.at_once: 0 is outside"),
        (
            "directions = \"both\"",
            "directions = \"back\"",
            "pattern.directions: `back` is not one of forward, both",
        ),
        ("wait = \"90s\"", "wait = \"90\"", "agents.wait: duration `90` has no unit"),
        ("wait = \"90s\"", "wait = \"0s\"", "agents.wait: is no time to wait"),
        ("device = \"soft\"", "device = \"\"", "agents.device: is empty"),
        ("audit = false", "audit = \"no\"", "agents.audit: must be true or false"),
        ("outlier_z = 6", "outlier_z = 0.5", "rules.outlier_z: must be a number between 1 and 100"),
        (
            "retest_bad = 3",
            "retest_bad = 6",
            "rules.retest_bad: 6 rounds that must be bad are more than the 5",
        ),
        (
            "levels = [\"node\", \"pair\"]",
            "levels = [\"node\", \"rack\"]",
            "history.levels: `rack` is not one of node, leaf, pair",
        ),
        (
            "levels = [\"node\", \"pair\"]",
            "levels = [\"node\", \"node\"]",
            "history.levels: `node` is given twice",
        ),
        ("levels = [\"node\", \"pair\"]", "levels = []", "history.levels: names nothing that has a series"),
        ("[history]", "[histroy]", "did you mean `history`?"),
        ("[pattern]", "[patern]", "pattern: is missing; it says which pairs"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let text = match read(&GOOD.replacen(from, to, 1)) {
            Err(text) => text,
            // Of two tables one is left: the only change of this list that may be made.
            Ok(suite) if wanted == "suite has one" => {
                assert_eq!(suite.workloads.len(), 2);
                continue;
            }
            Ok(_) => panic!("{to} was accepted"),
        };
        assert!(text.contains(wanted), "{to}: wanted {wanted}, got:\n{text}");
        assert!(text.contains('^'), "{to}:\n{text}");
    }
}

#[test]
fn the_steps_are_every_round_with_every_workload_both_ways() {
    let suite = good(GOOD);
    let names: Vec<String> = (1..=6).map(|n| format!("node{n}")).collect();
    let seats: Vec<Seat<'_>> = names.iter().map(|name| Seat { name, switches: &[] }).collect();
    let steps = suite.steps(&seats, 5).unwrap();
    // 3 passes of 5 rounds of 3 pairs in 2 parts, 4 workloads, 2 directions.
    assert_eq!(steps.len(), 3 * 5 * 2 * 4 * 2);
    assert_eq!(steps[0].label, "pass 1, step 1 of 5, part 1 of 2");
    assert_eq!(steps[1].label, "pass 1, step 1 of 5, part 1 of 2, the other way");
    assert_eq!((steps[0].workload, steps[1].workload, steps[2].workload), (0, 0, 1));
    let [there, back] = [&steps[0].pairs, &steps[1].pairs];
    assert!(there.iter().zip(back).all(|(a, b)| (a.requester, a.responder) == (b.responder, b.requester)));
    let passes: Vec<&[Step]> = steps.chunks(steps.len() / 3).collect();
    assert_ne!(passes[0][0].pairs, passes[1][0].pairs, "every pass is drawn anew");
    // Of each workload 60 rounds: 2 sizes of 1 s, or 1, and 250 ms each for the processes.
    assert_eq!(suite.time_of(&steps), Some(Duration::from_millis(60 * (2 * 2_250 + 2 * 1_250))));
    assert_eq!(suite.steps(&seats, 5).unwrap(), steps);
}

#[test]
fn the_shipped_suites_are_read_and_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/cluster");
    let readme = include_str!("../../../../scenarios/README.md");
    let mut suites = 0;
    for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if !fs::read_to_string(&file).unwrap().contains("[pattern]") {
            continue; // a scenario that suites name
        }
        let suite = load(&file).unwrap_or_else(|error| panic!("{error}"));
        let name = &suite.name;
        assert_eq!(suite.source.lines().next(), Some(format!("# {}", suite.question).as_str()), "{name}");
        assert!(readme.contains(&format!("cluster/{name}.toml | {}", suite.question)), "{name}");
        suites += 1;
    }
    assert!(suites >= 4, "{suites}");
}

proptest! {
    #[test]
    fn no_change_to_a_good_file_panics(at in 0usize..GOOD.len(), junk in "[\\[\\]=\"\\n.a0%]{0,3}", cut in 0usize..6) {
        let end = (at + cut).min(GOOD.len());
        let _ = read(&format!("{}{junk}{}", &GOOD[..at], &GOOD[end..]));
    }
}
