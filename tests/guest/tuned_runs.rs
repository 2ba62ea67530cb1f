//! Campaigns on a real rxe whose variants turn the host's knobs: what came out, what the evidence says, and that the guest
//! is afterwards as it was, however they ended. Run by scripts/guest/tuning.sh.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{
    Scenario, finish,
    programs::{artifacts, repository},
    rdma_harness,
    scenario::replaced,
};
use rustix::process::{Pid, Signal, kill_process};
use schema::{Campaign, CampaignRun, Knob, KnobState, Outcome, evidence::Level};

use crate::state::{State, affinity, movable, put_back, queue_vectors};

/// Emulation is slow; a guest's own limit ends what hangs.
const LIMIT: Duration = Duration::from_secs(120);
const CAMPAIGN: Duration = Duration::from_secs(600);
const RMEM_MAX: &str = "/proc/sys/net/core/rmem_max";
const TUNED_RMEM_MAX: &str = "134217728";

/// A scenario of the repository, short enough for emulation: six blocks are the least that the gates need, and three that
/// counters need. Emulated, a
/// full window of 128 messages of 64 KiB is in flight for half a second and more, which the default ACK timeout of 67 ms
/// takes for loss: sixteen of them have a second.
fn shipped(name: &str, changes: &[(&str, &str)]) -> Scenario {
    let file = repository().join("scenarios").join(name);
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let short = [
        ("duration = \"2s\"", "duration = \"1s\"\nqp_timeout = 18"),
        ("size = \"64Ki\"", "size = \"64Ki\"\ntx_depth = 16"),
    ];
    let short = replaced(text, &short);
    Scenario::of(&replaced(short, changes))
}

/// Runs it to its end; the campaign and the comparison, kept with the report for people to look at.
fn carried_out(scenario: &Scenario, name: &str) -> (Campaign, serde_json::Value) {
    let ran = finish(&mut scenario.harness(&["run", "depth.toml", "--report", "report"]), CAMPAIGN);
    assert!(matches!(ran.code, Some(0 | 1 | 4)), "{ran:?}");
    finish(&mut scenario.harness(&["export", "--format", "json", "--out", "campaign.json"]), LIMIT).expect(0);
    let campaign = serde_json::from_slice(&fs::read(scenario.path("campaign.json")).unwrap()).unwrap();
    let compared = finish(&mut scenario.harness(&["compare", "--json"]), LIMIT).json();
    let kept = artifacts(name);
    for file in ["report/report.html", "report/report.md", "report/report.json", "campaign.json"] {
        let from = scenario.path(file);
        fs::copy(&from, kept.join(from.file_name().unwrap()))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    (campaign, compared)
}

fn runs_of<'c>(campaign: &'c Campaign, variant: &str) -> Vec<&'c CampaignRun> {
    let runs: Vec<&CampaignRun> = campaign.runs.iter().filter(|run| run.variant == variant).collect();
    assert!(!runs.is_empty(), "no run of {variant}");
    for run in &runs {
        assert_eq!(run.record.outcome, Outcome::Completed, "{variant}");
        assert_eq!(run.record.evidence.len(), 2, "both sides were watched");
    }
    runs
}

/// What is said of the gates, as the words of their verdicts.
fn gate_verdicts(compared: &serde_json::Value) -> Vec<String> {
    let cells = compared["cells"].as_array().expect("cells");
    let gated = cells.iter().filter(|cell| cell["gated"] == true);
    gated.map(|cell| cell["verdict"]["is"].as_str().expect("a word").to_owned()).collect()
}

/// Growth of a counter over all runs of a variant, whichever side and source it is of.
fn grown(runs: &[&CampaignRun], names: &[&str]) -> u64 {
    let sides = runs.iter().flat_map(|run| &run.record.evidence);
    let counters = sides.flat_map(|side| &side.counters);
    counters
        .filter(|counter| names.contains(&counter.name.as_str()))
        .filter_map(|counter| counter.delta)
        .sum()
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn an_mtu_of_4200_against_1500_raises_bandwidth_and_the_evidence_says_by_what() {
    let before = State::read();
    let scenario = shipped("mtu-1500-vs-4200.toml", &[("blocks = 10", "blocks = 6")]);
    let (campaign, compared) = carried_out(&scenario, "mtu-1500-vs-4200");
    for (variant, mtu, path_mtu) in [("mtu-1500", "1500", 1024), ("mtu-4200", "4200", 4096)] {
        for run in runs_of(&campaign, variant) {
            assert_eq!(
                run.record.granted.as_ref().map(|granted| granted.path_mtu),
                Some(path_mtu),
                "{variant}"
            );
            for side in &run.record.evidence {
                for knob in side.tuning.iter().filter(|knob| knob.knob == Knob::Mtu) {
                    let state =
                        if variant == "mtu-1500" { KnobState::Unchanged } else { KnobState::Verified };
                    assert_eq!((knob.asked.as_str(), knob.state), (mtu, state), "{knob:?}");
                }
            }
        }
    }
    let tuned = runs_of(&campaign, "mtu-4200");
    let knobs = tuned.iter().flat_map(|run| &run.record.evidence).flat_map(|side| &side.tuning);
    assert!(knobs.clone().any(|knob| knob.knob == Knob::Mtu && knob.old.as_deref() == Some("1500")));
    let bandwidth =
        compared["cells"].as_array().unwrap().iter().find(|cell| cell["metric"] == "bandwidth").unwrap();
    // Emulation is noisy: that the A/A control fails is a fair answer. That the interval holds no change is not.
    assert!(["improved", "unstable"].contains(&bandwidth["verdict"]["is"].as_str().unwrap()), "{bandwidth}");
    assert!(bandwidth["effect"]["low"].as_f64().unwrap() > 0.0, "{bandwidth}");
    before.assert_is_back();
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn lost_frames_are_named_by_the_counters() {
    let before = State::read();
    let scenario = shipped("loss.toml", &[("blocks = 10", "blocks = 3\ndeadline = \"30s\"")]);
    let (campaign, compared) = carried_out(&scenario, "loss");
    // rxe's names: the responder met a gap, and the requester was told of it. A timeout is no proof of loss under emulation.
    let named = ["out_of_seq_request", "rcvd_seq_err"];
    let (clean, lossy) = (runs_of(&campaign, "clean"), runs_of(&campaign, "lossy"));
    assert_eq!(grown(&clean, &named), 0, "a clean pair loses nothing");
    assert!(lossy.iter().all(|run| grown(&[run], &named) > 0), "1 % of the frames of every run");
    let judged = |runs: &[&CampaignRun]| {
        let all = runs.iter().flat_map(|run| &run.record.judgements);
        all.filter(|one| one.check == "loss" && one.level >= Level::Warn).count()
    };
    assert_eq!(judged(&clean), 0);
    assert!(judged(&lossy) >= lossy.len(), "{:?}", lossy[0].record.judgements);
    assert!(!gate_verdicts(&compared).iter().any(|verdict| verdict == "improved"), "{compared}");
    before.assert_is_back();
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn the_sysctls_of_the_guides_alone_never_improve_anything() {
    let before = State::read();
    let devices = [("\"auto\"", "\"rxe0\""), ("\"auto\"", "\"rxe1\""), ("blocks = 12", "blocks = 6")];
    let scenario = shipped("sysctl-negative-control.toml", &devices);
    let (campaign, compared) = carried_out(&scenario, "sysctl-negative-control");
    for run in runs_of(&campaign, "sysctls") {
        for side in run.record.evidence.iter().filter(|side| !side.tuning.is_empty()) {
            assert_eq!(side.tuning.len(), 11, "each once: {:?}", side.tuning);
            assert!(side.tuning.iter().all(|knob| knob.knob == Knob::Sysctl), "{:?}", side.tuning);
        }
    }
    let verdicts = gate_verdicts(&compared);
    assert!(!verdicts.is_empty());
    for verdict in verdicts {
        assert!(
            ["equivalent", "negligible", "inconclusive", "unstable"].contains(&verdict.as_str()),
            "sysctls of sockets came out as {verdict}: {compared}"
        );
    }
    before.assert_is_back();
}

/// A small campaign on the pair, its second variant tuned.
fn tuned_scenario(devices: (&str, &str), blocks: u32, knobs: &str) -> Scenario {
    Scenario::of(&format!(
        "question = \"Does it survive?\"\n\n\
         [hosts.requester]\ndevice = \"{}\"\n\n[hosts.responder]\ndevice = \"{}\"\n\n\
         [design]\nblocks = {blocks}\nduration = \"4s\"\nwarmup = \"100ms\"\n\n\
         [[workloads]]\nname = \"write-4Ki\"\ntest = \"bandwidth\"\nop = \"write\"\nsize = \"4Ki\"\n\n\
         [[variants]]\nname = \"plain\"\nbaseline = true\n\n\
         [[variants]]\nname = \"tuned\"\n[variants.tune]\n{knobs}\n",
        devices.0, devices.1
    ))
}

#[track_caller]
fn await_true(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !is() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn is_tuned() -> bool {
    fs::read_to_string(RMEM_MAX).expect("readable").trim() == TUNED_RMEM_MAX
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn kill_9_of_the_harness_in_the_middle_of_a_tuned_run_leaves_the_guest_as_it_was() {
    let before = State::read();
    let scenario = tuned_scenario(("rxe0", "rxe1"), 6, "profile = \"negative-control\"");
    let mut harness = scenario
        .harness(&["run", "depth.toml"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    await_true("no run was tuned", is_tuned);
    thread::sleep(Duration::from_secs(1));
    harness.kill().expect("SIGKILL");
    harness.wait().expect("it ends");
    // Nobody tells the agents; they see that their controller is gone.
    await_true("the agents did not turn the guest back", || !is_tuned());
    await_true("the journal was not closed", || {
        let status = finish(&mut rdma_harness(&["tune", "status", "--json"]), LIMIT).expect(0);
        status.json::<serde_json::Value>()["tuned"] == false
    });
    before.assert_is_back();
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn what_a_killed_tuner_leaves_is_refused_and_recovered() {
    let before = State::read();
    let mut holder = rdma_harness(&["tune", "apply", "negative-control", "--hold"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    await_true("nothing was tuned", is_tuned);
    // Until it waits to be asked to stop, it may still be writing.
    thread::sleep(Duration::from_secs(2));
    kill_process(Pid::from_child(&holder), Signal::KILL).expect("it runs");
    holder.wait().expect("it ends");
    assert!(is_tuned(), "nobody was left to turn it back");
    let scenario = tuned_scenario(("rxe0", "rxe1"), 1, "profile = \"negative-control\"");
    let refused = finish(&mut scenario.harness(&["run", "depth.toml"]), LIMIT);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("recover"), "no way out in: {}", refused.stderr);
    finish(&mut rdma_harness(&["tune", "recover"]), LIMIT).expect(0);
    before.assert_is_back();
    // Once more is nothing.
    finish(&mut rdma_harness(&["tune", "recover"]), LIMIT).expect(0);
    before.assert_is_back();
}

/// An irqbalance that ends, and vectors that go back to where they were, however the test ends: the next test's guest must not
/// still be moving.
struct Mover {
    daemon: Option<Child>,
    vectors: (Vec<u32>, Vec<String>),
}

impl Mover {
    fn new() -> Self {
        Mover { daemon: None, vectors: movable() }
    }

    /// It places every vector anew as soon as it has read the machine.
    fn start(&mut self) {
        let daemon = Command::new("irqbalance").args(["--foreground", "-t", "1"]).spawn();
        self.daemon = Some(daemon.expect("it starts"));
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            // One that has ended by itself is as good.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = finish(&mut rdma_harness(&["tune", "recover", "--force"]), LIMIT);
        put_back(&self.vectors.0, &self.vectors.1);
    }
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn a_vector_that_irqbalance_moves_in_the_middle_of_a_run_makes_it_invalid() {
    let before = State::read();
    let mut mover = Mover::new();
    let scenario = tuned_scenario(("rxe4", "rxe4"), 1, "irq_affinity = \"list:2\"");
    let watched = queue_vectors();
    // It starts once the run is tuned: one that already runs may take a vector away before the last of them is set.
    let started = thread::spawn(move || {
        await_true("no run was tuned", || watched.iter().all(|irq| affinity(*irq, "smp_affinity") == "2"));
        thread::sleep(Duration::from_secs(2));
        mover.start();
        mover
    });
    let ran = finish(&mut scenario.harness(&["run", "depth.toml"]), CAMPAIGN);
    let mover = started.join().unwrap_or_else(|_| panic!("no run was tuned: {ran:?}"));
    finish(&mut scenario.harness(&["export", "--format", "json", "--out", "campaign.json"]), LIMIT).expect(0);
    let campaign: Campaign =
        serde_json::from_slice(&fs::read(scenario.path("campaign.json")).unwrap()).unwrap();
    drop(mover);
    let tuned: Vec<&CampaignRun> = campaign.runs.iter().filter(|run| run.variant == "tuned").collect();
    let moved =
        |run: &CampaignRun| run.record.evidence.iter().any(|side| side.vectors.iter().any(|one| one.moved));
    assert!(tuned.iter().any(|run| moved(run)), "{ran:?}\n{:?}", tuned[0].record.evidence);
    let judged = tuned.iter().flat_map(|run| &run.record.judgements);
    assert!(judged.clone().any(|one| one.check == "irq-stability" && one.level >= Level::Warn), "{tuned:?}");
    assert!(tuned.iter().any(|run| !run.record.is_valid()), "a run whose tuning did not stay counts");
    before.assert_is_back();
}
