//! Nights whose runs are scripted: what each of them measures is said beforehand.

use std::{collections::HashMap, path::Path};

use pretty_assertions::assert_eq;
use reports::{
    history::{NightReport, NightVerdict},
    testing::{point_of_bandwidth, side},
};
use schema::{
    Fabric, FoundBy, History, NightPart, Origin, Outcome, RunRecord, Series, Side, Stage,
    record::DeviceRecord,
};

use super::{Crew, Entry, Leg, Night, NightEnding, NightObserver, ResumeNightError, Suite, find, suite};
use crate::{
    interrupt::Interrupt,
    plan::{Plan, PlannedRun},
    run::{Executor, Look, Observer, Progress, Task},
    store::{NewNight, Store},
};

const SUITE: &str = "question = \"As fast as it was?\"\n[[scenarios]]\nfile = \"a.toml\"\n[[scenarios]]\nfile = \"b.toml\"\n[[limits]]\nscenario = \"a\"\nmetric = \"bandwidth\"\nat_least = \"90%\"\n[rules]\nnights_to_start = 4\n";
const SCENARIO: &str = "question = \"How fast?\"\n[hosts.requester]\ndevice = \"soft\"\n[soft]\nmodel = \"rate=1Gbps\"\n[design]\nseed = 1\ncooldown = \"0s\"\n[[workloads]]\nname = \"w\"\ntest = \"bandwidth\"\nop = \"write\"\n";

/// What a night of one scenario is like.
#[derive(Debug, Clone)]
enum Script {
    /// Its runs measure these, in Mb/s, over and over; none is a run that fails.
    Runs(Vec<Option<f64>>),
    /// There are no agents.
    Gone,
}

fn steady(mbps: f64) -> Script {
    Script::Runs(vec![Some(mbps)])
}

/// A suite of two scenarios, and its store.
struct Rack {
    folder: tempfile::TempDir,
    store: Store,
    scripts: HashMap<&'static str, Script>,
    firmware: &'static str,
    interrupt_at: Option<usize>,
    made: usize,
    unheld: Vec<String>,
}

struct Scripted {
    values: Vec<Option<f64>>,
    firmware: &'static str,
    made: usize,
    interrupt_at: Option<usize>,
}

impl Executor for Scripted {
    fn execute(&mut self, task: &Task<'_>, interrupt: &Interrupt) -> Option<RunRecord> {
        if self.interrupt_at == Some(self.made) {
            interrupt.raise();
            return None;
        }
        let value = self.values[self.made % self.values.len()];
        self.made += 1;
        let failed = Outcome::Failed {
            stage: Stage::Connect,
            side: Side::Responder,
            cause: "no link".into(),
            advice: String::new(),
        };
        let outcome = if value.is_some() { Outcome::Completed } else { failed };
        let mut record = RunRecord::start(task.spec.clone(), Fabric::Soft, 0, outcome);
        if let Some(mbps) = value {
            record.points = vec![point_of_bandwidth(task.spec.msg_bytes[0], mbps * 1e6)];
            let end = |which| {
                let mut end = side(which);
                end.device = DeviceRecord { firmware: Some(self.firmware.into()), ..end.device };
                Some(end)
            };
            (record.requester, record.responder) = (end(Side::Requester), end(Side::Responder));
        }
        Some(record)
    }
}

/// Hands out what the scripts say, and counts the runs.
struct Bench<'r> {
    scripts: &'r HashMap<&'static str, Script>,
    firmware: &'static str,
    interrupt_at: Option<usize>,
    made: usize,
}

impl Crew for Bench<'_> {
    type Executor = Scripted;

    fn muster(&mut self, plan: &Plan) -> Result<Scripted, String> {
        match &self.scripts[plan.scenario.as_str()] {
            Script::Gone => Err("the agent of the responder (ssh:far) is gone".into()),
            Script::Runs(values) => Ok(Scripted {
                values: values.clone(),
                firmware: self.firmware,
                made: 0,
                interrupt_at: self.interrupt_at.map(|at| at.saturating_sub(self.made)),
            }),
        }
    }

    fn dismiss(&mut self, executor: Scripted) -> Vec<String> {
        self.made += executor.made;
        Vec::new()
    }
}

struct Quiet;

impl Observer for Quiet {
    fn started(&mut self, _: &Progress, _: &PlannedRun) {}
    fn ended(&mut self, _: &Progress, _: &PlannedRun, _: &RunRecord) {}
    fn looked(&mut self, _: &Look) {}
    fn stopped(&mut self, _: schema::Stopped, _: u32) {}
}

impl NightObserver for Quiet {
    fn begins(&mut self, _: &Leg<'_>) -> &mut dyn Observer {
        self
    }
    fn ends(&mut self) {}
    fn failed(&mut self, _: &Entry, _: &str) {}
}

impl Rack {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [("a.toml", SCENARIO), ("b.toml", SCENARIO), ("rack.toml", SUITE)] {
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let store = Store::create_or_open(&folder.path().join("store.db")).unwrap();
        let scripts = HashMap::from([("a", steady(950.0)), ("b", steady(500.0))]);
        Rack { folder, store, scripts, firmware: "20.31", interrupt_at: None, made: 0, unheld: Vec::new() }
    }

    fn suite(&self) -> Suite {
        suite::load(&self.folder.path().join("rack.toml")).unwrap_or_else(|error| panic!("{error}"))
    }

    fn begin(&mut self) -> i64 {
        let suite = self.suite();
        let started_at_unix_ms = 1_000 * (self.store.history("rack", None).unwrap().nights.len() as u64 + 1);
        let new = NewNight {
            suite: &suite.name,
            suite_toml: &suite.source,
            origin: Origin::Measured,
            started_at_unix_ms,
        };
        self.store.begin_night(&new).unwrap()
    }

    /// Makes what a night misses; the report, and what failed.
    fn go_on(&mut self, id: i64) -> (Option<NightReport>, Vec<(String, String)>) {
        let suite = self.suite();
        let mut crew = Bench {
            scripts: &self.scripts,
            firmware: self.firmware,
            interrupt_at: self.interrupt_at,
            made: 0,
        };
        let mut night = Night {
            suite: &suite,
            store: &mut self.store,
            id,
            crew: &mut crew,
            observer: &mut Quiet,
            interrupt: &Interrupt::default(),
            failures: Vec::new(),
            complaints: Vec::new(),
            unheld: Vec::new(),
        };
        let ending = night.carry_out().unwrap();
        self.unheld = std::mem::take(&mut night.unheld);
        let failures = std::mem::take(&mut night.failures);
        self.made = crew.made;
        match ending {
            NightEnding::Judged(report) => (Some(*report), failures),
            NightEnding::Interrupted => (None, failures),
        }
    }

    fn night(&mut self) -> NightReport {
        let id = self.begin();
        self.go_on(id).0.expect("it came to its end")
    }

    fn history(&self) -> History {
        self.store.history("rack", None).unwrap()
    }

    fn series(&self, scenario: &str) -> Series {
        let history = self.history();
        let mut found = history.series.into_iter().filter(|series| series.key.scenario == scenario);
        let series = found.next().expect("it is there");
        assert!(found.next().is_none(), "it is there once");
        series
    }
}

#[test]
fn a_value_is_the_median_of_the_runs_under_the_name_of_its_series() {
    let mut rack = Rack::new();
    rack.scripts.insert("a", Script::Runs([5.0, 1.0, 2.0, 9.0, 3.0].map(|ten| Some(900.0 + ten)).to_vec()));
    let report = rack.night();
    assert_eq!((rack.made, report.counts.series), (10, 2));
    let series = rack.series("a");
    assert_eq!(series.key.to_string(), "a/w/default/64Ki/bandwidth/bench-a:soft/bench-a:soft");
    let value = &series.values[0];
    assert_eq!(value.value, Some(903e6));
    assert_eq!(value.runs, [905e6, 901e6, 902e6, 909e6, 903e6], "in time order");
    assert_eq!((value.failed_runs, &value.failure, value.confirm_runs.len()), (0, &None, 0));
    let limit = value.limit.clone().expect("the suite sets one");
    assert_eq!(limit.worst, 900e6);
    assert_eq!(limit.basis, "90 % of 1.0 Gb/s, the rate of the software NIC's model (1Gbps)");
    assert_eq!(rack.series("b").values[0].limit, None);
    let night = &rack.history().nights[0];
    assert!(night.ended_at_unix_ms.is_some());
    assert_eq!((&report.night, &report.nights[0]), (night, night), "the report knows that it has ended");
    assert_eq!(night.campaigns.iter().map(|begun| begun.part).collect::<Vec<_>>(), [NightPart::First; 2]);
}

#[test]
fn a_limit_that_cannot_be_held_is_told_and_not_left_out_in_silence() {
    let mut rack = Rack::new();
    rack.night();
    assert!(rack.unheld.is_empty(), "{:?}", rack.unheld);
    std::fs::write(rack.folder.path().join("a.toml"), SCENARIO.replace("rate=1Gbps", "latency=1us")).unwrap();
    rack.night();
    let [unheld] = &rack.unheld[..] else { panic!("{:?}", rack.unheld) };
    assert!(unheld.starts_with("a/default/w at 64Ki: its limit on bandwidth is not held"), "{unheld}");
    assert_eq!(rack.series("a").values[1].limit, None);
}

#[test]
fn runs_that_fail_are_left_out_and_too_few_give_no_value() {
    let mut rack = Rack::new();
    rack.scripts.insert("a", Script::Runs(vec![Some(950.0), None, Some(951.0), Some(952.0), None]));
    rack.scripts.insert("b", Script::Runs(vec![Some(500.0), None, None, None, Some(500.0)]));
    rack.night();
    let (some, few) = (rack.series("a").values[0].clone(), rack.series("b").values[0].clone());
    assert_eq!((some.value, some.failed_runs), (Some(951e6), 2));
    assert!(some.failure.unwrap().contains("no link"));
    assert_eq!((few.value, few.runs.len(), few.failed_runs), (None, 2, 3));
}

#[test]
fn a_scenario_without_hosts_leaves_a_gap_under_its_old_name_and_the_night_goes_on() {
    let mut rack = Rack::new();
    rack.night();
    rack.scripts.insert("a", Script::Gone);
    let id = rack.begin();
    let (report, failures) = rack.go_on(id);
    assert_eq!(
        failures,
        [("a/default".to_owned(), "the agent of the responder (ssh:far) is gone".to_owned())]
    );
    assert_eq!(report.unwrap().nights.len(), 2);
    let (gap, measured) = (rack.series("a"), rack.series("b"));
    assert_eq!(gap.values[1].value, None);
    assert_eq!(gap.values[1].failure.as_deref(), Some("the agent of the responder (ssh:far) is gone"));
    assert_eq!(gap.values[1].configuration, gap.values[0].configuration, "a gap opens no epoch");
    assert_eq!(measured.values[1].value, Some(500e6));
}

#[test]
fn what_was_never_measured_leaves_no_series_of_unknown_ends() {
    let mut rack = Rack::new();
    rack.scripts.insert("a", Script::Gone);
    let id = rack.begin();
    let (_, failures) = rack.go_on(id);
    assert_eq!(failures.len(), 1);
    assert_eq!(rack.history().series.len(), 1);
}

#[test]
fn three_like_failures_end_a_scenario_and_not_the_night() {
    let mut rack = Rack::new();
    rack.night();
    rack.scripts.insert("a", Script::Runs(vec![None]));
    let id = rack.begin();
    let (_, failures) = rack.go_on(id);
    assert_eq!(failures.len(), 1);
    assert_eq!(rack.made, 3 + 5);
    assert_eq!(rack.series("a").values[1].failed_runs, 3);
}

#[test]
fn another_firmware_is_another_configuration() {
    let mut rack = Rack::new();
    rack.night();
    rack.firmware = "20.32";
    rack.night();
    let (history, series) = (rack.history(), rack.series("a"));
    let of = |n: usize| &history.configurations[&series.values[n].configuration];
    let changes = of(1).changes_from(of(0));
    let changed: Vec<&str> = changes.iter().map(|change| change.what.as_str()).collect();
    assert_eq!(changed, ["requester.firmware", "responder.firmware"]);
}

#[test]
fn wherever_a_night_is_stopped_it_goes_on_with_what_is_missing() {
    for at in [0, 1, 4, 5, 6, 9] {
        let mut rack = Rack::new();
        rack.interrupt_at = Some(at);
        let id = rack.begin();
        assert!(rack.go_on(id).0.is_none(), "{at}");
        assert_eq!(rack.made, at);
        assert!(rack.history().nights.is_empty(), "{at}: it did not come to its end");
        rack.interrupt_at = None;
        assert_eq!(find(&rack.store, &rack.suite()).unwrap(), id);
        assert!(rack.go_on(id).0.is_some());
        assert_eq!(at + rack.made, 10, "{at}");
        assert_eq!(rack.series("b").values[0].runs.len(), 5);
        assert!(matches!(find(&rack.store, &rack.suite()), Err(ResumeNightError::Nothing { .. })));
    }
}

#[test]
fn a_changed_suite_or_scenario_is_not_gone_on_with() {
    let mut rack = Rack::new();
    rack.interrupt_at = Some(7);
    let id = rack.begin();
    rack.go_on(id);
    let change = |file: &str, from: &str, to: &str| {
        let path = rack.folder.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let refused = find(&rack.store, &rack.suite()).unwrap_err().to_string();
        std::fs::write(&path, text).unwrap();
        refused
    };
    let suite = change("rack.toml", "90%", "80%");
    assert!(suite.contains("suite `rack` has changed") && suite.contains("+at_least = \"80%\""), "{suite}");
    let scenario = change("b.toml", "1Gbps", "2Gbps");
    assert!(scenario.contains("scenario `b` has changed") && scenario.contains("2Gbps"), "{scenario}");
    assert_eq!(find(&rack.store, &rack.suite()).unwrap(), id, "as it was, it goes on");
}

#[test]
fn a_night_below_its_limit_is_a_regression_without_any_history() {
    let mut rack = Rack::new();
    rack.scripts.insert("a", steady(890.0));
    assert_eq!(rack.night().verdict, NightVerdict::Regression);
}

#[test]
fn a_night_that_stands_out_is_made_again_and_said_only_if_it_does_so_again() {
    let mut rack = Rack::new();
    let noisy = |level: f64| {
        Script::Runs(
            [-0.2, 0.1, 0.0, 0.2, -0.1].map(|percent| Some(level * (1.0 + percent / 100.0))).to_vec(),
        )
    };
    for night in 0..8 {
        rack.scripts.insert("a", noisy(950.0 + f64::from(night % 3)));
        rack.scripts.insert("b", noisy(500.0 + f64::from(night % 2)));
        assert_eq!(rack.night().verdict, NightVerdict::Fine, "night {night}");
    }
    rack.scripts.insert("b", noisy(470.0));
    let report = rack.night();
    assert_eq!(report.verdict, NightVerdict::Regression);
    let parts: Vec<NightPart> = report.night.campaigns.iter().map(|begun| begun.part).collect();
    assert_eq!(parts, [NightPart::First, NightPart::First, NightPart::Confirm], "only what stands out");
    let (again, steady) = (rack.series("b"), rack.series("a"));
    assert_eq!((again.values[8].confirm_runs.len(), steady.values[8].confirm_runs.len()), (5, 0));
    let member = &report.findings[0].members[0];
    assert_eq!((member.series, member.found_by), (again.id, FoundBy::Fence));
    let said = rack.history().reported;
    assert!(said.iter().any(|said| said.series == again.id && said.found_by == FoundBy::Fence), "{said:?}");
}

#[test]
fn the_shipped_suite_plans_to_less_than_a_minute() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/nightly/soft.toml");
    let suite = suite::load(&file).unwrap_or_else(|error| panic!("{error}"));
    let seconds: u64 = suite
        .entries
        .iter()
        .map(|entry| {
            let plan = entry.plan(1).unwrap();
            (crate::plan::block_time(&plan).unwrap() * plan.design.blocks).as_secs()
        })
        .sum();
    assert!(seconds < 60, "{seconds}");
}
